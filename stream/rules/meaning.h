#pragma once

#include <cstdint>

#include "stream/rules/pack.h"

namespace tocsin::stream {

// What a node of a pack's graph computes, as a hash that holds across packs: of operations, windows, definitions of signals and
// names, never of ids. When a rule freezes a value or how late it looks is no part of it.
[[nodiscard]] std::uint64_t meaning(const Pack& pack, NodeId node);

// The rule's file, parameters and needs are the same: it would do the same again.
[[nodiscard]] bool unchanged(const Pack& before, const Rule& old, const Pack& now, const Rule& rule);

}  // namespace tocsin::stream
