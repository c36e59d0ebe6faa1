#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/time.h"
#include "stream/values/value.h"
#include "stream/windows/cells.h"
#include "stream/windows/closed_rows.h"
#include "stream/windows/open_rows.h"
#include "stream/windows/row_grid.h"
#include "stream/windows/single_cells.h"

namespace tocsin::stream {

// The rows of one signal. An open row keeps, per member, the sample with the greatest (time, value bits), so merging
// commutes. A closed row never changes. Rows without any value are not stored: to a reader they are absent values. T is
// float, or double for kinds step, counter and time. Owned by its History.
template <class T>
class Rows {
 public:
  // The rows of a counter are rates per second against the member's sample before, if that is not too old; a
  // fall is a reset and gives no rate. Closed rows are kept for `keep` behind the newest.
  Rows(RowGrid grid, Duration lateness, Duration keep, bool counter);

  // False: its row has closed at `now`: the clock, or the sample's arrival if the clock waits for a watermark. An
  // absent value is not a sample.
  bool write(Slot slot, Time time, Time now, T value, std::size_t members);
  // The same for many members; returns how many were late (all or none). `in_a_row`: each slot is the one before and 1.
  template <class V>  // float or double
  std::size_t write(std::span<const Slot> slots, bool in_a_row, Time time, Time now, std::span<const V> values,
                    std::size_t members);

  // The same of many times, whose rows have not closed: the values at `place`, times `factor`.
  void write(std::span<const Cells> cells, std::uint32_t place, double factor, Time now, std::size_t members);
  // The same of cells that are arranged for these rows; T is float.
  void write(const SingleCells& cells, std::uint32_t place, Time now, std::size_t members);

  // The short path of a sample that belongs to the row of the one before. False: it does not, and nothing was done.
  bool write_recent(Slot slot, Time time, Time now, T value) noexcept {
    if (time > recent_.end || time <= recent_.begin || now >= recent_.closes || slot >= recent_.members) return false;
    merge(recent_.values[slot], recent_.offsets[slot], offset(recent_.begin, time), value);
    return true;
  }

  [[nodiscard]] Time next_due() const noexcept { return due_; }
  // Closing the oldest row will remove the rows up to here.
  [[nodiscard]] RowNumber removed_next() const noexcept {
    return open_.empty() ? std::numeric_limits<RowNumber>::min()
                         : std::min(open_.number(0), held_) - (keep_ / grid_.length + 1);
  }
  [[gnu::always_inline]] void prefetch_closing() const noexcept {
    if (!open_.empty()) __builtin_prefetch(open_[0].values.data());
    closed_.prefetch_next();
  }
  // Closes the oldest row if it is due; it is then the newest of closed(). False: none is due.
  bool close_next(Time clock);
  // How far back a restore has to read for all rows that a window or another pack's history can ask for: the oldest one
  // from its begin, and of a counter the samples before.
  [[nodiscard]] Duration reach() const noexcept {
    return keep_ + grid_.length + (counter_ ? oldest_predecessor : Duration{0});
  }
  // Keeps rows behind `time` from now on, however new the newest is. A restart, which reads those behind it again, is
  // not to have those that were removed before.
  void hold(Time time) noexcept {
    held_ = grid_.number(time);
    if (!closed_.empty()) marks_.floor = std::max(marks_.floor, closed_.last_number() - (keep_ / grid_.length + 1));
  }

  [[nodiscard]] const RowGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const ClosedRows<T>& closed() const noexcept { return closed_; }
  // Whether any row that closed held a value of the member: the reserved one's usually did not.
  [[nodiscard]] bool ever(Slot slot) const noexcept {
    return slot < known_ && !std::binary_search(never_.begin(), never_.end(), slot);
  }
  // The index in closed() of the first row after `number`.
  [[nodiscard]] std::size_t after(RowNumber number) const noexcept { return closed_.after(number); }
  // Rows up to here were removed.
  [[nodiscard]] RowNumber dropped_through() const noexcept { return dropped_through_; }
  // What a snapshot holds of rows; the rows themselves are read again from the log.
  struct Marks {
    std::uint64_t digest = 0;
    RowNumber floor = std::numeric_limits<RowNumber>::min();  // rows up to here are not kept
  };
  [[nodiscard]] const Marks& marks() const noexcept { return marks_; }
  void set_marks(const Marks& marks) noexcept { marks_ = marks; }
  // Takes the rows of another history of the same signal.
  void take(Rows& other);
  // The same of another pack's history, with what a snapshot holds of them. Rows further back than both packs keep for
  // certain are dropped, so that a restore, which reads no further back, has the same rows.
  void adopt(Rows& old, Time clock);

  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  static constexpr Duration oldest_predecessor = std::chrono::seconds{120};
  // Where the last sample's row has its values; no time lies in it if there is none.
  struct Recent {
    Time begin{}, end{}, closes{};  // (begin, end]
    T* values = nullptr;
    std::uint32_t* offsets = nullptr;
    std::size_t members = 0;
  };
  template <class V>
  void write_open(const Cells& cells, const V* values, double factor);
  // The row of this time as the recent one. False: it has closed, or no further row can be opened.
  bool open(Time time, Time now, std::size_t members);
  [[nodiscard]] std::uint32_t offset(Time begin, Time time) const noexcept {
    return RowGrid::offset(begin, time, unit_);
  }
  static auto bits(T value) noexcept {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
    else return std::bit_cast<std::uint64_t>(value);
  }
  // Measured NaNs have one pattern, so it does not matter which of two is kept.
  static T one_nan(T value) noexcept { return value == value ? value : std::numeric_limits<T>::quiet_NaN(); }
  static void merge(T& kept, std::uint32_t& offset_kept, std::uint32_t offset, T value) noexcept {
    value = one_nan(value);
    if (offset > offset_kept || (offset == offset_kept && bits(value) > bits(kept))) {
      offset_kept = offset;
      kept = value;
    }
  }
  void to_rates(const typename OpenRows<T>::Row& row);
  void find_due() noexcept { due_ = open_.empty() ? never : grid_.end(open_.number(0)) + lateness_; }
  void close_front();
  void drop_through(RowNumber number);

  Recent recent_;
  Time due_ = never;  // when the oldest open row closes
  OpenRows<T> open_;
  RowGrid grid_;
  Duration lateness_, keep_;
  Marks marks_;
  ClosedRows<T> closed_;
  RowNumber held_ = std::numeric_limits<RowNumber>::max();
  RowNumber dropped_through_ = std::numeric_limits<RowNumber>::min();
  std::int64_t unit_;  // of the grid
  std::size_t most_open_;
  bool counter_;
  std::size_t known_ = 0;    // members of any row that closed
  std::vector<Slot> never_;  // those of them of which none held a value, ascending: few
  struct Before {
    double value;
    std::int64_t time;
  };
  std::vector<Before> before_;  // of a counter: each member's last sample
};

extern template class Rows<float>;
extern template class Rows<double>;

}  // namespace tocsin::stream
