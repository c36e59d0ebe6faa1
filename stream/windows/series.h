#pragma once

#include <array>
#include <span>

#include "stream/graph/operations.h"
#include "stream/values/value.h"
#include "stream/windows/scratch.h"

namespace tocsin::stream {

// The values in one member's window, oldest first (NaN included), and their times in seconds from any origin.
struct Series {
  std::span<const double> seconds;
  std::span<const double> values;
};

// What a reduction takes besides values.
struct ReductionArguments {
  double number = 0;     // attributes.number: q, n of first(n), bits, span
  double goal = absent;  // of time_to
};

// Reduces one member's series; absent if it has no answer. The caller decides whether the window holds enough. NaN is
// left out, except by last, first, count and nonfinite. The meaning of each word that docs/semantics.md leaves open:
//   stddev     of a sample (n - 1)
//   ewma       weight 2 / (span + 1), span 16 unless given, from the first number on
//   cusum      S = max(0, S + clip(z, -4, 4) - 1) at the end; z against the window's own median and 1.4826 times its
//   mad; where
//              that is 0, a value apart from the median has z = 4 (or -4)
//   kendall    z of Kendall's tau against time: with continuity correction and ties
//   slope      least squares, a second
//   theil_sen, kendall, time_to: over more than 300 numbers they use means of neighbours, as few per mean as give at
//   most 300
[[nodiscard]] double reduce_series(Op op, Series series, const ReductionArguments& arguments, SeriesScratch& scratch);

// A sum of numbers in order, in four fixed lanes: (0 + 1) + (2 + 3). NaN is left out.
class LaneSum {
 public:
  void add(double x) noexcept {
    if (is_number(x)) lanes_[numbers_++ % 4] += x;
  }
  void add(std::span<const double> values) noexcept {
    // First as if all are numbers; if the sum is NaN, one by one.
    const LaneSum before = *this;
    std::size_t i = 0;
    for (; i < values.size() && numbers_ % 4 != 0; ++i) lanes_[numbers_++ % 4] += values[i];
    for (; i + 4 <= values.size(); i += 4)
      for (std::size_t lane = 0; lane < 4; ++lane) lanes_[lane] += values[i + lane];
    for (std::size_t lane = 0; i < values.size(); ++i, ++lane) lanes_[lane] += values[i];
    numbers_ = before.numbers_ + values.size();
    if (is_number(value())) return;
    *this = before;
    for (const double x : values) add(x);
  }
  [[nodiscard]] std::size_t numbers() const noexcept { return numbers_; }
  [[nodiscard]] double value() const noexcept { return (lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3]); }

 private:
  std::array<double, 4> lanes_{};
  std::size_t numbers_ = 0;
};

// Numbers in order: the steps that windows and accumulators share.
[[nodiscard]] double ewma_weight(double span) noexcept;
[[nodiscard]] bool has_bits(double value, double mask) noexcept;

}  // namespace tocsin::stream
