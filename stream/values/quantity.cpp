#include "stream/values/quantity.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "stream/values/value.h"

namespace tocsin::stream {
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
