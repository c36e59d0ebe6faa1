#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"
#include "stream/windows/rows.h"

namespace tocsin::stream {

// Sum and count of ten rows on the epoch grid, per member, without NaN; and what else the pack's reductions ask for.
// Windows that reach further back than raw rows read panes. A pane is complete once its last row has closed, which
// holds at every tick at or after its end. Owned by its signal's History entry.
template <class T>
class Panes {
 public:
  static constexpr int rows_a_pane = 10;
  struct Pane {
    RowNumber number{};
    std::vector<double> sums;
    std::vector<std::uint8_t> counts;  // 0: no number
    struct More {
      std::vector<T> least, greatest;               // only if `extremes` are asked for
      std::vector<std::uint8_t> nans, infinities;   // only if `nonfinite` is asked for
      std::vector<std::vector<std::uint8_t>> hits;  // numbers with a bit of each mask
      static void fields(auto& self, auto& archive) {
        archive(1, self.least), archive(2, self.greatest), archive(3, self.nans), archive(4, self.infinities),
            archive(5, self.hits);
      }
    };
    std::optional<More> more;  // nullopt: the pack asked for nothing of it when the pane began
    [[nodiscard]] double mean(Slot slot) const noexcept {
      return slot < counts.size() && counts[slot] != 0 ? canonical(sums[slot] / static_cast<double>(counts[slot]))
                                                       : absent;
    }
    void save(Writer& out) const;
    void load(Reader& in);
  };
  // What the reductions of the pack need besides sums and counts.
  struct Wants {
    bool extremes = false, nonfinite = false;
    std::vector<double> masks;  // of fractions
    [[nodiscard]] bool more() const noexcept { return extremes || nonfinite || !masks.empty(); }
  };

  Panes(RowGrid rows, Duration keep, Wants wants)
      : grid_{rows.length * rows_a_pane}, keep_(keep), wants_(std::move(wants)) {}

  void add(Time row_end, std::span<const T> values);
  // Continues another pack's panes; what it did not count is missing in them.
  void adopt(Panes& old);
  [[nodiscard]] const RowGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const std::vector<CopyOnWrite<Pane>>& all() const noexcept { return panes_; }
  [[nodiscard]] const std::vector<double>& masks() const noexcept { return wants_.masks; }
  [[nodiscard]] std::size_t after(RowNumber number) const noexcept;
  [[nodiscard]] RowNumber dropped_through() const noexcept { return dropped_through_; }
  void drop_through(RowNumber number);

  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;

 private:
  void add_more(typename Pane::More& more, std::span<const T> values, bool fresh);
  RowGrid grid_;
  Duration keep_;
  Wants wants_;
  RowNumber dropped_through_ = std::numeric_limits<RowNumber>::min();
  std::vector<CopyOnWrite<Pane>> panes_;  // ascending, few hundreds; panes without any row are not stored
};

extern template class Panes<float>;
extern template class Panes<double>;

}  // namespace tocsin::stream
