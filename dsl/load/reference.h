#pragma once

#include <string>

namespace tocsin::dsl {

// Every word of the language with its meaning, as Markdown: from the table of operations.
[[nodiscard]] std::string reference();

// The same for editors: annotations for the Lua language server, so that words complete and parameters are shown.
[[nodiscard]] std::string editor_stubs();

}  // namespace tocsin::dsl
