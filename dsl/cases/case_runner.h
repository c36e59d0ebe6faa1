#pragma once

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

// Makes the records of a case, second by second, judges them with the pack, and compares the result with what the case
// expects.
[[nodiscard]] CaseResult run_case(const Case& one, const stream::LoadedPack& pack);

}  // namespace tocsin::dsl
