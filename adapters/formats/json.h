#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// How all JSON of the program is written: one line, keys in the order in which they were added.
namespace tocsin::adapters::formats {

using Json = nlohmann::ordered_json;

// "NaN", "inf" and "-inf" are texts, as JSON has no such numbers; a whole number has no fraction, but -0 has, as it
// would lose its sign.
[[nodiscard]] inline Json json_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  constexpr double most = 1e15;  // exact in a double
  const bool minus_zero = number == 0 && std::signbit(number);
  if (std::abs(number) < most && number == std::trunc(number) && !minus_zero) return static_cast<std::int64_t>(number);
  return number;
}
// A text that is empty is left out.
inline void put(Json& out, const char* key, std::string_view text) {
  if (!text.empty()) out[key] = text;
}
// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tocsin::adapters::formats
