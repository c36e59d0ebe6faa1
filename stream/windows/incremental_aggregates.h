#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "stream/graph/operations.h"
#include "stream/graph/time_range.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The declared reductions of a window, each as a column that is updated when a member's values change, so that a tick
// only reads it. Owned by a view of a window.
class IncrementalAggregates {
 public:
  void keep(Reduction reduction) { columns_.push_back({reduction, {}}); }
  void widen(std::size_t members) {
    for (One& one : columns_) one.values.resize(members, absent);
  }
  // Updates the member's values. `reduce(op, number, before)` gives each reduction of them, whether or not there are
  // enough to be known. The columns have a place for the member.
  template <class Reduce>
  void update(Slot slot, Reduce&& reduce) {
    for (One& one : columns_) one.values[slot] = reduce(one.reduction.op, one.reduction.number, one.values[slot]);
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
    return true;
  }
  void clear(std::size_t members) {
    for (One& one : columns_) one.values.assign(members, absent);
  }
  [[nodiscard]] std::size_t retained_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const One& one : columns_) bytes += one.values.capacity() * sizeof(double);
    return bytes;
  }

 private:
  struct One {
    Reduction reduction;
    std::vector<double> values;
  };
  std::vector<One> columns_;
};

// Writes the known values of a column: of members with at least so many values; the others stay as they are.
inline void take_known(std::span<const double> column, std::span<const std::uint32_t> counts, std::uint32_t least,
                       std::span<double> out) {
  const std::size_t members = std::min({column.size(), counts.size(), out.size()});
  for (std::size_t i = 0; i < members; ++i) out[i] = counts[i] >= least ? column[i] : out[i];
}

}  // namespace tocsin::stream
