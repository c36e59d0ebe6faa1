#pragma once

#include "stream/rules/alert.h"
#include "stream/topology/topology.h"

namespace tocsin::stream {

// How members are named, and which contains which.

// The container of a slot at a coarser level (itself at the same); no_slot if it has none.
[[nodiscard]] Slot containing_slot(const Topology& topology, Level level, Slot slot, Level coarser);
// Whether one contains the other, or they are the same.
[[nodiscard]] bool overlap(const Topology& topology, Level a, Slot slot_a, Level b, Slot slot_b);
// A member with what contains it, in owned strings.
[[nodiscard]] NamedMember named_member(const Topology& topology, Level level, Slot slot);

}  // namespace tocsin::stream
