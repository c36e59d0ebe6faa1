#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/load/cases.h"
#include "stream/job/shard.h"

namespace tocsin::dsl {

struct CaseResult {
  bool passed = false;
  std::vector<std::string> messages;            // what was expected and missing, or reported and not expected
  std::map<std::string, std::string> failures;  // scripted rules that failed, with their messages
  std::vector<stream::AlertTransition> alerts;  // every transition, in order
};

// The values of a rule for the member at this slot, as text.
using ShowValues = std::function<std::string(const stream::RuleEvaluation&, stream::Slot)>;

// Makes the records of a case, second by second, judges them with the pack, and compares the result with what the case
// expects. Where it fails, it is judged once more, and `show` adds to the message what the rule's values were at the
// tick that failed.
[[nodiscard]] CaseResult run_case(const Case& one, const stream::LoadedPack& pack, const ShowValues& show = {});

}  // namespace tocsin::dsl
