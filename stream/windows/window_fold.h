#pragma once

#include <memory>
#include <span>
#include <vector>

#include "stream/windows/closed_rows.h"
#include "stream/windows/rows.h"

namespace tocsin::stream {

// The rows of a window, folded as they enter and leave. Counts are added and subtracted; sums and extremes are never
// subtracted. The order of a sum does not depend on how the window moved: first the head, which are the rows up to the
// first boundary of ten on the epoch grid; then the panes of ten rows; then the tail after the last boundary: (head +
// panes) + tail. A reduction adds three columns and at most nine rows. NaN is left out of all but present(). Owned by a
// view of a window.
template <class T>
class WindowFold {
 public:
  // What is folded besides counts.
  struct Wants {
    bool sums = false, least = false, greatest = false;
    friend bool operator==(const Wants&, const Wants&) = default;
  };
  // Of a window of so many rows.
  WindowFold(Wants wants, std::size_t rows);

  void clear();
  void enter(RowNumber number, std::span<const T> row);  // ascending
  void leave(std::span<const T> row);
  void hold(RowNumber from,
            RowNumber through);  // the window is (from, through]; all of it has entered, the rest has left

  // By slot, for members with a value in any row: the number of rows with a number.
  [[nodiscard]] std::span<const std::uint32_t> numbers() const noexcept { return numbers_; }
  // The number of rows with a value: a number or NaN.
  [[nodiscard]] std::uint32_t present(Slot slot) const noexcept {
    return numbers_[slot] + (slot < nans_.size() ? nans_[slot] : 0);
  }
  [[nodiscard]] bool any_nan() const noexcept { return !nans_.empty(); }  // perhaps
  // Of wants; for each member, 0 and ±infinity if it has no number. `rows` holds the window's head.
  void sums(const Rows<T>& rows, std::span<double> out) const;
  void extremes(bool least, const Rows<T>& rows, std::span<double> out) const;

  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  static constexpr RowNumber rows_a_pane = 10;
  // One fold, by slot: of each pane, which are the rows (10 (number - 1), 10 number]; of the panes together; and of the
  // rows of pane tail_pane_ so far.
  template <class V>
  struct Lane {
    ClosedRows<V> panes;  // complete ones: few
    std::vector<V> middle, tail;
    bool stale = false;  // the middle is of other panes
  };

  [[nodiscard]] static RowNumber first_of(RowNumber pane) noexcept { return (pane - 1) * rows_a_pane; }  // exclusive
  // Calls `see` with each lane, what a fold begins with, and how a row and how a pane enters it.
  void each_lane(auto&& see);
  void close_tail();
  [[nodiscard]] bool tail_counts() const noexcept { return tail_open_ && first_of(tail_pane_) >= from_; }
  template <class See>
  void each_of_head(const Rows<T>& rows, See&& see) const;
  void count(std::span<const T> row, std::uint32_t one);

  RowNumber from_ = 0, through_ = 0;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> nans_;     // allocated when the first NaN is measured
  std::unique_ptr<Lane<double>> sums_;  // null: not wanted, as the next
  std::unique_ptr<Lane<T>> least_, greatest_;
  RowNumber tail_pane_ = 0;
  bool tail_open_ = false;
};

extern template class WindowFold<float>;
extern template class WindowFold<double>;

}  // namespace tocsin::stream
