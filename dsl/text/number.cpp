#include "dsl/text/number.h"

#include <array>
#include <charconv>
#include <limits>

#include "stream/values/value.h"

namespace tocsin::dsl::text {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool begins_caseless(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (lower(text[i]) != word[i]) return false;
  return true;
}

std::size_t exponent_length(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return 0;
  std::size_t i = 1;
  if (text[i] == '+' || text[i] == '-') ++i;
  const std::size_t digits = i;
  while (i < text.size() && digit(text[i])) ++i;
  return i > digits ? i : 0;
}

}  // namespace

std::size_t integer_length(std::string_view text) noexcept {
  std::size_t run = 0;
  while (run < text.size() && digit(text[run])) ++run;
  if (run == 0 || run > 3) return run;
  std::size_t end = run;
  auto group = [&](std::size_t at) {
    return at + 3 < text.size() && text[at] == ',' && digit(text[at + 1]) && digit(text[at + 2]) && digit(text[at + 3]);
  };
  while (end < text.size() && group(end)) end += 4;
  return end;
}

std::size_t number_length(std::string_view text) noexcept {
  std::size_t sign = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) sign = 1;
  const std::string_view rest = text.substr(sign);
  if (rest.empty()) return 0;
  if (std::size_t i = integer_length(rest)) {
    if (i < rest.size() && rest[i] == '.') {
      ++i;
      while (i < rest.size() && digit(rest[i])) ++i;
    }
    i += exponent_length(rest.substr(i));
    return sign + i;
  }
  if (rest.size() > 1 && rest[0] == '.' && digit(rest[1])) {
    std::size_t i = 1;
    while (i < rest.size() && digit(rest[i])) ++i;
    i += exponent_length(rest.substr(i));
    return sign + i;
  }
  if (begins_caseless(rest, "nan")) return sign + 3;
  if (rest.substr(0, 3) == "INF") return sign + 3;
  if ((rest[0] == 'i' || rest[0] == 'I') && rest.substr(1, 2) == "nf")
    return sign + (rest.substr(3, 5) == "inity" ? 8 : 3);
  return 0;
}

std::optional<double> number(std::string_view text) noexcept {
  auto outside = [](char c) { return c == ' ' || c == '\'' || c == '"' || c == '\t'; };
  while (!text.empty() && outside(text.front())) text.remove_prefix(1);
  while (!text.empty() && outside(text.back())) text.remove_suffix(1);
  if (text.empty() || text.size() > 63 || number_length(text) != text.size()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (text[0] == '+' || text[0] == '-') text.remove_prefix(1);
  if (lower(text[0]) == 'n') return stream::measured_nan;
  if (lower(text[0]) == 'i') {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  std::array<char, 64> plain;
  std::size_t size = 0;
  for (char c : text)
    if (c != ',') plain[size++] = c;
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + size, value);
  if (error == std::errc::result_out_of_range) {  // 1e999, 1e-999
    const std::string_view written(plain.data(), size);
    value = written.find("e-") != written.npos || written.find("E-") != written.npos
                ? 0.0
                : std::numeric_limits<double>::infinity();
  } else if (error != std::errc{} || end != plain.data() + size) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace tocsin::dsl::text
