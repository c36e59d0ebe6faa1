#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "stream/graph/operations.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// Of ascending numbers; absent if there is none. The same functions serve values that are maintained sorted and values
// that are sorted on demand, so both give the same bits.
template <class Sorted>
[[nodiscard]] double median_of_sorted(const Sorted& sorted) noexcept {
  const std::size_t n = sorted.size();
  if (n == 0) return absent;
  const double upper = static_cast<double>(sorted[n / 2]);
  if (n % 2 == 1) return upper;
  const double lower = static_cast<double>(sorted[n / 2 - 1]);
  return lower == upper ? upper : canonical((lower + upper) / 2);
}

// Linear between ranks (type 7).
template <class Sorted>
[[nodiscard]] double quantile_of_sorted(const Sorted& sorted, double q) noexcept {
  const std::size_t n = sorted.size();
  if (n == 0 || !(q >= 0 && q <= 1)) return absent;
  const double place = static_cast<double>(n - 1) * q;
  const auto below = static_cast<std::size_t>(place);
  const double low = static_cast<double>(sorted[below]);
  if (static_cast<double>(below) == place) return low;  // the neighbour can be infinite
  const double high = static_cast<double>(sorted[std::min(below + 1, n - 1)]);
  return low == high ? low : canonical(low + (place - static_cast<double>(below)) * (high - low));
}

// The median of the distances to the median, not scaled. On both sides of the median distances already ascend:
// bisection finds how many of the nearest are on the left.
template <class Sorted>
[[nodiscard]] double mad_of_sorted(const Sorted& sorted) noexcept {
  const std::size_t n = sorted.size();
  const double middle = median_of_sorted(sorted);
  if (!std::isfinite(middle)) return absent;
  const std::size_t lefts = n / 2, rights = n - lefts;  // values equal to the median can count to either side
  const auto left = [&](std::size_t i) { return middle - static_cast<double>(sorted[lefts - 1 - i]); };
  const auto right = [&](std::size_t i) { return static_cast<double>(sorted[lefts + i]) - middle; };
  // The nearest n / 2 + 1: `low` of them on the left.
  const std::size_t wanted = n / 2 + 1;
  std::size_t low = wanted > rights ? wanted - rights : 0, high = std::min(wanted, lefts);
  while (low < high) {
    const std::size_t taken = (low + high) / 2;
    if (left(taken) < right(wanted - taken - 1)) low = taken + 1;
    else high = taken;
  }
  const std::size_t from_right = wanted - low;
  const double a = low > 0 ? left(low - 1) : -1, b = from_right > 0 ? right(from_right - 1) : -1;
  const double distance = std::max(a, b);
  if (n % 2 == 1) return distance;
  const double previous =
      a >= b ? std::max(low > 1 ? left(low - 2) : 0, b) : std::max(a, from_right > 1 ? right(from_right - 2) : 0);
  return previous == distance ? distance : (previous + distance) / 2;
}

// The reductions that sorted numbers answer.
[[nodiscard]] constexpr bool orders(Op op) noexcept {
  return op == Op::w_median || op == Op::w_quantile || op == Op::w_mad;
}
template <class Sorted>
[[nodiscard]] double order_statistic(Op op, const Sorted& sorted, double q) noexcept {
  if (op == Op::w_quantile) return quantile_of_sorted(sorted, q);
  return op == Op::w_mad ? mad_of_sorted(sorted) : median_of_sorted(sorted);
}

// The quantile whose two ranks a median or quantile reads; of a number that is no quantile, the least.
[[nodiscard]] constexpr double quantile_of(Op op, double number) noexcept {
  return op != Op::w_quantile ? 0.5 : number >= 0 && number <= 1 ? number : 0;
}
// The lower of these ranks, and the other.
[[nodiscard]] inline std::size_t rank_of(double quantile, std::size_t numbers) noexcept {
  return static_cast<std::size_t>(static_cast<double>(numbers - 1) * quantile);
}
[[nodiscard]] constexpr std::size_t rank_after(std::size_t rank, std::size_t numbers) noexcept {
  return rank + 1 < numbers ? rank + 1 : numbers - 1;
}

// How many of ascending numbers are less than `value`. No branch depends on them, as no processor could predict it.
template <class T>
[[nodiscard]] std::size_t count_below(const T* run, std::size_t n, T value) noexcept {
  const T* first = run;
  constexpr std::size_t few = 128 / sizeof(T);  // of which each is compared
  while (n > few) {
    const std::size_t half = n / 2;
    first += static_cast<std::size_t>(first[half - 1] < value) * half;
    n -= half;
  }
  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> less = 0;  // as wide as T, for the vector unit
  for (std::size_t i = 0; i < n; ++i) less += first[i] < value ? 1 : 0;
  return static_cast<std::size_t>(first - run) + less;
}

