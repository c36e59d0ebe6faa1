#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "stream/graph/kernels.h"
#include "stream/graph/time_range.h"
#include "stream/topology/topology.h"
#include "stream/windows/order_statistics.h"

namespace tocsin::stream {

// The numbers of a window around one rank, for each member, ascending; how many are below them; and how many numbers
// there are. A row that enters or leaves changes mostly counts, in a loop over members: only what lies between the
// greatest number below and the least above is inserted or removed. Where the rank is no longer among the numbers held,
// they are taken from the window's rows again. Owned by a view of a window.
template <class T>
class NearRank {
 public:
  // The numbers of a member that are held, as those at their places among all.
  struct Near {
    const T* held;
    std::size_t below, numbers;
    [[nodiscard]] std::size_t size() const noexcept { return numbers; }
    [[nodiscard]] bool empty() const noexcept { return numbers == 0; }
    [[nodiscard]] const T& operator[](std::size_t rank) const noexcept { return held[rank - below]; }
  };

  // Of a window of at most `most` numbers, those that the reduction reads: all of them for a mad.
  NearRank(const Reduction& reduction, std::size_t most)
      : q_(quantile_of(reduction.op, reduction.number)),
        all_(reduction.op == Op::w_mad || most <= near_enough),
        room_(all_ ? most : near_enough) {}

  [[nodiscard]] bool answers(Op op, double number) const noexcept {
    return all_ || (op != Op::w_mad && q_ == quantile_of(op, number));
  }
  [[nodiscard]] bool same_as(const NearRank& other) const noexcept {
    return q_ == other.q_ && room_ == other.room_ && all_ == other.all_;
  }

