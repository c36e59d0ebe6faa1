#pragma once

#include <cstdint>
#include <string>

#include "dsl/lua/evaluation.h"

struct lua_State;

namespace tocsin::dsl {

// Lua's representation of a value: a node of the evaluation's graph. Trivially destructible, so that no finalizer is
// needed.
struct Value {
  stream::NodeId node{};
  std::uint32_t made = no_mask;  // index into Evaluation::made
  static constexpr std::uint32_t no_mask = 0xFFFFFFFFu;
};

// The metatables of values, of job, p and state; the functions greatest and least, which are left on the stack.
void register_values(lua_State* state);
void push_function(lua_State* state, stream::Op op);  // greatest, least

void push_value(lua_State* state, Evaluation& evaluation, stream::NodeId node);
// The value at this index of the stack, or null if there is none.
[[nodiscard]] Value* value_at(lua_State* state, int index);
void use(Evaluation& evaluation, const Value& value);
// A value, number or duration as a node; anything else ends the call with a message about `word`.
[[nodiscard]] stream::NodeId operand(lua_State* state, Evaluation& evaluation, int index, const std::string& word);
// Applies the operation within the budgets and pushes the result; ends the call if it is refused.
void apply(lua_State* state, Evaluation& evaluation, stream::Op op, const std::vector<stream::NodeId>& arguments,
           stream::Attributes attributes = {});
[[nodiscard]] Evaluation& evaluation_of(lua_State* state);  // ends the call if none runs

// The three parameters of evaluate.
void push_job(lua_State* state);
void push_params(lua_State* state);
void push_state(lua_State* state);

// __index of a value: the words of its shape.
int index_word(lua_State* state);
void register_words(lua_State* state);
// number(), yes(), each().
int concrete(lua_State* state, stream::Op op);

}  // namespace tocsin::dsl
