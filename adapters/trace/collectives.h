#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "stream/values/time.h"

namespace tocsin::adapters::trace {

// A collective, or a send or receive, that a process has entered and not completed.
struct OpenCollective {
  std::string function;           // "all_reduce", "recv": PyTorch's names, also where NCCL reported it
  std::uint64_t sequence = 0;     // its number in its group, from 1: equal in all members of the group
  std::string group;              // the group's name, equal in all its members; empty: not known
  std::uint32_t group_size = 0;   // 0: not known
  std::string arguments{};        // "1048576 x float32, root 0"; empty: not known
  std::optional<bool> started{};  // whether it runs on the GPU; none: not known
  stream::Duration open{};        // since when
};

// The collectives of one process since it began, over all of its groups.
struct ProcessCollectives {
  pid_t pid = 0;
  std::uint64_t launched = 0;              // entered
  std::optional<std::uint64_t> done{};     // completed; none: who reports it sees only what is launched
  std::optional<OpenCollective> oldest{};  // of those that are entered and not completed
};

}  // namespace tocsin::adapters::trace
