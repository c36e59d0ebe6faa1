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
};

}  // namespace tocsin::stream
