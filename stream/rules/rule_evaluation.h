#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/rules/pack.h"
#include "stream/rules/rule_run.h"

namespace tocsin::stream {

// One evaluation of a rule, for an observer. Valid during the call.
struct RuleEvaluation {
  std::string_view subject, attempt;
  const Rule& rule;
  Time tick;
  const Evaluator& values;
  const Topology& topology;
  std::span<const Truth> outcomes;
  std::function<std::string(double)> text;
  const Pack& pack;
  const std::map<std::string, std::string>& labels;  // of the job
  const RuleRun& run;
  // The rule that the member's alert yields to and that is pending; empty: none.
  std::function<std::string(Slot)> waits_for;
  // The signals whose absence makes the node unknown for the member, each with the reason.
  std::function<std::vector<std::string>(NodeId, Slot)> missing;
};

using RuleObserver = std::function<void(const RuleEvaluation&)>;

}  // namespace tocsin::stream
