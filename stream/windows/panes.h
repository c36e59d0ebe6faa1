#pragma once

#include <deque>
#include <span>
#include <vector>

#include "stream/values/archive.h"
#include "stream/windows/rows.h"

namespace tocsin::stream {

// Sum, count, minimum and maximum of ten rows on the epoch grid, per member, without NaN. Windows that reach further
// back than raw rows read panes. A pane is complete once its last row has closed, which holds at every tick at or after
// its end. Owned by its signal's History entry.
template <class T>
class Panes {
 public:
  static constexpr int rows_a_pane = 10;
  struct Pane {
    RowNumber number{};
    std::vector<double> sums;
    std::vector<T> least, greatest;
    std::vector<std::uint16_t> counts;             // 0: no number
    std::vector<std::uint16_t> nans, infinities;   // only if `nonfinite` is asked for
    std::vector<std::vector<std::uint16_t>> hits;  // numbers with a bit of each mask
    [[nodiscard]] double mean(Slot slot) const noexcept {
      return slot < counts.size() && counts[slot] != 0 ? canonical(sums[slot] / static_cast<double>(counts[slot]))
                                                       : absent;
    }
    static void fields(auto& self, auto& archive) {
      archive(1, self.number), archive(2, self.sums), archive(3, self.least), archive(4, self.greatest),
          archive(5, self.counts);
      archive(6, self.nans), archive(7, self.infinities), archive(8, self.hits);
    }
  };

  // `masks` are those of the fractions that are asked for.
  Panes(RowGrid rows, Duration keep, bool nonfinite, std::vector<double> masks)
      : grid_{rows.length * rows_a_pane}, keep_(keep), nonfinite_(nonfinite), masks_(std::move(masks)) {}

  void add(Time row_end, std::span<const T> values);
  // Continues another pack's panes; what it did not count is missing in them.
  void adopt(Panes& old);
  [[nodiscard]] const RowGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const std::deque<Pane>& all() const noexcept { return panes_; }
  [[nodiscard]] const std::vector<double>& masks() const noexcept { return masks_; }
  [[nodiscard]] std::size_t after(RowNumber number) const noexcept;
  [[nodiscard]] RowNumber dropped_through() const noexcept { return dropped_through_; }
  void drop_through(RowNumber number);

  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  RowGrid grid_;
  Duration keep_;
  bool nonfinite_;
  std::vector<double> masks_;
  RowNumber dropped_through_ = std::numeric_limits<RowNumber>::min();
  std::deque<Pane> panes_;  // ascending; panes without any row are not stored
};

extern template class Panes<float>;
extern template class Panes<double>;

}  // namespace tocsin::stream
