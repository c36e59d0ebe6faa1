#pragma once

#include "dsl/load/collection.h"
#include "dsl/lua/host.h"

namespace tocsin::dsl {

// Calls a rule's evaluate once with symbolic values and stores the resulting graph in `rule`: answer, outputs, who,
// causes, state, hot and cold nodes. The head (name, triggers, settle, needs …) must be complete. Errors go to the
// problems; a function that asks for a concrete value makes the rule scripted. `graph` becomes the pack's.
void trace(Host& host, Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack,
           stream::Graph& graph);

// The checked result of the rule's function: of a trace, and of each evaluation of a script. The message is empty if
// all is valid.
struct Answer {
  stream::NodeId mask{};
  std::map<std::string, stream::NodeId> outputs;  // of the second table
  std::map<std::string, int> lines;
};
// Reads the two results from the top of the stack; ends the call if they cannot be an answer.
[[nodiscard]] Answer read_answer(lua_State* state, Evaluation& evaluation);
// The rule's windows, findings and state in the graph, by the names of its needs.
void declare_needs(const Collection& collection, const RuleSource& source, stream::RuleIndex index, stream::Pack& pack,
                   stream::Graph& graph);

}  // namespace tocsin::dsl
