#include "adapters/formats/json_text.h"

#include <charconv>

#include "stream/values/utf8.h"

namespace tocsin::adapters::formats {
void put_text(std::string& out, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = stream::utf8_length(text);
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
    const std::size_t length = stream::utf8_length(text);
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
