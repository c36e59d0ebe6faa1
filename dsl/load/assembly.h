#pragma once

#include "dsl/load/collection.h"

namespace tocsin::dsl {

// Turns the declarations of files into a pack whose rules have their heads: applies tunes, builds the tables of signals
// and coordinates, expands findings, computes settle and depths, and detects cycles. Tracing adds the rest.
void assemble(Collection& collection, stream::Pack& pack);

}  // namespace tocsin::dsl
