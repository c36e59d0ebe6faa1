#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "stream/values/record.h"

// What the fields of an event hold.
namespace tocsin::stream {

// As text, whatever it is; empty: there is no such field.
inline std::string text_of(const EventRecord& event, std::string_view field) {
  for (const auto& f : event.fields) {
    if (f.name != field) continue;
    if (const auto* text = std::get_if<std::string_view>(&f.value)) return std::string{*text};
    const double number = std::get<double>(f.value);
    return number == std::floor(number) && std::fabs(number) < 1e15 ? std::to_string(static_cast<std::int64_t>(number))
                                                                    : std::to_string(number);
  }
  return {};
}

// Producers write numbers as texts, too: "79".
inline std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

inline std::optional<double> number_of(const EventRecord& event, std::string_view field) {
  for (const auto& f : event.fields)
    if (f.name == field)
      if (const auto* number = std::get_if<double>(&f.value)) return *number;
  return std::nullopt;
}

}  // namespace tocsin::stream
