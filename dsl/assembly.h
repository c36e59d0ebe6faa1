#pragma once

#include "dsl/collection.h"

namespace tocsin::dsl {

// From what the files say to a pack whose rules have their heads: tunes applied, signals and coordinates in their table, findings
// expanded, settle and depths known, circles found. Tracing fills the rest.
void assemble(Collection& collection, stream::Pack& pack);

// The rules in the order within one tick, once depths are known.
[[nodiscard]] std::vector<stream::RuleIndex> tick_order(const stream::Pack& pack);

}  // namespace tocsin::dsl
