#pragma once

#include "dsl/collection.h"
#include "dsl/host.h"

namespace tocsin::dsl {

// Calls a rule's evaluate once with symbolic values and fills `rule` with the graph that it leaves: answer, outputs, who, causes,
// state, hot and cold nodes. The head (name, triggers, settle, needs …) must be filled. What is wrong goes to the problems; a
// function that asks for a concrete value makes the rule scripted. `graph` becomes the pack's.
void trace(Host& host, Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack, stream::Graph& graph);

// What the rule's function gives, checked: of a trace, and of each evaluation of a script. The message is empty where all is well.
struct Answer {
  stream::NodeId mask{};
  std::map<std::string, stream::NodeId> outputs;  // of the second table
  std::map<std::string, int> lines;
};
// Reads the two results from the top of the stack; ends the call where they cannot be an answer.
[[nodiscard]] Answer read_answer(lua_State* state, Evaluation& evaluation);
// The rule's windows, findings and state in the graph, by the names of its needs.
void declare_needs(const Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack,
                   stream::Graph& graph);

}  // namespace tocsin::dsl
