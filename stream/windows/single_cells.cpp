#include "stream/windows/single_cells.h"

#include <algorithm>
#include <tuple>

namespace tocsin::stream {

bool SingleCells::take(std::span<const Cells> cells) {
  cells_.clear(), length_ = {};
  for (const Cells& one : cells) {
    if (one.narrow == nullptr || one.slots.size() != 1) return false;
    cells_.push_back({0, one.time, one.narrow, one.slots.front()});
  }
  return true;
}

void SingleCells::arrange(const RowGrid& grid) {
  if (length_ == grid.length) return;
  length_ = grid.length;
  Time begin{}, end{};  // of the row before
  RowNumber row = 0;
  const std::int64_t unit = grid.unit();
  for (Cell& cell : cells_) {
    if (cell.time <= begin || cell.time > end) {
      row = grid.number(cell.time);
      end = grid.end(row), begin = end - grid.length;
    }
    cell.row = row;
  }
  const auto order = [](const Cell& cell) { return std::tuple{cell.row, cell.slot}; };
  if (!std::ranges::is_sorted(cells_, {}, order)) std::ranges::sort(cells_, {}, order);
  rows_.clear(), values_.clear(), slots_.clear(), offsets_.clear();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if (i == 0 || cell.row != cells_[i - 1].row) {
      rows_.push_back({cell.time, i, 0});
      begin = grid.end(cell.row) - grid.length;
    }
    ++rows_.back().count;
    values_.push_back(cell.values), slots_.push_back(cell.slot);
    offsets_.push_back(RowGrid::offset(begin, cell.time, unit));
  }
}

}  // namespace tocsin::stream
