#pragma once

#include <cstddef>

#include "adapters/runtime/hand_over.h"
#include "adapters/runtime/shard_runner.h"

namespace tocsin::adapters::runtime {

// Judges on while a bundle is handed over, up to so many reports: behind a sink that takes none they would fill the
// memory. Then judging waits for the sink, and what comes meanwhile stays in the log. Owned by whoever runs the shard;
// touched by its thread alone.
class JudgeAhead {
 public:
  static constexpr std::size_t most_reports = 10'000;
  JudgeAhead(ShardRunner& runner, const HandOver& handing_over, std::size_t most = most_reports)
      : runner_(&runner), handing_over_(&handing_over), most_(most) {}

  [[nodiscard]] bool full() const { return !handing_over_->idle() && runner_->reports_waiting() >= most_; }
  // As that of the runner; nothing, where it is full.
  stream::Result<std::size_t> step(std::size_t most_entries, std::size_t most_ticks, bool until_reports) {
    if (full()) return std::size_t{0};
    return runner_->step(most_entries, most_ticks, until_reports);
  }

 private:
  ShardRunner* runner_;
  const HandOver* handing_over_;
  std::size_t most_;
};

}  // namespace tocsin::adapters::runtime
