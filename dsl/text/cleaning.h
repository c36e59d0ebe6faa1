#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::dsl::text {

inline constexpr std::size_t longest_line = 64 * 1024;
inline constexpr std::size_t most_pieces = 64;

// Whether the text has control characters other than tabs. Most lines have none: they need no split_pieces(),
// without_utf16() or without_colours().
[[nodiscard]] bool has_controls(std::string_view text) noexcept;

// The parts of a line between carriage returns or runs of backspaces, as progress bars overwrite themselves: those that
// are not blank, at most the last `most_pieces`. Returns how many were dropped.
std::size_t split_pieces(std::string_view line, std::vector<std::string_view>& pieces);

// A line of a file in UTF-16, by its NULs, in one byte a character: a view of `text` if it is none, else of `buffer`.
// What is beyond Latin-1 is lost. Lines are cut at the byte of a line break, so that the halves of pairs may be
// shifted.
[[nodiscard]] std::string_view without_utf16(std::string_view text, std::string& buffer);

// Where a progress bar ends that the program did not end with a line break before it, or another process, wrote on:
// " 5%|#  | 20/400 [00:02<00:39, 9.5it/s][rank1]: Traceback …". text.size() if nothing follows, or this is no bar.
[[nodiscard]] std::size_t end_of_bar(std::string_view text) noexcept;

// The text without the terminal's control sequences: a view of `text` if it has none, else of `buffer`.
[[nodiscard]] std::string_view without_colours(std::string_view text, std::string& buffer);

// A text for an alert: at most `limit` bytes, blanks trimmed, controls and invalid UTF-8 replaced.
[[nodiscard]] std::string presentable(std::string_view text, std::size_t limit = 512);

[[nodiscard]] inline bool blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\v\f") == text.npos;
}

}  // namespace tocsin::dsl::text
