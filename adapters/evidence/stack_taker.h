#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapters/evidence/stacks.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::evidence {

struct StackTarget {
  pid_t pid = 0;
  std::optional<std::uint32_t> rank{};
  std::uint64_t start = 0;  // ticks since boot, so that another process under its pid is not taken for it; 0: not known
};

struct StackSettings {
  std::size_t at_once = 3;
  bool gdb = false;  // where py-spy does not work: it stops the process for seconds
  std::chrono::milliseconds limit = std::chrono::seconds{4}, gdb_limit = std::chrono::seconds{16};  // of one process
};

// Takes the stacks of processes without blocking its caller: a process of its own does it, with one more for each that
// is looked into, which is ended at its time limit. Owned by its caller; one taking at a time. Used by one thread that
// has no others, since it forks.
class StackTaker {
 public:
  StackTaker() = default;
  ~StackTaker() { stop(); }
  StackTaker(const StackTaker&) = delete;
  StackTaker& operator=(const StackTaker&) = delete;

  void start(std::span<const StackTarget> targets, const StackSettings& settings = {});
  [[nodiscard]] bool running() const noexcept { return static_cast<bool>(lines_); }
  [[nodiscard]] int descriptor() const noexcept { return lines_.get(); }  // readable: call poll(); -1: not running
  // Reads on; once all are there, one for each target, in their order. Also to be called now and then while nothing is
  // readable (once a second), as the taking process may itself be stuck: it is given up when its time is over.
  [[nodiscard]] std::optional<std::vector<ProcessStack>> poll();
  void stop();

 private:
  [[nodiscard]] std::vector<ProcessStack> result();

  std::vector<StackTarget> targets_;
  pid_t pid_ = -1;
  journal::File lines_;  // a JSON object of a process each
  std::string bytes_;
  std::chrono::steady_clock::time_point until_{};
};

}  // namespace tocsin::adapters::evidence