  void enter(std::span<const T> row) {
    widen(row.size());
    each_within(row, 1, [this](std::size_t slot, T value) { insert(slot, value); });
  }
  void leave(std::span<const T> row) {
    each_within(row.first(std::min(row.size(), held_.size())), ~std::uint32_t{0},
                [this](std::size_t slot, T value) { remove(slot, value); });
  }
  // After rows entered and left. `gather(slot, values)` appends the window's values of a member.
  template <class Gather>
  void settle(Gather&& gather) {
    std::uint32_t numbers = 0;
    std::size_t first = 0, last = 0;
    for (std::size_t slot = 0; slot < held_.size(); ++slot) {
      if (numbers_[slot] == 0) continue;
      if (numbers_[slot] != numbers)
        numbers = numbers_[slot], first = rank_of(q_, numbers), last = rank_after(first, numbers);
      if (first >= below_[slot] && last < std::size_t{below_[slot]} + held_[slot]) continue;
      values_.clear();
      gather(static_cast<Slot>(slot), values_);
      std::erase_if(values_, [](T value) { return value != value; });
      take(slot, first);
    }
  }
  [[nodiscard]] Near of(Slot slot) const noexcept {
    if (slot >= held_.size()) return {nullptr, 0, 0};
    return {data_.data() + slot * stride(), below_[slot], numbers_[slot]};
  }
  void clear() noexcept {
    std::fill(numbers_.begin(), numbers_.end(), 0u);
    for (std::size_t slot = 0; slot < held_.size(); ++slot) empty(slot);
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return (data_.capacity() + low_.capacity() + high_.capacity()) * sizeof(T) +
           (held_.capacity() + numbers_.capacity() + below_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  // So many that the rank seldom leaves: where values come in no order, about once in 2,000 rows.
  static constexpr std::size_t near_enough = 64;
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  [[nodiscard]] std::size_t stride() const noexcept { return room_ + 1; }
  void widen(std::size_t members) {
    if (held_.size() >= members) return;
    held_.resize(members, 0), numbers_.resize(members, 0), below_.resize(members, 0);
    low_.resize(members, -infinity), high_.resize(members, infinity);
    data_.resize(members * stride());
  }
  // Counts a row's values, each as `one`, and calls `see` for those that lie within a member's limits.
  template <class See>
  void each_within(std::span<const T> row, std::uint32_t one, See&& see) {
    const std::size_t n = row.size();
    const T* const values = row.data();
    slots_.resize(n);
    std::size_t count = 0;
    if constexpr (std::is_same_v<T, float>) {
      count = kernels().count_within({values, low_.data(), high_.data(), numbers_.data(), below_.data()}, n, one,
                                     slots_.data());
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        numbers_[i] += values[i] == values[i] ? one : 0u;
        below_[i] += values[i] < low_[i] ? one : 0u;
        slots_[count] = static_cast<Slot>(i);
        count += (values[i] >= low_[i]) & (values[i] <= high_[i]) ? 1 : 0;
      }
    }
    slots_.resize(count);
    for (std::size_t at = 0; at < slots_.size(); ++at) {
      if (at + prefetch_ahead < slots_.size()) prefetch(slots_[at + prefetch_ahead]);
      see(slots_[at], values[slots_[at]]);
    }
  }
  void prefetch(Slot slot) const noexcept {
    const T* const run = data_.data() + slot * stride();
    for (std::size_t i = 0; i < held_[slot]; i += 64 / sizeof(T)) __builtin_prefetch(run + i);
  }
  void insert(std::size_t slot, T value) {
    T* const run = data_.data() + slot * stride();
    std::uint32_t& held = held_[slot];
    const std::size_t place = count_below(run, held, value);
    std::copy_backward(run + place, run + held, run + held + 1);
    run[place] = value + T{0};  // -0 and 0 are one value
    if (++held <= room_) return;
    // One too many: the one that is further from the rank goes.
    const std::size_t wanted = rank_of(q_, numbers_[slot]);
    --held;
    if (2 * wanted + 1 > 2 * std::size_t{below_[slot]} + held) {
      ++below_[slot];
      std::copy(run + 1, run + held + 1, run);
      low_[slot] = run[0];
    } else {
      high_[slot] = run[held - 1];
    }
  }
  void remove(std::size_t slot, T value) {
    T* const run = data_.data() + slot * stride();
    std::uint32_t& held = held_[slot];
    const std::size_t place = count_below(run, held, value);
    if (place == held || run[place] != value) {  // it equals a limit, and is one of those beyond
      if (value == low_[slot]) --below_[slot];
      return;
    }
    std::copy(run + place + 1, run + held, run + place);
    if (--held > 0) return;
    if (numbers_[slot] == 0) return empty(slot);
    low_[slot] = infinity, high_[slot] = -infinity;  // none is within until they are taken again
  }
  void empty(std::size_t slot) {
    held_[slot] = 0;
    below_[slot] = 0;
    low_[slot] = -infinity, high_[slot] = infinity;
  }
  // Of all numbers of the window, in values_.
  void take(std::size_t slot, std::size_t wanted) {
    const std::size_t numbers = values_.size(), held = std::min(numbers, room_),
                      first = std::min(wanted < held / 2 ? 0 : wanted - held / 2, numbers - held);
    const auto begin = values_.begin(), from = begin + static_cast<std::ptrdiff_t>(first),
               to = from + static_cast<std::ptrdiff_t>(held);
    if (first > 0) std::nth_element(begin, from, values_.end());
    if (to != values_.end()) std::nth_element(from, to, values_.end());
    std::sort(from, to);
    T* const run = data_.data() + slot * stride();
    std::transform(from, to, run, [](T value) { return value + T{0}; });
    held_[slot] = static_cast<std::uint32_t>(held);
    below_[slot] = static_cast<std::uint32_t>(first);
    low_[slot] = first > 0 ? run[0] : -infinity;
    high_[slot] = first + held < numbers ? run[held - 1] : infinity;
  }

  double q_;
  bool all_;
  std::size_t room_;
  std::vector<T> data_;                                // [member][room + 1]
  std::vector<T> low_, high_;                          // limits: what lies within is held, or equals one
  std::vector<std::uint32_t> held_, numbers_, below_;  // by member: how many are held, there, and below those held
  std::vector<Slot> slots_;                            // scratch, as the next
  std::vector<T> values_;
};

}  // namespace tocsin::stream
