#pragma once

#include <span>
#include <string>
#include <vector>

#include "adapters/evidence/place.h"
#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// Processes that stand in the same functions.
struct StackGroup {
  std::vector<std::uint32_t> ranks{};  // ascending; of a process without a rank its pid is in pids
  std::vector<pid_t> pids{};
  Place place{};  // its text has lines where all have the same
  std::string error{};
};

// The largest first; of equal ones the one with the lowest rank.
[[nodiscard]] std::vector<StackGroup> groups_of(std::span<const ProcessStack> stacks);
// "3 of 4 ranks: all_reduce < train_step (train.py:41); rank 2: recv < next (my_loader.py:88)".
[[nodiscard]] std::string text_of(std::span<const StackGroup> groups);

// The groups as a text, and each stack with what it does and where.
[[nodiscard]] formats::Json stacks_json(std::span<const ProcessStack> stacks);

}  // namespace tocsin::adapters::evidence
