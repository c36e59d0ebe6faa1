#pragma once

#include <cstdint>

#include "stream/values/time.h"

namespace tocsin::stream {

using RowNumber = std::int64_t;

// The grid of a signal's rows (or panes): row k is ((k - 1) * length, k * length].
struct RowGrid {
  Duration length;
  [[nodiscard]] RowNumber number(Time time) const noexcept {
    return nanoseconds(row_end(time, length)) / length.count();
  }
  [[nodiscard]] Time end(RowNumber number) const noexcept { return at_nanoseconds(number * length.count()); }
  // The last row that has ended at `time`.
  [[nodiscard]] RowNumber through(Time time) const noexcept {
    const std::int64_t t = nanoseconds(time), n = length.count();
    return t / n - (t % n < 0 ? 1 : 0);
  }
  // The unit in which a time within a row fits in 32 bits, in ns: 1 for rows of at most 4 s.
  [[nodiscard]] std::int64_t unit() const noexcept { return length.count() / 4'000'000'000 + 1; }
  // A time of a row that begins then, in such units; at least 1.
  [[nodiscard]] static std::uint32_t offset(Time begin, Time time, std::int64_t unit) noexcept {
    const std::int64_t within = (time - begin).count();
    return static_cast<std::uint32_t>(unit == 1 ? within : (within + unit - 1) / unit);
  }
};

}  // namespace tocsin::stream
