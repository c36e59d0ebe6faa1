#pragma once

#include <string>
#include <string_view>

namespace tocsin::adapters::formats {

// A text of a job, a rule or an argument for a terminal, on one line: control characters, also those of Unicode that
// turn the direction of writing, become visible (\x1b, \u202e), and what is no UTF-8 becomes U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);
// The same of each line of a text; the last one is ended, too.
[[nodiscard]] std::string printable_lines(std::string_view text);
// As one word of a shell's command line, quoted where it must be.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace tocsin::adapters::formats
