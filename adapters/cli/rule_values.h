#pragma once

#include <map>
#include <string>

#include "stream/graph/graph.h"
#include "stream/rules/pack.h"
#include "stream/rules/rule_evaluation.h"
#include "stream/topology/topology.h"

namespace tocsin::adapters::cli {

// A rule's nodes and their values for one member, as text: for `explain` and `test`.

// The value; of a finer node those of the member's parts. Empty: a window or a finding, which has none.
[[nodiscard]] std::string value_text(const stream::RuleEvaluation& evaluation, stream::NodeId id, stream::Slot slot);
// The signals that are missing where the value is unknown, with the reason; empty: it is known.
[[nodiscard]] std::string why_unknown(const stream::RuleEvaluation& evaluation, stream::NodeId id, stream::Slot slot);
// The author's names: of nodes, those of values that evaluate returned and of local variables; of what a node reads,
// that of the need.
struct Names {
  std::map<stream::NodeId, std::string> values, reads;
};
[[nodiscard]] Names names_of(const stream::RuleEvaluation& evaluation);
// As the author wrote it: of names and numbers, with what has no name written out where that is short.
[[nodiscard]] std::string expression(const stream::Graph& graph, stream::NodeId id, const Names& names);
// What made the rule say what it says of the member, a line for each mask that decided, with the values that it was
// made of. Empty: the rule is a script.
[[nodiscard]] std::string deciding_values(const stream::RuleEvaluation& evaluation, stream::Slot slot);

}  // namespace tocsin::adapters::cli
