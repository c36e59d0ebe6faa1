#pragma once

#include <string>

#include "stream/rules/pack.h"

namespace tocsin::dsl {

// Every word of the language with its meaning, as Markdown: from the table of operations.
[[nodiscard]] std::string reference();

// The same for editors: annotations for the Lua language server, so that words complete and parameters are shown.
[[nodiscard]] std::string editor_stubs();

// The rules of a pack with their parameters and defaults, and its signals, as Markdown.
[[nodiscard]] std::string reference_of(const stream::Pack& pack);

}  // namespace tocsin::dsl
