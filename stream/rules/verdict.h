#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/pack.h"
#include "stream/rules/rule_run.h"
#include "stream/windows/history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// The verdict of a finished attempt: each family in, out or undecidable, and the one that is named. `missing` gives the
// signals whose absence makes a rule unknown at the end.
[[nodiscard]] Verdict conclude(const Pack& pack, const std::vector<RuleRun>& runs, const std::string& end_reason,
                               const std::function<std::vector<std::string>(RuleIndex)>& missing);

// A rule that could decide for no member at its last tick.
struct UndecidedRule {
  std::string rule;
  std::vector<std::string>
      missing;  // signals that it needs and of which nothing came in this attempt; empty: all came, but too little yet
  friend bool operator==(const UndecidedRule&, const UndecidedRule&) = default;
};

// Those of an attempt, in the pack's order, but for rules of severity "none", which only feed others. An event is not
// missing where its source was covered: that there was none is known then.
[[nodiscard]] std::vector<UndecidedRule> undecided(const Pack& pack, const std::vector<RuleRun>& runs,
                                                   const History& history, const SourceCoverage& coverage);

}  // namespace tocsin::stream
