#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "adapters/evidence/background.h"
#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

struct StackTarget {
  pid_t pid = 0;
  std::optional<std::uint32_t> rank{};
  std::uint64_t start = 0;  // ticks since boot, so that another process under its pid is not taken for it; 0: not known
};

struct StackSettings {
  std::size_t at_once = 3;
  bool gdb = false;  // where py-spy does not work: it stops the process for seconds
  std::chrono::milliseconds limit = std::chrono::seconds{4}, gdb_limit = std::chrono::seconds{25};  // of one process
};

// Takes the stacks of processes without blocking its caller: a process of its own does it, with one more for each that
// is looked into, which is ended at its time limit. Owned by its caller; one taking at a time. For a thread that has no
// others beside it, since it forks.
class StackTaker {
 public:
  void start(std::span<const StackTarget> targets, const StackSettings& settings = {});
  [[nodiscard]] bool running() const noexcept { return work_.running(); }
  [[nodiscard]] int descriptor() const noexcept { return work_.descriptor(); }  // readable: call poll(); -1: none
  // Reads on; once all are there, one for each target, in their order. Also to be called now and then (once a second)
  // while nothing is readable, as the taking process may itself be stuck: it is given up when its time is over.
  [[nodiscard]] std::optional<std::vector<ProcessStack>> poll();

 private:
  std::vector<StackTarget> targets_;
  Background work_;
};

// The same at once. Blocks: for a process of Background.
[[nodiscard]] std::vector<ProcessStack> take_stacks(std::span<const StackTarget> targets,
                                                    const StackSettings& settings);

}  // namespace tocsin::adapters::evidence
