#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/rule_run.h"

namespace tocsin::stream {

// The verdict of a finished attempt: each family in, out or undecidable, and the one that is named. `missing` gives the
// signals whose absence makes a rule unknown at the end.
[[nodiscard]] Verdict conclude(const Pack& pack, const std::vector<RuleRun>& runs, const std::string& end_reason,
                               const std::function<std::vector<std::string>(RuleIndex)>& missing);

}  // namespace tocsin::stream
