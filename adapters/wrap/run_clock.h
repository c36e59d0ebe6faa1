#pragma once

#include <time.h>

#include <chrono>

#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// The clock of one run: the wall time at its start plus CLOCK_BOOTTIME since, so that it never steps and counts
// suspended time. Made once by the parent; the processes forked from it go on with the same one.
class RunClock {
 public:
  RunClock() noexcept
      : wall_(std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now())), boot_(boot_time()) {}

  [[nodiscard]] stream::Time now() const noexcept { return wall_ + (boot_time() - boot_); }
  [[nodiscard]] stream::Time start() const noexcept { return wall_; }
  [[nodiscard]] stream::Duration since_boot() const noexcept { return boot_; }  // at its start

 private:
  [[nodiscard]] static stream::Duration boot_time() noexcept {
    timespec at{};
    ::clock_gettime(CLOCK_BOOTTIME, &at);
    return std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec};
  }

  stream::Time wall_;
  stream::Duration boot_;
};

// The timeout of poll() that wakes at `due`: 0 when it is past, -1 for never. Rounded up, so that no caller wakes early
// and spins.
[[nodiscard]] inline int milliseconds_until(stream::Time due, stream::Time now) noexcept {
  if (due == stream::never) return -1;
  if (due <= now) return 0;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return wait > 3'600'000 ? 3'600'000 : static_cast<int>(wait);
}

// A sample in the middle of its row of a second falls in no other.
[[nodiscard]] inline stream::Time next_half_second(stream::Time now) noexcept {
  using namespace std::chrono_literals;
  return stream::row_end(now - 500ms + 1ns, 1s) + 500ms;
}

}  // namespace tocsin::adapters::wrap
