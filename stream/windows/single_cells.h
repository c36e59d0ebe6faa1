#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/windows/cells.h"
#include "stream/windows/row_grid.h"

namespace tocsin::stream {

// Cells of one member each, arranged for the rows that they are written into: those of a row side by side, ascending by
// member. Rows take cells in any order. Lasts as long as the messages.
class SingleCells {
 public:
  struct InRow {
    Time time;  // of one of them
    std::size_t first, count;
  };

  // False, and nothing is taken: not all have one member and floats.
  bool take(std::span<const Cells> cells);
  // For rows of this grid.
  void arrange(const RowGrid& grid);
  [[nodiscard]] std::span<const InRow> rows() const noexcept { return rows_; }
  // Side by side: where each one's values begin, its member, and its time within the row.
  [[nodiscard]] const float* const* values() const noexcept { return values_.data(); }
  [[nodiscard]] const Slot* slots() const noexcept { return slots_.data(); }
  [[nodiscard]] const std::uint32_t* offsets() const noexcept { return offsets_.data(); }

 private:
  struct Cell {
    RowNumber row;
    Time time;
    const float* values;
    Slot slot;
  };
  std::vector<Cell> cells_;
  Duration length_{};  // of the rows that they are arranged for; 0: none
  std::vector<InRow> rows_;
  std::vector<const float*> values_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> offsets_;
};

}  // namespace tocsin::stream
