#include "dsl/lua/durations.h"

#include <charconv>
#include <cmath>

#include "dsl/text/number.h"

namespace tocsin::dsl {
namespace {

using namespace std::chrono_literals;
using text::digit;

std::optional<stream::Duration> unit_named(char unit) {
  switch (unit) {
    case 's': return 1s;
    case 'm': return 1min;
    case 'h': return 1h;
    case 'd': return 24h;
    default: return std::nullopt;
  }
}

std::optional<std::uint32_t> whole(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<stream::Duration> duration_named(std::string_view text) {
  if (text.size() < 2 || text.size() > 20 || !digit(text[0])) return std::nullopt;
  const auto unit = unit_named(text.back());
  const std::string_view number = text.substr(0, text.size() - 1);
  double value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  if (!unit || error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  const double ns = value * static_cast<double>(unit->count());
  if (ns > 9e18 / 4) return std::nullopt;  // about 70 years
  return stream::Duration{static_cast<std::int64_t>(std::llround(ns))};
}

std::string duration_remedy(std::string_view text) {
  std::string number;
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  while (at < text.size() && (digit(text[at]) || text[at] == '.')) number += text[at++];
  while (at < text.size() && text[at] == ' ') ++at;
  const bool known = !number.empty() && number.size() < 12 && at < text.size() && unit_named(text[at]) &&
                     !text.substr(at).starts_with("ms");
  return "write \"" + (known ? number + text[at] : "10m") + "\" (s, m, h, d)";
}

std::string number_remedy(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const std::string number{text.data(), end};
  if (error != std::errc{}) return "texts are compared with :is(…)";
  if (unit.empty()) return "write " + number + " without quotes";
  if (unit == "%") return "a share of one is a number: write " + shown(value / 100);
  if (unit == "ms") return "write \"" + shown(value / 1000) + "s\"";
  constexpr std::string_view bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  for (std::size_t i = 0; i < std::size(bytes); ++i)
    if (unit == bytes[i] || (i > 0 && unit == std::string{bytes[i].front()} + "B"))
      return "bytes are a number: write " + number + (i > 0 ? " * 2^" + std::to_string(10 * i) : "");
  return duration_remedy(text);
}

stream::Result<stream::Persistence> persistence_named(std::string_view text) {
  stream::Persistence result;
  const auto wrong = [&] {
    return stream::Error{stream::Errc::refused,
                         "\"" + std::string{text.substr(0, 60)} +
                             "\": write \"4 of 6\" (evaluations), \"for 60s\", or both: \"4 of 6 for 60s\""};
  };
  constexpr std::string_view lasting = "for ";
  if (const auto at = text.find(lasting); at == 0 || (at != std::string_view::npos && text[at - 1] == ' ')) {
    const auto span = duration_named(text.substr(at + lasting.size()));
    if (!span) return wrong();
    result.timed = true;
    result.span = *span;
    result.k = result.n = 0;
    if (at == 0) return result;
    text = text.substr(0, at - 1);
  }
  const auto of = text.find(" of ");
  if (of == std::string_view::npos) return wrong();
  const auto k = whole(text.substr(0, of)), n = whole(text.substr(of + 4));
  if (!k || !n) return wrong();
  if (*k < 1 || *k > *n || *n > 1000)
    return stream::Error{stream::Errc::refused,
                         "\"" + std::string{text} + "\": of n evaluations at least 1 and at most n, with n up to 1000"};
  result.k = *k;
  result.n = *n;
  return result;
}

std::string shown(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

std::string shown(stream::Duration duration) { return shown(stream::seconds(duration)) + "s"; }

std::string shown(const stream::Persistence& persistence) {
  const auto& [timed, k, n, span] = persistence;
  std::string text = n > 0 ? std::to_string(k) + " of " + std::to_string(n) : "";
  if (timed) text += (text.empty() ? "for " : " for ") + shown(span);
  return text;
}

}  // namespace tocsin::dsl
