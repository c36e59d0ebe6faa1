#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stream/graph/operations.h"
#include "stream/graph/time_range.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"
#include "stream/windows/eight_series.h"

namespace tocsin::stream {

// The declared reductions of a window, each as a column. A member's places in them are computed again if its values
// have changed since a tick read them last. Owned by a view of a window.
class IncrementalAggregates {
 public:
  void keep(Reduction reduction) { columns_.push_back({reduction, {}}); }
  void widen(std::size_t members) {
    for (One& one : columns_) one.values.resize(members, absent);
    if (!columns_.empty()) stale_.resize(members, 0);
  }
  // The values of a member, for which the columns have a place, are others.
  void changed(Slot slot) {
    if (!columns_.empty() && !std::exchange(stale_[slot], std::uint8_t{1})) changed_.push_back(slot);
  }
  // The same of members side by side, where refresh_eights() is used.
  void changed(Slot first, std::size_t count) {
    if (columns_.empty()) return;
    std::fill_n(stale_.begin() + first, count, std::uint8_t{1});
    if (changed_.empty()) changed_.push_back(first);
  }
  // `reduce(slot, op, number)` gives a reduction of a member's values, whether or not there are enough to be known.
  template <class Reduce>
  void refresh(Reduce&& reduce) {
    for (const Slot slot : changed_) {
      stale_[slot] = 0;
      for (One& one : columns_) one.values[slot] = reduce(slot, one.reduction.op, one.reduction.number);
    }
    changed_.clear();
  }
  // The same by eights: `begin(number)` for each in which one has changed, then `reduce(op, number, out)` for each
  // column, in the order in which they were kept.
  template <class Begin, class Reduce>
  void refresh_eights(Begin&& begin, Reduce&& reduce) {
    for (std::size_t eight = 0; !changed_.empty() && Eights::first(eight) < stale_.size(); ++eight) {
      const std::size_t first = Eights::first(eight), count = Eights::size(eight, stale_.size());
      const std::span<std::uint8_t> stale{stale_.data() + first, count};
      if (std::ranges::find(stale, 1) == stale.end()) continue;
      std::ranges::fill(stale, std::uint8_t{0});
      begin(eight);
      for (One& one : columns_) {
        std::array<double, Eights::members> out;
        reduce(one.reduction.op, one.reduction.number, std::span<double, Eights::members>{out});
        std::copy_n(out.begin(), count, one.values.begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
    changed_.clear();
  }
  [[nodiscard]] const std::vector<double>* find(Op op, double number) const noexcept {
    for (const One& one : columns_)
      if (one.reduction == Reduction{op, number}) return &one.values;
    return nullptr;
  }
  // Continues the columns of another pack's window over the same values. False: that one did not keep all of these, and
  // nothing changed.
  [[nodiscard]] bool adopt(IncrementalAggregates& old) {
    const auto same = [&old](const One& one) {
      return std::ranges::find(old.columns_, one.reduction, &One::reduction);
    };
    if (!std::ranges::all_of(columns_, [&](const One& one) { return same(one) != old.columns_.end(); })) return false;
    for (One& one : columns_) one.values = std::move(same(one)->values);
    stale_ = std::move(old.stale_), changed_ = std::move(old.changed_);
    return true;
  }
  void clear(std::size_t members) {
    for (One& one : columns_) one.values.assign(members, absent);
    if (!columns_.empty()) stale_.assign(members, 0);
    changed_.clear();
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    std::size_t bytes = stale_.capacity() + changed_.capacity() * sizeof(Slot);
    for (const One& one : columns_) bytes += one.values.capacity() * sizeof(double);
    return bytes;
  }

 private:
  struct One {
    Reduction reduction;
    std::vector<double> values;
  };
  std::vector<One> columns_;
  std::vector<std::uint8_t> stale_;  // by slot, if there is a column
  std::vector<Slot> changed_;        // the stale ones, or where members side by side are, any of them
};

// Writes the known values of a column: of members with at least so many values; the others stay as they are.
inline void take_known(std::span<const double> column, std::span<const std::uint32_t> counts, std::uint32_t least,
                       std::span<double> out) {
  const std::size_t members = std::min({column.size(), counts.size(), out.size()});
  for (std::size_t i = 0; i < members; ++i) out[i] = counts[i] >= least ? column[i] : out[i];
}

}  // namespace tocsin::stream
