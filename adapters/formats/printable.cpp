#include "adapters/formats/printable.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "stream/values/utf8.h"

namespace tocsin::adapters::formats {
namespace {

std::string escaped(const char* form, unsigned code) {
  std::array<char, 12> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), form, code);
  return {buffer.data(), static_cast<std::size_t>(size)};
}

// Of valid UTF-8, the character at `at`.
unsigned character(std::string_view text, std::size_t at, std::size_t& size) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned code = size == 1 ? first : first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return code;
}

}  // namespace

std::string printable(std::string_view text) {
  const std::string valid = stream::as_utf8(text);
  std::string out;
  std::size_t size = 1;
  for (std::size_t at = 0; at < valid.size(); at += size) {
    const unsigned code = character(valid, at, size);
    const bool directs =
        (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F;
    if (code == '\n' || code == '\t') out += ' ';
    else if (code < 0x20 || (code >= 0x7F && code < 0xA0)) out += escaped("\\x%02x", code);
    else if (directs || code == 0x2028 || code == 0x2029) out += escaped("\\u%04x", code);
    else out.append(valid, at, size);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"_-./:+@%,="}.find(c) != std::string_view::npos;
  };
  if (!text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), plain)) return std::string{text};
  const bool control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  std::string out = control ? "$'" : "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (control && (byte < 0x20 || byte == 0x7F)) out += escaped("\\x%02x", byte);
    else if (control && (c == '\'' || c == '\\')) out += std::string{'\\', c};
    else if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

}  // namespace tocsin::adapters::formats
