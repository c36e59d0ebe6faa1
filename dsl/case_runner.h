#pragma once

#include <string>
#include <vector>

#include "dsl/cases.h"
#include "stream/job/shard.h"

namespace tocsin::dsl {

struct CaseResult {
  bool passed = false;
  std::vector<std::string> messages;  // what was expected and missing, or reported and not expected
};

// Makes the records of a case, second by second, judges them with the pack, and compares the result with what the case expects.
[[nodiscard]] CaseResult run_case(const Case& one, const stream::LoadedPack& pack);

}  // namespace tocsin::dsl
