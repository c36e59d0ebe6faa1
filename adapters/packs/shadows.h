#pragma once

#include <vector>

#include "dsl/lua/problems.h"
#include "stream/ports.h"

namespace tocsin::adapters::packs {

// Warnings about parsers of directories that were added: of two parsers that read the same line, one loses what the
// other makes of it. The line is that which a parser's `about` shows.
[[nodiscard]] std::vector<dsl::Problem> shadows(const dsl::PackFiles& files, const stream::LoadedPack& pack);

}  // namespace tocsin::adapters::packs
