#pragma once

#include <cstdint>

#include "stream/rules/pack.h"

namespace tocsin::stream {

// What a node of a pack's graph computes, as a hash that is stable across packs: of operations, windows, definitions of
// signals and names, never of ids. The times when a rule freezes a value and how late it runs are not part of it.
[[nodiscard]] std::uint64_t meaning(const Pack& pack, NodeId node);

// Whether the rule's file, parameters and needs are the same, so that it computes the same.
[[nodiscard]] bool unchanged(const Pack& before, const Rule& old, const Pack& now, const Rule& rule);

}  // namespace tocsin::stream
