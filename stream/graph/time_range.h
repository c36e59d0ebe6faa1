#pragma once

#include <algorithm>

#include "stream/graph/graph.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// The span of time that a window covers at a tick: (from, to].
struct TimeRange {
  Time from, to;
};

// `lag` shrinks to a quarter of the attempt's age if that is less, so `to` never moves back from tick to tick.
[[nodiscard]] inline TimeRange time_range(const WindowSpec& window, Time tick, Time attempt_start) noexcept {
  if (tick == never) return {long_ago, never};
  const Duration age = tick > attempt_start ? tick - attempt_start : Duration{0};
  const Time to = tick - std::min(window.lag, age / 4);
  return {window.span == WindowSpec::Span::time ? to - window.over : long_ago, to};
}

// Windows over the same values; the number of values from which they are known can differ.
[[nodiscard]] inline bool same_values(const WindowSpec& a, const WindowSpec& b) {
  return a.signal == b.signal && a.span == b.span && a.over == b.over && a.lag == b.lag && a.points == b.points &&
         a.lag_points == b.lag_points && (a.settle == b.settle || a.span == WindowSpec::Span::earlier) &&
         a.filters == b.filters;
}

// Whether two nodes read the same: values of a window, or findings.
[[nodiscard]] inline bool reads_same(const Node& a, const Node& b) {
  const auto &one = a.attributes.window, &other = b.attributes.window;
  if (one && other) return same_values(*one, *other);
  return !one && !other && !a.attributes.findings.empty() && a.attributes.findings == b.attributes.findings;
}

// From how many values on a window is known, if coverage does not decide it.
[[nodiscard]] inline std::size_t least_of(const WindowSpec& window) noexcept {
  if (window.least != 0) return window.least;
  return window.span == WindowSpec::Span::points ? std::min<std::size_t>(window.points, 16) : 16;
}

// A reduction of a window, and its number (q, n of first(n), bits, span).
struct Reduction {
  Op op{};
  double number = 0;
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

// The reductions for which it matters when a value came, and not only in which order.
[[nodiscard]] constexpr bool uses_times(Op op) noexcept {
  return op == Op::w_slope || op == Op::w_rate || op == Op::w_theil_sen || op == Op::w_kendall || op == Op::w_time_to;
}

// What a window maintains incrementally for the reductions that are declared on it.
struct Demand {
  std::vector<Reduction> reductions;
  bool order = false;      // median, quantile, mad
  bool last = false;       // of a baseline: the last row's value
  bool nonfinite = false;  // of a baseline
  bool extremes = false;   // of a baseline: min, max
  bool times = false;      // of points: any that uses them
  bool fits = false;       // theil_sen, kendall, time_to, cusum of an attempt
  bool moments = false;    // stddev, slope of an attempt
  std::size_t first_n = 1, last_n = 1;
  std::vector<double> spans;  // of ewma
  std::vector<double> masks;  // of fraction
  void add(Op op, double number);
  // No reduction is declared: a scripted rule can ask for any.
  void add_all();
  // Whether the aggregates of the other can continue as these.
  [[nodiscard]] bool goes_on_from(const Demand& other) const;
  // What windows over "earlier" keep.
  static void fields(auto& self, auto& archive) {
    archive(1, self.order), archive(2, self.nonfinite), archive(3, self.fits), archive(4, self.moments),
        archive(5, self.first_n);
    archive(6, self.last_n), archive(7, self.spans), archive(8, self.masks), archive(9, self.last);
  }
};

}  // namespace tocsin::stream
