#include "stream/windows/eight_series.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "stream/graph/kernels.h"
#include "stream/windows/order_statistics.h"
#include "stream/windows/series.h"

namespace tocsin::stream {
namespace {

// One member's values, sorted.
struct Sorted {
  const double* first;
  std::size_t count;
  [[nodiscard]] std::size_t size() const noexcept { return count; }
  const double& operator[](std::size_t rank) const noexcept { return first[rank * EightSeries::members]; }
};

// Two neighbours of what would be sorted: all that a median or quantile reads.
struct Pair {
  std::size_t rank, count;
  std::array<double, EightSeries::members> lower, upper;
  struct Of {
    std::size_t rank, count;
    double lower, upper;
    [[nodiscard]] std::size_t size() const noexcept { return count; }
    const double& operator[](std::size_t at) const noexcept { return at == rank ? lower : upper; }
  };
  [[nodiscard]] Of of(std::size_t m) const noexcept { return {rank, count, lower[m], upper[m]}; }
};

}  // namespace

void EightSeries::end() { kernels().count_eights(block_.data(), rows_, numbers_.data()); }

void EightSeries::extremes(bool least, std::span<double, members> out) const {
  std::array<double, members> best;
  best.fill(least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t m = 0; m < members; ++m) {
      const double value = block_[i * members + m];
      best[m] = (least ? value < best[m] : value > best[m]) ? value : best[m];
    }
  for (std::size_t m = 0; m < members; ++m) out[m] = numbers_[m] == 0 ? absent : best[m] + 0.0;  // one zero
}

void EightSeries::means(bool sum, std::span<double, members> out) const {
  std::array<std::array<double, members>, 4> lanes{};  // as those of a LaneSum
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t m = 0; m < members; ++m) lanes[i % 4][m] += block_[i * members + m];
  for (std::size_t m = 0; m < members; ++m) {
    double total = (lanes[0][m] + lanes[1][m]) + (lanes[2][m] + lanes[3][m]);
    if (numbers_[m] < rows_) {  // NaN takes no lane
      LaneSum numbers;
      for (std::size_t i = 0; i < rows_; ++i) numbers.add(block_[i * members + m]);
      total = numbers.value();
    }
    out[m] = numbers_[m] == 0 ? absent : canonical(sum ? total : total / static_cast<double>(numbers_[m]));
  }
}

void EightSeries::ordered(Op op, double number, std::span<double, members> out) {
  const Kernels& kernel = kernels();
  const std::size_t n = *std::ranges::max_element(numbers_);
  // Where all members have as many numbers, or none, two ranks are enough, and cost half of sorting.
  const bool same = std::ranges::all_of(numbers_, [n](std::size_t one) { return one == n || one == 0; });
  if (same && n > 0 && op != Op::w_mad && order_ != Order::sorted) {
    if (order_ == Order::came) kernel.sort_eights(block_.data(), rows_, false);
    order_ = Order::halves;
    Pair pair{rank_of(quantile_of(op, number), n), n, {}, {}};
    kernel.rank_of_eights(block_.data(), rows_, pair.rank, pair.lower.data());
    kernel.rank_of_eights(block_.data(), rows_, rank_after(pair.rank, n), pair.upper.data());
    for (std::size_t m = 0; m < members; ++m)
      out[m] = numbers_[m] == 0 ? absent : order_statistic(op, pair.of(m), number);
    return;
  }
  if (order_ != Order::sorted) kernel.sort_eights(block_.data(), rows_, true);
  order_ = Order::sorted;
  for (std::size_t m = 0; m < members; ++m)
    out[m] = order_statistic(op, Sorted{block_.data() + m, numbers_[m]}, number);
}

void EightSeries::reduce(Op op, double number, std::span<double, members> out) {
  assert(gives(op) && (orders(op) || order_ == Order::came));
  if (op == Op::w_min || op == Op::w_max) return extremes(op == Op::w_min, out);
  if (op == Op::w_mean || op == Op::w_sum) return means(op == Op::w_sum, out);
  ordered(op, number, out);
}

}  // namespace tocsin::stream
