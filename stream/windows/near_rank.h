#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
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

  // Of a window of at most `most` numbers, those that the reduction reads: all of them for a mad, else so many that the
  // rank seldom leaves. Where values come in no order, it leaves `near` of them after about half the square of `near`.
  NearRank(const Reduction& reduction, std::size_t most, std::size_t near)
      : q_(quantile_of(reduction.op, reduction.number)),
        all_(reduction.op == Op::w_mad || most <= near),
        room_(all_ ? most : near) {}

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
    std::vector<T> values;
    for (std::size_t slot = 0; slot < held_.size(); ++slot) {
      if (numbers_[slot] == 0) continue;
      if (numbers_[slot] != numbers)
        numbers = numbers_[slot], first = rank_of(q_, numbers), last = rank_after(first, numbers);
      if (first >= below_[slot] && last < std::size_t{below_[slot]} + held_[slot]) continue;
      values.clear();
      values.reserve(numbers);
      gather(static_cast<Slot>(slot), values);
      std::erase_if(values, [](T value) { return value != value; });
      take(slot, first, values);
    }
  }
  [[nodiscard]] Near of(Slot slot) const noexcept {
    if (slot >= held_.size()) return {nullptr, 0, 0};
    return {data_.get() + slot * stride_, below_[slot], numbers_[slot]};
  }
  void clear() noexcept {
    std::fill(numbers_.begin(), numbers_.end(), 0u);
    for (std::size_t slot = 0; slot < held_.size(); ++slot) empty(slot);
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    return (held_.size() * stride_ + low_.capacity() + high_.capacity()) * sizeof(T) +
           (held_.capacity() + numbers_.capacity() + below_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  void widen(std::size_t members) {
    if (held_.size() >= members) return;
    move_to(members, stride_);
    held_.resize(members, 0), numbers_.resize(members, 0), below_.resize(members, 0);
    low_.resize(members, -infinity), high_.resize(members, infinity);
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
    const T* const run = data_.get() + slot * stride_;
    for (std::size_t i = 0; i < held_[slot]; i += 64 / sizeof(T)) __builtin_prefetch(run + i);
  }
  void move_to(std::size_t members, std::size_t stride) {
    auto data = std::make_unique_for_overwrite<T[]>(members * stride);
    for (std::size_t slot = 0; slot < held_.size(); ++slot)
      std::copy_n(data_.get() + slot * stride_, held_[slot], data.get() + slot * stride);
    data_ = std::move(data), stride_ = stride;
  }
  // The members' runs get longer, up to `room_` and one.
  void grow(std::size_t held) {
    const std::size_t wider = std::min(std::max(held, stride_ + std::max<std::size_t>(8, stride_ / 4)), room_ + 1);
    move_to(held_.size(), wider);
  }
  void insert(std::size_t slot, T value) {
    if (held_[slot] == stride_) grow(0);
    T* const run = data_.get() + slot * stride_;
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
    T* const run = data_.get() + slot * stride_;
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
  // Of all numbers of the window.
  void take(std::size_t slot, std::size_t wanted, std::vector<T>& values) {
    const std::size_t numbers = values.size(), held = std::min(numbers, room_),
                      first = std::min(wanted < held / 2 ? 0 : wanted - held / 2, numbers - held);
    const auto begin = values.begin(), from = begin + static_cast<std::ptrdiff_t>(first),
               to = from + static_cast<std::ptrdiff_t>(held);
    if (first > 0) std::nth_element(begin, from, values.end());
    if (to != values.end()) std::nth_element(from, to, values.end());
    std::sort(from, to);
    if (held > stride_) grow(held);
    T* const run = data_.get() + slot * stride_;
    std::transform(from, to, run, [](T value) { return value + T{0}; });
    held_[slot] = static_cast<std::uint32_t>(held);
    below_[slot] = static_cast<std::uint32_t>(first);
    low_[slot] = first > 0 ? run[0] : -infinity;
    high_[slot] = first + held < numbers ? run[held - 1] : infinity;
  }

  double q_;
  bool all_;
  std::size_t room_;
  std::size_t stride_ = std::min<std::size_t>(room_ + 1, 8);
  std::unique_ptr<T[]> data_;                          // [member][stride]
  std::vector<T> low_, high_;                          // limits: what lies within is held, or equals one
  std::vector<std::uint32_t> held_, numbers_, below_;  // by member: how many are held, there, and below those held
  std::vector<Slot> slots_;                            // scratch
};

// What the reductions read of one window, each with as few of these as answer it.
template <class T>
class NearRanks {
 public:
  void add(const Reduction& reduction, std::size_t most, std::size_t near) {
    if (!orders(reduction.op) || of(reduction.op, reduction.number) != nullptr) return;
    if (reduction.op == Op::w_mad) all_.clear();
    all_.emplace_back(reduction, most, near);
  }
  // Null: nothing has the numbers that the reduction reads.
  [[nodiscard]] const NearRank<T>* of(Op op, double number) const noexcept {
    const auto found = std::ranges::find_if(all_, [&](const NearRank<T>& near) { return near.answers(op, number); });
    return found == all_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] auto begin() noexcept { return all_.begin(); }
  [[nodiscard]] auto end() noexcept { return all_.end(); }
  [[nodiscard]] bool same_as(const NearRanks& other) const noexcept {
    return std::ranges::equal(all_, other.all_, [](const auto& a, const auto& b) { return a.same_as(b); });
  }
  void clear() noexcept {
    for (NearRank<T>& near : all_) near.clear();
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const NearRank<T>& near : all_) bytes += near.retained_bytes();
    return bytes;
  }

 private:
  std::vector<NearRank<T>> all_;
};

}  // namespace tocsin::stream
