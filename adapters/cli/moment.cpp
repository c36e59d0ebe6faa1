#include "adapters/cli/moment.h"

#include <charconv>
#include <string_view>

#include "adapters/formats/parse_time.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Time;

// 2026-11-21T02:14:43.5Z, and the same as alerts print it: with a blank between date and time, and UTC or nothing
// behind.
std::optional<Time> parse_absolute(std::string text) {
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  for (const std::string_view zone : {" UTC", "UTC"})
    if (text.ends_with(zone)) text.replace(text.size() - zone.size(), zone.size(), "Z");
  if (auto time = formats::parse_time(text)) return time;
  return formats::parse_time(text + "Z");
}

}  // namespace

std::optional<Moment> parse_moment(const std::string& text) {
  if (text.empty() || text == "last") return Moment{};
  if (text[0] == '+') {
    double number = 0;
    const auto [end, wrong] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    const double factor = unit.empty() || unit == "s" ? 1
                          : unit == "m"               ? 60
                          : unit == "h"               ? 3600
                          : unit == "d"               ? 86400
                                                      : 0;
    if (wrong != std::errc{} || factor == 0 || !(number >= 0 && number < 1e9)) return std::nullopt;
    return Moment{{}, stream::from_seconds(number * factor)};
  }
  const auto time = parse_absolute(text);
  if (!time) return std::nullopt;
  return Moment{*time, {}};
}

}  // namespace tocsin::adapters::cli
