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
// The author's name of a node: that of a need, of a value that evaluate returned, or none.
[[nodiscard]] std::map<stream::NodeId, std::string> names_of(const stream::Rule& rule);
// The node as the graph describes it, with names and numbers in the place of what stands for them.
[[nodiscard]] std::string described(const stream::Graph& graph, stream::NodeId id,
                                    const std::map<stream::NodeId, std::string>& names);
// What made the rule say what it says of the member, a line for each value: of the masks that a mask joins only those
// that decide. Empty: the rule is a script.
[[nodiscard]] std::string deciding_values(const stream::RuleEvaluation& evaluation, stream::Slot slot);

}  // namespace tocsin::adapters::cli
