#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "stream/values/time.h"

namespace tocsin::adapters::disk_log {

// The append time of a log: the wall clock, but it never goes back. While the wall clock is behind the log, because it
// was set back, the log's time advances at half the speed of the monotonic clock: limits still elapse, at most twice as
// late, and the wall clock catches up.
class LogClock {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  // `last`: the append time of the newest entry.
  explicit LogClock(stream::Time last) : last_(last) {}

  [[nodiscard]] stream::Time now(stream::Time wall, Steady steady) noexcept {
    if (wall >= last_) last_ = wall;
    else if (before_) last_ += std::chrono::duration_cast<stream::Duration>(std::max(steady - *before_, {})) / 2;
    before_ = steady;
    return last_;
  }

 private:
  stream::Time last_;
  std::optional<Steady> before_;
};

}  // namespace tocsin::adapters::disk_log
