#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stream/graph/evaluator.h"
#include "stream/rules/pack.h"

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
};

using RuleObserver = std::function<void(const RuleEvaluation&)>;

}  // namespace tocsin::stream
