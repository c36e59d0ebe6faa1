// number(), yes() and each(): the values of a scripted rule as Lua sees them.
#include <lua.hpp>

#include "dsl/lua/host.h"
#include "dsl/lua/values.h"
#include "stream/topology/topology.h"

namespace tocsin::dsl {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Op;
using stream::Shape;

// Not lua_pushstring: whether it copies the text depends on where the text lies.
void push_text(lua_State* state, std::string_view view) { lua_pushlstring(state, view.data(), view.size()); }

// A member's value in Lua: nil if it is unknown.
void push_concrete(lua_State* state, Evaluation& evaluation, NodeId node, std::size_t slot) {
  const stream::Type& type = evaluation.graph[node].type;
  if (type.shape == Shape::mask) {
    const stream::Truth truth = evaluation.scratch->mask(node)[slot];
    if (truth == stream::Truth::unknown) lua_pushnil(state);
    else lua_pushboolean(state, truth == stream::Truth::yes);
    return;
  }
  const double value = evaluation.scratch->column(node)[slot];
  if (stream::is_absent(value)) return lua_pushnil(state);
  if (!type.text()) return lua_pushnumber(state, value);
  const auto word = evaluation.scratch->text(value);
  if (word) push_text(state, *word);
  else lua_pushnil(state);
}

std::size_t size_of(const Evaluation& evaluation, NodeId node) {
  return evaluation.graph[node].type.shape == Shape::mask ? evaluation.scratch->mask(node).size()
                                                          : evaluation.scratch->column(node).size();
}

int next_member(lua_State* state) {  // upvalues: the value, the next slot
  Evaluation& evaluation = evaluation_of(state);
  if (!evaluation.scratch) return 0;
  const NodeId node = value_at(state, lua_upvalueindex(1))->node;
  const Level level = evaluation.graph[node].type.level;
  const stream::Topology& topology = evaluation.scratch->topology();
  const std::size_t size = size_of(evaluation, node);
  auto slot = static_cast<std::size_t>(lua_tointeger(state, lua_upvalueindex(2)));
  if (level == Level::rank && slot == stream::reserved_slot) ++slot;
  while (slot < size && !topology.exists(level, static_cast<stream::Slot>(slot))) ++slot;
  if (slot >= size) return 0;
  lua_pushinteger(state, static_cast<lua_Integer>(slot + 1));
  lua_replace(state, lua_upvalueindex(2));
  const auto key = topology.key(level, static_cast<stream::Slot>(slot));
  switch (level) {
    case Level::rank: lua_pushinteger(state, static_cast<lua_Integer>(slot) - 1); break;
    case Level::gpu: push_text(state, std::string(key.node) + "/" + std::string(key.gpu)); break;
    case Level::node: push_text(state, key.node); break;
    case Level::rack: push_text(state, topology.rack_name(static_cast<stream::Slot>(slot))); break;
    default: lua_pushinteger(state, 0);
  }
  push_concrete(state, evaluation, node, slot);
  return 2;
}

}  // namespace

int concrete(lua_State* state, Op op) {
  Evaluation& evaluation = evaluation_of(state);
  const std::string word{stream::operation(op).name};
  const NodeId node = value_at(state, 1)->node;
  const stream::Type type = evaluation.graph[node].type;
  if (!evaluation.scratch) {
    const Host::Place place = Host::where(state);
    Host::of(state).stop_at(state, place.file, place.line,
                            word + "() at " + (place.file == evaluation.rule.file ? "line " : place.file + ":") +
                                std::to_string(place.line),
                            true);
  }
  Host& host = Host::of(state);
  if (op != Op::each && type.level != Level::none && type.level != Level::job)
    host.stop(state, word + "() is for one value, and this is a value per " + std::string(name(type.level)) +
                         ": take it up through a group, or go through its members with :each()");
  evaluation.scratch->compute(node);
  if (op != Op::each) {
    push_concrete(state, evaluation, node, 0);
    return 1;
  }
  const std::uint64_t size = size_of(evaluation, node);
  if (size > evaluation.elements_left)
    host.stop(state, "it spent its budget of " + std::to_string(host.budgets().elements) +
                         " elements: fewer operations, or coarser columns");
  evaluation.elements_left -= size;
  lua_settop(state, 1);
  lua_pushinteger(state, 0);
  lua_pushcclosure(state, next_member, 2);
  return 1;
}

}  // namespace tocsin::dsl
