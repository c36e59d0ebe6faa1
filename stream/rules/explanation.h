#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/rules/alert.h"
#include "stream/rules/members.h"
#include "stream/rules/pack.h"
#include "stream/topology/topology.h"

namespace tocsin::stream {

// The three parts of a finding for one member: what the data shows, what it implies, what it cannot decide. Read from the graph of the
// rule that fired, at the values of the tick that just ran.
// A view of the Judge's parts for one call.
class Explanation {
 public:
  using TextOf = std::function<std::optional<std::string>(double symbol)>;

  Explanation(const Rule& rule, const Graph& graph, const Evaluator& values, const Topology& topology, TextOf text)
      : rule_(&rule), graph_(&graph), values_(&values), topology_(&topology), text_(std::move(text)) {}

  // Sets shows, implies, cannot_decide, evidence and who for the member at `slot`.
  void write(Slot slot, AlertTransition& transition) const;
  // Signals (and findings) whose absence makes this node unknown for the member.
  [[nodiscard]] std::vector<std::string> missing(NodeId node, Level level, Slot slot) const;
  // The same for the rule's answer over all members.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  [[nodiscard]] std::string fill(const TextTemplate& text, Slot slot) const;
  [[nodiscard]] std::string place(const TextTemplate::Place& place, Slot slot) const;
  [[nodiscard]] std::string value(NodeId node, const TextTemplate::Place& place, Slot slot) const;
  [[nodiscard]] std::vector<NamedMember> who(Slot slot) const;
  void assumptions(Slot slot, std::vector<std::string>& out) const;
  [[nodiscard]] bool unknown(NodeId node, Level level, Slot slot) const;

  const Rule* rule_;
  const Graph* graph_;
  const Evaluator* values_;
  const Topology* topology_;
  TextOf text_;
};

[[nodiscard]] std::string format_number(double value, char conversion, int precision);

}  // namespace tocsin::stream
