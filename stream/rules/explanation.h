#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/rules/alert.h"
#include "stream/rules/members.h"
#include "stream/rules/pack.h"
#include "stream/topology/topology.h"

namespace tocsin::stream {

// The three parts of a finding for one member: what the data shows, what it implies, what it cannot decide. Read from
// the graph of the rule that fired, at the values of the tick that just ran. A view of the Judge's parts for one call.
class Explanation {
 public:
  using TextOf = std::function<std::optional<std::string>(double symbol)>;
  // The signals that a finding, by its name, misses.
  using MissedBy = std::function<std::vector<std::string>(const std::string& finding)>;

  Explanation(const Rule& rule, const Graph& graph, const Evaluator& values, const Topology& topology,
              const std::map<std::string, std::string>& labels, TextOf text, MissedBy missed_by = {})
      : rule_(&rule),
        graph_(&graph),
        values_(&values),
        topology_(&topology),
        labels_(&labels),
        text_(std::move(text)),
        missed_by_(std::move(missed_by)) {}

  // Sets shows, implies, actions, not_known, cannot_decide, evidence and who for the member at `slot`.
  void write(Slot slot, AlertTransition& transition) const;
  // Why a reduction of a window is unknown for a member.
  using Why = std::function<std::string(NodeId reduction, Level level, Slot slot)>;
  // Signals (and findings of which nothing is known) whose absence makes this node unknown for the member.
  [[nodiscard]] std::vector<std::string> missing(NodeId node, Level level, Slot slot, const Why& why = {}) const;
  // The same for the rule's answer over all members.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  // The members that `who` names, with their slots.
  struct Culprits {
    Level level = Level::none;
    std::vector<Slot> slots;
  };
  using Filled = std::optional<std::string>;  // none: a value in it is unknown
  struct Text {
    std::string text;
    bool complete = true;  // no value outside brackets is unknown
  };
  // With the values of one culprit, if it is given, in the places that are finer than the rule.
  [[nodiscard]] Text fill(const TextTemplate& text, Slot slot, std::optional<Slot> culprit) const;
  // Of the alternatives the first that is complete; else the clauses of the last that are; else `fallback`.
  [[nodiscard]] std::string choose(const Texts& texts, Slot slot, const std::string& fallback) const;
  [[nodiscard]] Filled instruction(const Action& action, Slot slot) const;
  [[nodiscard]] Filled place(const TextTemplate::Place& place, Slot slot, std::optional<Slot> culprit) const;
  [[nodiscard]] Filled of_culprits(const TextTemplate::Place& place, std::optional<Slot> culprit, Slot slot) const;
  [[nodiscard]] Filled value(NodeId node, const TextTemplate::Place& place, Level level, Slot slot) const;
  [[nodiscard]] bool names_culprits(const TextTemplate::Place& place) const;
  [[nodiscard]] std::optional<NodeId> output(const std::string& name) const;
  [[nodiscard]] Culprits culprits(Slot slot) const;
  [[nodiscard]] NamedMember named(Level level, Slot slot) const;  // with its pid, where the rule returns one
  void write_actions(Slot slot, AlertTransition& transition) const;
  [[nodiscard]] std::string not_known(Slot slot, const AlertTransition& transition) const;
  // Signals that are unknown below this node, also where a default stands for them.
  void doubted(NodeId node, Slot slot, std::set<std::string>& signals) const;
  void assumptions(Slot slot, std::vector<std::string>& out) const;
  // Whether it holds for the member, or for each of its parts at the finer level `of`; no where it has none.
  [[nodiscard]] bool all_parts(Level of, Level level, Slot slot, auto&& holds) const;
  // `shape`: of its values, or a column where a mask of a window was made of one.
  [[nodiscard]] bool unknown(NodeId node, Shape shape, Level level, Slot slot) const;
  // The signals that are unknown, and that surely(), maybe(), fill() or a mask of a window decides without.
  using Assumed = std::function<void(const std::string& signal, std::string_view taken)>;
  void decided_without(NodeId node, Slot slot, const Assumed& assumed) const;
  void joined_without(const Node& node, Slot slot, const Assumed& assumed) const;

  const Rule* rule_;
  const Graph* graph_;
  const Evaluator* values_;
  const Topology* topology_;
  const std::map<std::string, std::string>* labels_;  // of the job
  TextOf text_;
  MissedBy missed_by_;
};

[[nodiscard]] std::string format_number(double value, char conversion, int precision);

}  // namespace tocsin::stream
