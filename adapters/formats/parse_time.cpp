#include "adapters/formats/parse_time.h"

#include <fmt/chrono.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>

namespace tocsin::adapters::formats {

using stream::Time;

std::optional<Time> parse_time(std::int64_t number) {
  const std::int64_t magnitude = number < 0 ? -(number + 1) : number;
  const std::int64_t unit = magnitude < 100'000'000'000           ? 1'000'000'000
                            : magnitude < 100'000'000'000'000     ? 1'000'000
                            : magnitude < 100'000'000'000'000'000 ? 1'000
                                                                  : 1;
  std::int64_t nanoseconds = 0;
  if (__builtin_mul_overflow(number, unit, &nanoseconds)) return std::nullopt;
  return stream::at_nanoseconds(nanoseconds);
}

std::optional<Time> parse_time(double number) {
  if (!(std::abs(number) < 9.2e18)) return std::nullopt;
  if (number == std::floor(number) && std::abs(number) < 9e15) return parse_time(static_cast<std::int64_t>(number));
  const double magnitude = std::abs(number);
  const double unit = magnitude < 1e11 ? 1e9 : magnitude < 1e14 ? 1e6 : magnitude < 1e17 ? 1e3 : 1;
  if (magnitude * unit >= 9.2e18) return std::nullopt;
  // The whole part exactly; of the fraction what a double of that size holds: microseconds.
  const double whole = std::floor(number), fraction = (number - whole) * unit;
  const double rounded = unit > 1e6 ? std::round(fraction / 1e3) * 1e3 : std::round(fraction);
  return stream::at_nanoseconds(static_cast<std::int64_t>(whole) * static_cast<std::int64_t>(unit) +
                                static_cast<std::int64_t>(rounded));
}

std::optional<Time> parse_time(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t length) -> int {
    int value = -1;
    if (at + length > text.size()) return -1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + length, value);
    return error == std::errc{} && end == text.data() + at + length && text[at] != '-' ? value : -1;
  };
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  using namespace std::chrono;
  const int years = number(0, 4), months = number(5, 2), days = number(8, 2);
  const int hours = number(11, 2), minutes = number(14, 2), seconds = number(17, 2);
  if (years < 1700 || years > 2261 || months < 0 || days < 0) return std::nullopt;
  const year_month_day date{year{years}, month{static_cast<unsigned>(months)}, day{static_cast<unsigned>(days)}};
  if (!date.ok() || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60)
    return std::nullopt;
  std::size_t at = 19;
  std::int64_t nanoseconds = 0;
  if (text[at] == '.' || text[at] == ',') {
    std::int64_t digit = 100'000'000;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, digit /= 10)
      nanoseconds += (text[at] - '0') * digit;
    if (at == first) return std::nullopt;
  }
  std::int64_t offset = 0;  // in minutes
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    const bool known = zone.size() == 3 || zone.size() == 5 || (zone.size() == 6 && zone[3] == ':');
    if (!known || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
    const int zone_hours = number(at + 1, 2), zone_minutes = zone.size() == 3 ? 0 : number(at + zone.size() - 2, 2);
    if (zone_hours < 0 || zone_hours > 23 || zone_minutes < 0 || zone_minutes > 59) return std::nullopt;
    offset = (zone[0] == '-' ? -1 : 1) * (zone_hours * 60 + zone_minutes);
  }
  const std::int64_t second = sys_days{date}.time_since_epoch().count() * std::int64_t{86400} + hours * 3600 +
                              minutes * 60 + seconds - offset * 60;
  return stream::at_nanoseconds(second * 1'000'000'000 + nanoseconds);
}

std::string rfc3339(Time time, std::size_t digits) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t since_1970 = second.time_since_epoch().count();
  std::string text = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(since_1970));
  if (digits > 0) text += fmt::format(".{:09}", (time - second).count()).substr(0, digits + 1);
  return text + 'Z';
}

}  // namespace tocsin::adapters::formats
