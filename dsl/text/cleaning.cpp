#include "dsl/text/cleaning.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "stream/values/utf8.h"

namespace tocsin::dsl::text {
namespace {

// The length of the control sequence that begins with ESC here.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return 1;
  if (text[1] == '[') {  // CSI: parameters, then one byte from @ to ~
    std::size_t i = 2;
    while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x3F) ++i;
    return i < text.size() && text[i] >= 0x40 && text[i] <= 0x7E ? i + 1 : i;
  }
  if (text[1] == ']') {  // OSC: up to BEL or ESC \.
    for (std::size_t i = 2; i < text.size() && i < 512; ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b') return i + 1 < text.size() && text[i + 1] == '\\' ? i + 2 : i;
    }
    return 2;
  }
  return 2;
}

}  // namespace

bool has_controls(std::string_view text) noexcept {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c) < ' ' && c != '\t';
  return any != 0;
}

std::size_t split_pieces(std::string_view line, std::vector<std::string_view>& pieces) {
  pieces.clear();
  std::size_t dropped = 0;
  // From the end: the last pieces are what a terminal shows.
  while (!line.empty()) {
    const std::size_t at = line.find_last_of("\r\b");
    const std::string_view piece = at == line.npos ? line : line.substr(at + 1);
    if (!blank(piece)) {
      if (pieces.size() < most_pieces) pieces.push_back(piece);
      else ++dropped;
    }
    line = at == line.npos ? std::string_view{} : line.substr(0, at);
  }
  for (std::size_t i = 0, j = pieces.size(); i + 1 < j; ++i) std::swap(pieces[i], pieces[--j]);
  return dropped;
}

namespace {

// Where the bracket that opens at `from` closes; values of a bar may have brackets of their own. Where they do not
// match, the first one.
std::size_t end_of_bracket(std::string_view text, std::size_t from) noexcept {
  int open = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (text[at] == '[') ++open;
    if (text[at] == ']' && --open == 0) return at;
  }
  return text.find(']', from);
}

}  // namespace

std::size_t end_of_bar(std::string_view text) noexcept {
  std::size_t at = text.find("%|");
  if (at != text.npos) at = text.find('|', at + 2);
  if (at != text.npos) at = text.find('[', at);
  if (at != text.npos) at = end_of_bracket(text, at);
  if (at == text.npos || at + 1 == text.size()) return text.size();
  const char next = text[at + 1];
  const bool begins = next == '[' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
  return begins ? at + 1 : text.size();
}

std::string_view without_utf16(std::string_view text, std::string& buffer) {
  if (text.empty() || !std::memchr(text.data(), '\0', text.size())) return text;
  const auto nuls = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\0'));
  if (nuls * 5 < text.size() * 2) return text;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) text.remove_prefix(2);
  buffer.clear();
  std::remove_copy(text.begin(), text.end(), std::back_inserter(buffer), '\0');
  return buffer;
}

std::string_view without_colours(std::string_view text, std::string& buffer) {
  const void* escape = text.empty() ? nullptr : std::memchr(text.data(), '\x1b', text.size());
  if (!escape) return text;
  buffer.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      i += sequence_length(text.substr(i));
    } else {
      buffer.push_back(text[i++]);
    }
  }
  return buffer;
}

std::string presentable(std::string_view text, std::size_t limit) {
  while (!text.empty() && blank(text.substr(0, 1))) text.remove_prefix(1);
  while (!text.empty() && blank(text.substr(text.size() - 1))) text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() < limit ? text.size() : limit);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = stream::utf8_length(text.substr(i));
    if (out.size() + (size ? size : 1) > limit) break;
    if (size == 0) {
      out.push_back('?');
      ++i;
    } else if (size == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F)) {
      out.push_back(' ');
      ++i;
    } else {
      out.append(text.substr(i, size));
      i += size;
    }
  }
  return out;
}

}  // namespace tocsin::dsl::text