// How many members before its own a member's numbers are fetched, where one after another is changed.
inline constexpr std::size_t prefetch_ahead = 4;

// The numbers of one window for each member, ascending; updated as values enter and leave.
// Owned by a view of a window.
template <class T>
class SortedColumns {
 public:
  // `most`: what a member's window holds at the most, but for a moment.
  explicit SortedColumns(std::size_t most = 1)
      : most_(std::max<std::size_t>(most, 1)), capacity_(std::min<std::size_t>(most_, 4)) {}

  void insert(Slot slot, T value) {
    if (value != value) return;
    widen(slot + std::size_t{1});
    if (counts_[slot] == capacity_) grow();
    T* run = data_.data() + slot * capacity_;
    const std::size_t n = counts_[slot]++, place = count_below(run, n, value);
    std::copy_backward(run + place, run + n, run + n + 1);
    run[place] = value + T{0};  // -0 and 0 are one value
  }
  void remove(Slot slot, T value) {
    if (value != value || slot >= counts_.size()) return;
    T* run = data_.data() + slot * capacity_;
    const std::size_t n = counts_[slot], place = count_below(run, n, value);
    if (place == n || run[place] != value) return;
    std::copy(run + place + 1, run + n, run + place);
    --counts_[slot];
  }
  // One value enters as one leaves: only what lies between them moves.
  void replace(Slot slot, T leaving, T entering) {
    if (leaving != leaving || slot >= counts_.size()) return insert(slot, entering);
    if (entering != entering) return remove(slot, leaving);
    T* run = data_.data() + slot * capacity_;
    const std::size_t n = counts_[slot], from = count_below(run, n, leaving), to = count_below(run, n, entering);
    if (from == n || run[from] != leaving) return insert(slot, entering);
    if (to > from) {
      std::copy(run + from + 1, run + to, run + from);
      run[to - 1] = entering + T{0};
    } else {
      std::copy_backward(run + to, run + from, run + from + 1);
      run[to] = entering + T{0};
    }
  }
  // Brings the numbers of a member that is soon changed into the cache: a search without branches waits for each one
  // that it reads. Those of few members are there.
  void prefetch(std::size_t slot) const noexcept {
    constexpr std::size_t few = 16'384 / sizeof(T);
    if (slot >= counts_.size() || data_.size() <= few) return;
    const T* const run = data_.data() + slot * capacity_;
    for (std::size_t i = 0; i < counts_[slot]; i += 64 / sizeof(T)) __builtin_prefetch(run + i);
  }
  [[nodiscard]] std::span<const T> of(Slot slot) const noexcept {
    if (slot >= counts_.size()) return {};
    return {data_.data() + slot * capacity_, counts_[slot]};
  }
  void clear() noexcept { std::fill(counts_.begin(), counts_.end(), 0u); }
  void clear(Slot slot) noexcept {
    if (slot < counts_.size()) counts_[slot] = 0;
  }
  void widen(std::size_t members) {
    if (counts_.size() >= members) return;
    counts_.resize(members, 0);
    data_.resize(members * capacity_);
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return data_.capacity() * sizeof(T) + counts_.capacity() * sizeof(std::uint32_t);
  }

 private:
  void grow() {
    const std::size_t more = capacity_ + std::max<std::size_t>(capacity_ / 4, 4),
                      wider = capacity_ < most_ ? std::min(more, most_) : more;
    std::vector<T> data(counts_.size() * wider);
    for (std::size_t slot = 0; slot < counts_.size(); ++slot)
      std::copy_n(data_.data() + slot * capacity_, counts_[slot], data.data() + slot * wider);
    data_ = std::move(data);
    capacity_ = wider;
  }
  std::size_t most_, capacity_;
  std::vector<T> data_;  // [member][capacity]
  std::vector<std::uint32_t> counts_;
};

// Counts of numbers in bins of less than 1 %: sign, exponent and 7 bits of mantissa. The middle of a bin stands for its
// numbers, limited to the smallest and the greatest number seen.
class Histogram {
 public:
  void add(double number);
  void add(const Histogram& other);
  [[nodiscard]] double median() const;
  [[nodiscard]] double quantile(double q) const;
  [[nodiscard]] double mad() const;
  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept { return bins_.capacity() * sizeof(Bin); }

 private:
  struct Bin {
    std::uint32_t key;
    std::uint64_t count;
  };
  struct Weighted {
    double value;
    std::uint64_t count;
  };
  static void fields(auto& self, auto& archive);
  [[nodiscard]] double middle(const Bin& bin) const;
  [[nodiscard]] std::vector<Weighted> values() const;
  std::vector<Bin> bins_;  // ascending
  std::uint64_t count_ = 0;
  double min_ = 0, max_ = 0;
};

}  // namespace tocsin::stream
