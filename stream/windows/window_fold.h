#pragma once

#include <span>
#include <vector>

#include "stream/windows/rows.h"

namespace tocsin::stream {

// The rows of a window, folded as they enter and leave, one lane per member. Counts are added and subtracted; sums and
// extremes are never subtracted. The order of a sum does not depend on how the window moved: first the head, which are
// the rows up to the first boundary of ten on the epoch grid; then the panes of ten rows; then the tail after the last
// boundary: (head + panes) + tail. A reduction adds three columns and at most nine rows. NaN is left out of all but
// present(). Owned by a view of a window.
template <class T>
class WindowFold {
 public:
  // What is folded besides counts.
  struct Wants {
    bool sums = false, least = false, greatest = false;
    friend bool operator==(const Wants&, const Wants&) = default;
  };
  explicit WindowFold(Wants wants) : wants_(wants) {}

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
  struct Part {  // the fold of some rows
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
  std::vector<std::uint32_t> nans_;  // allocated when the first NaN is measured
  std::vector<Pane> panes_;          // complete ones, ascending: few
  Part middle_;                      // of the panes together
  Part tail_;                        // of pane tail_pane_, so far
  RowNumber tail_pane_ = 0;
  bool tail_open_ = false;
  bool stale_ = false;  // middle_ does not match panes_
};

extern template class WindowFold<float>;
extern template class WindowFold<double>;

}  // namespace tocsin::stream
