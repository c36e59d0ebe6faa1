#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace tocsin::stream {

// All times are nanoseconds since 1970, UTC: of an event, of an arrival (the append time in the log), or of a clock.
using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;

inline constexpr Time never{Duration{std::numeric_limits<std::int64_t>::max()}};
inline constexpr Time long_ago{Duration{std::numeric_limits<std::int64_t>::min()}};

[[nodiscard]] constexpr std::int64_t nanoseconds(Time time) noexcept { return time.time_since_epoch().count(); }
[[nodiscard]] constexpr Time at_nanoseconds(std::int64_t ns) noexcept { return Time{Duration{ns}}; }
// Divided, not multiplied, so that whole seconds stay whole.
[[nodiscard]] constexpr double seconds(Duration duration) noexcept {
  return static_cast<double>(duration.count()) / 1e9;
}
[[nodiscard]] constexpr Duration from_seconds(double s) noexcept {
  return Duration{static_cast<std::int64_t>(s * 1e9)};
}

// The end of the row or pane of this length that contains `time`: rows are (end - length, end] on the epoch grid.
[[nodiscard]] constexpr Time row_end(Time time, Duration length) noexcept {
  const std::int64_t t = nanoseconds(time), n = length.count();
  const std::int64_t quotient = t / n, remainder = t % n;
  return at_nanoseconds((remainder > 0 ? quotient + 1 : quotient) * n);
}

}  // namespace tocsin::stream
