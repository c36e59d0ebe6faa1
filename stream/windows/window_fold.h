#pragma once

#include <deque>
#include <span>
#include <vector>

#include "stream/windows/rows.h"

namespace tocsin::stream {

// The rows of a window, folded as they enter and leave, a lane per member. Counts go up with one and down with the other; sums and
// extremes are never subtracted from. The order of a sum does not depend on how the window came to be where it is: the head, which are
// the rows up to the first boundary of ten on the epoch grid; the panes of ten rows from there on; the tail, after the last boundary:
// (head + panes) + tail. So a look adds three columns and at most nine rows. NaN is left out of all but present().
// Owned by a view of a window.
template <class T>
class WindowFold {
 public:
  // What is wanted besides counts.
  struct Wants {
    bool sums = false, least = false, greatest = false;
  };
  explicit WindowFold(Wants wants) : wants_(wants) {}

  void clear();
  void enter(RowNumber number, std::span<const T> row);  // ascending
  void leave(std::span<const T> row);
  void hold(RowNumber from, RowNumber through);  // the window is (from, through]; all of it has entered, the rest has left

  // By slot, of members that any row had: rows with a number.
  [[nodiscard]] std::span<const std::uint32_t> numbers() const noexcept { return numbers_; }
  // Rows with a value: a number or a NaN.
  [[nodiscard]] std::uint32_t present(Slot slot) const noexcept { return numbers_[slot] + (slot < nans_.size() ? nans_[slot] : 0); }
  // Of wants; each member's, 0 and ±infinity where it has no number. `rows` holds the window's head.
  void sums(const Rows<T>& rows, std::span<double> out) const;
  void extremes(bool least, const Rows<T>& rows, std::span<double> out) const;

  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  struct Part {  // what some rows come to
    std::vector<double> sums;
    std::vector<T> least, greatest;
  };
  struct Pane {
    RowNumber number;
    Part part;
  };  // the rows (10 (number - 1), 10 number]
  static constexpr RowNumber rows_a_pane = 10;

  [[nodiscard]] static RowNumber first_of(RowNumber pane) noexcept { return (pane - 1) * rows_a_pane; }  // exclusive
  void begin(Part& part, std::size_t members) const;
  void take(Part& part, std::span<const T> row) const;
  void take(Part& part, const Part& other) const;
  void close_tail();
  [[nodiscard]] bool tail_counts() const noexcept { return tail_open_ && first_of(tail_pane_) >= from_; }
  template <class See>
  void each_of_head(const Rows<T>& rows, See&& see) const;

  Wants wants_;
  RowNumber from_ = 0, through_ = 0;
  void count(std::span<const T> row, std::uint32_t one);
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> nans_;  // made room for where there is one
  std::deque<Pane> panes_;           // whole ones, ascending
  Part middle_;                      // the panes', together
  Part tail_;                        // of pane tail_pane_, so far
  RowNumber tail_pane_ = 0;
  bool tail_open_ = false;
  bool stale_ = false;  // middle_ is not of panes_ as they are
};

extern template class WindowFold<float>;
extern template class WindowFold<double>;

}  // namespace tocsin::stream
