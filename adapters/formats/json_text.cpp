#include "adapters/formats/json_text.h"

#include <charconv>

namespace tocsin::adapters::formats {
namespace {

// The length of the UTF-8 character at the front, 0 where there is none: no overlong form, no surrogate, nothing above
// U+10FFFF.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2) || (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3) || (first == 0xF0 && byte(1) < 0x90) ||
        (first == 0xF4 && byte(1) > 0x8F))
      return 0;
    return 4;
  }
  return 0;
}

}  // namespace

void put_text(std::string& out, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = character(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0) out += "\\ufffd";
    else if (first == '"' || first == '\\') (out += '\\') += text.front();
    else if (first == '\n') out += "\\n";
    else if (first == '\t') out += "\\t";
    else if (first == '\r') out += "\\r";
    else if (first < 0x20 || first == 0x7F) ((out += "\\u00") += hex[first >> 4]) += hex[first & 15];
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string as_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    out += length == 0 ? std::string_view{"\uFFFD"} : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void put_number(std::string& out, double number) {
  if (number != number) {
    out += "\"NaN\"";
    return;
  }
  if (number - number != 0) {
    out += number > 0 ? "\"inf\"" : "\"-inf\"";
    return;
  }
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

void put_whole(std::string& out, std::int64_t number) { out += std::to_string(number); }

void put_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{') out += ',';
  put_text(out, key);
  out += ':';
}

}  // namespace tocsin::adapters::formats
