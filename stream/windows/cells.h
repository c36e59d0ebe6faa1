#pragma once

#include <cstddef>
#include <span>

#include "stream/topology/topology.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// What a few members wrote at one time: of each, a value of each of several signals, by their places. Lasts as long as
// the message.
struct Cells {
  static constexpr std::size_t most_members = 32;

  const float* narrow;  // of the first member; null: the values are doubles
  const double* wide;
  std::size_t width;  // to the next member's
  Time time;
  std::span<const Slot> slots;
  bool in_a_row;  // each slot is the one before and 1
};

}  // namespace tocsin::stream
