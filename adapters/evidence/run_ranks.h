#pragma once

#include <filesystem>
#include <vector>

#include "adapters/evidence/stack_taker.h"
#include "stream/values/result.h"

namespace tocsin::adapters::evidence {

// The processes of the ranks of a run, as its recorder saw them last, by rank.
[[nodiscard]] stream::Result<std::vector<StackTarget>> ranks_of(const std::filesystem::path& run);

}  // namespace tocsin::adapters::evidence
