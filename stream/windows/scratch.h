#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/value.h"
#include "stream/windows/single_cells.h"

namespace tocsin::stream {

// Working memory of one series' reduction.
struct SeriesScratch {
  std::vector<double> seconds, values;  // its numbers, with their times
  std::vector<double> part, ordered, slopes;
};

// Working memory of reductions and writes, so that they stop allocating once it is large enough. Its content is
// meaningless between two of them. Owned by a History, which does one after the other.
struct ReductionScratch {
  SeriesScratch series;
  std::vector<double> times, values;  // of one member's series
  std::vector<double> times_of_rows, block;
  std::vector<double> result, squares;  // by slot
  std::vector<std::uint64_t> counts;
  std::vector<Slot> slots;
  struct Edge {  // the first or last number of a member, and its row
    double value = absent;
    std::size_t row = 0;
  };
  std::vector<Edge> firsts, lasts;
  SingleCells singles;
};

}  // namespace tocsin::stream
