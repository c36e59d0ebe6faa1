#include "stream/values/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>

#include "stream/values/value.h"

namespace tocsin::stream {
namespace {

bool plain(std::string_view unit) { return unit == "none" || unit == "ratio"; }

// "a*b/c" as the power of each factor.
using Powers = std::map<std::string, int, std::less<>>;

void take(Powers& powers, std::string_view unit, int sign) {
  int power = sign;
  for (std::size_t begin = 0; begin <= unit.size();) {
    std::size_t end = unit.find_first_of("*/", begin);
    if (end == std::string_view::npos) end = unit.size();
    const std::string_view factor = unit.substr(begin, end - begin);
    if (factor != "1" && factor != "any" && factor != "none") powers[std::string{factor}] += power;
    if (end < unit.size()) power = unit[end] == '/' ? -sign : sign;
    begin = end + 1;
  }
}

std::string written(const Powers& powers) {
  std::string above, below;
  for (const auto& [factor, power] : powers) {
    for (int i = 0; i < power; ++i) above += above.empty() ? factor : "*" + factor;
    for (int i = 0; i > power; --i) below += "/" + factor;
  }
  if (above.empty() && below.empty()) return "none";
  return (above.empty() ? "1" : above) + below;
}

// A unit of a kind: `base` is the kind's own unit, and a value is `many / of` of it. Two whole numbers, because a
// product with 0.001 is not a quotient by 1000.
struct KnownUnit {
  std::string_view name, base;
  double many, of;
};

constexpr double kibi = 1024;
constexpr std::array known_units{
    KnownUnit{"seconds", "seconds", 1, 1},
    KnownUnit{"second", "seconds", 1, 1},
    KnownUnit{"sec", "seconds", 1, 1},
    KnownUnit{"s", "seconds", 1, 1},
    KnownUnit{"ms", "seconds", 1, 1e3},
    KnownUnit{"milliseconds", "seconds", 1, 1e3},
    KnownUnit{"us", "seconds", 1, 1e6},
    KnownUnit{"\u00b5s", "seconds", 1, 1e6},
    KnownUnit{"microseconds", "seconds", 1, 1e6},
    KnownUnit{"ns", "seconds", 1, 1e9},
    KnownUnit{"nanoseconds", "seconds", 1, 1e9},
    KnownUnit{"min", "seconds", 60, 1},
    KnownUnit{"minutes", "seconds", 60, 1},
    KnownUnit{"h", "seconds", 3600, 1},
    KnownUnit{"hours", "seconds", 3600, 1},
    KnownUnit{"bytes", "bytes", 1, 1},
    KnownUnit{"byte", "bytes", 1, 1},
    KnownUnit{"B", "bytes", 1, 1},
    KnownUnit{"KiB", "bytes", kibi, 1},
    KnownUnit{"MiB", "bytes", kibi* kibi, 1},
    KnownUnit{"GiB", "bytes", kibi* kibi* kibi, 1},
    KnownUnit{"TiB", "bytes", kibi* kibi* kibi* kibi, 1},
    KnownUnit{"kB", "bytes", 1e3, 1},
    KnownUnit{"KB", "bytes", 1e3, 1},
    KnownUnit{"MB", "bytes", 1e6, 1},
    KnownUnit{"GB", "bytes", 1e9, 1},
    KnownUnit{"TB", "bytes", 1e12, 1},
    KnownUnit{"ratio", "ratio", 1, 1},
    KnownUnit{"%", "ratio", 1, 100},
    KnownUnit{"percent", "ratio", 1, 100},
    KnownUnit{"MHz", "MHz", 1, 1},
    KnownUnit{"Hz", "MHz", 1, 1e6},
    KnownUnit{"kHz", "MHz", 1, 1e3},
    KnownUnit{"GHz", "MHz", 1e3, 1},
    KnownUnit{"watts", "watts", 1, 1},
    KnownUnit{"watt", "watts", 1, 1},
    KnownUnit{"W", "watts", 1, 1},
    KnownUnit{"mW", "watts", 1, 1e3},
    KnownUnit{"kW", "watts", 1e3, 1},
    KnownUnit{"celsius", "celsius", 1, 1},
    KnownUnit{"\u00b0C", "celsius", 1, 1},
    KnownUnit{"C", "celsius", 1, 1},
    KnownUnit{"count", "count", 1, 1},
    KnownUnit{"none", "none", 1, 1},
    KnownUnit{"1", "none", 1, 1},
};

// An unknown unit is a kind of its own.
KnownUnit known_unit(std::string_view name) noexcept {
  const auto* known =
      std::find_if(known_units.begin(), known_units.end(), [&](const KnownUnit& u) { return u.name == name; });
  return known != known_units.end() ? *known : KnownUnit{name, name, 1, 1};
}

bool of_one_kind(const KnownUnit& a, const KnownUnit& b) noexcept {
  return a.base == b.base || (dimensionless(a.base) && dimensionless(b.base) && (a.base == "none" || b.base == "none"));
}

}  // namespace

bool dimensionless(std::string_view unit) noexcept { return unit == "ratio" || unit == "none" || unit == "count"; }

std::optional<std::string> common_unit(const std::string& a, const std::string& b) {
  if (a == b) return a;
  if (a == "text" || b == "text") return std::nullopt;
  if (a == "any") return b;
  if (b == "any") return a;
  if (dimensionless(a) && dimensionless(b) && (a == "none" || b == "none")) return "none";
  return std::nullopt;
}

std::string unit_product(const std::string& a, const std::string& b) {
  if (a == "any") return b;
  if (b == "any") return a;
  if (a == "ratio" && b == "ratio") return "ratio";
  if (dimensionless(a) && dimensionless(b)) return a == "count" || b == "count" ? "count" : "none";
  if (dimensionless(a)) return b;
  if (dimensionless(b)) return a;
  Powers powers;
  take(powers, a, 1);
  take(powers, b, 1);
  return written(powers);
}

std::string unit_quotient(const std::string& a, const std::string& b) {
  if (b == "any") return a;
  if (a == b) return "none";
  if (plain(b)) return a == "ratio" ? "none" : a;
  Powers powers;
  take(powers, a, 1);
  take(powers, b, -1);
  return written(powers);
}

std::optional<double> unit_factor(std::string_view from, std::string_view to) noexcept {
  if (from == to) return 1;
  double above = 1, below = 1;
  bool divides = false;
  for (;;) {
    const std::size_t from_end = std::min(from.find_first_of("*/"), from.size()),
                      to_end = std::min(to.find_first_of("*/"), to.size());
    const KnownUnit a = known_unit(from.substr(0, from_end)), b = known_unit(to.substr(0, to_end));
    if (!of_one_kind(a, b)) return std::nullopt;
    (divides ? below : above) *= a.many * b.of;
    (divides ? above : below) *= a.of * b.many;
    if (from_end == from.size() || to_end == to.size()) {
      if (from_end != from.size() || to_end != to.size()) return std::nullopt;
      return above / below;
    }
    if (from[from_end] != to[to_end]) return std::nullopt;
    divides = from[from_end] == '/';
    from.remove_prefix(from_end + 1), to.remove_prefix(to_end + 1);
  }
}

namespace {

std::string digits(double value, int precision, const char* sign) {
  std::array<char, 64> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*g%s", precision, value, sign);
  return {buffer.data(), static_cast<std::size_t>(size)};
}

std::string whole(double value, const char* sign) {
  std::array<char, 64> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.0f%s", value, sign);
  return {buffer.data(), static_cast<std::size_t>(size)};
}

constexpr double most_whole = 1e15;  // beyond it a person reads an exponent more easily

// Three digits, and all that stand before the point.
std::string three(double value, const char* sign) {
  return std::fabs(value) >= 999.5 && std::fabs(value) < most_whole ? whole(value, sign) : digits(value, 3, sign);
}

std::string two(std::int64_t large, const char* of_large, std::int64_t small, const char* of_small) {
  return std::to_string(large) + of_large + (small == 0 ? "" : " " + std::to_string(small) + of_small);
}

std::string duration(double seconds) {
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995) return seconds < 0.0009995 ? digits(seconds * 1e6, 3, " µs") : digits(seconds * 1e3, 3, " ms");
  if (seconds < 99.5) return digits(seconds, 3, " s");
  if (seconds > most_whole) return digits(seconds, 3, " s");
  const auto rounded = static_cast<std::int64_t>(std::llround(seconds));
  if (rounded < 600) return two(rounded / 60, " min", rounded % 60, " s");
  const std::int64_t minutes = (rounded + 30) / 60;
  if (minutes < 120) return std::to_string(minutes) + " min";
  if (minutes < 48 * 60) return two(minutes / 60, " h", minutes % 60, " min");
  return two(minutes / 1440, " d", minutes % 1440 / 60, " h");
}

std::string bytes(double value) {
  constexpr std::array<const char*, 6> signs{" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  std::size_t i = 0;
  while (std::fabs(value) >= 999.5 && i + 1 < signs.size()) value /= 1024, ++i;
  return three(value, signs[i]);
}

}  // namespace

std::string quantity_text(double value, std::string_view unit) {
  if (is_absent(value)) return "unknown";
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  value += 0.0;  // one zero
  if (unit == "seconds") return duration(value);
  if (unit == "bytes") return bytes(value);
  if (unit == "bytes/seconds") return bytes(value) + "/s";
  if (unit == "MHz") return digits(std::round(value), 6, " MHz");
  if (unit == "watts") return three(value, " W");
  if (unit == "celsius") return three(value, " °C");
  return std::fabs(value) >= 9999.5 && std::fabs(value) < most_whole ? whole(value, "") : digits(value, 4, "");
}

}  // namespace tocsin::stream
