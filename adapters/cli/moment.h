#pragma once

#include <optional>
#include <string>

#include "stream/values/time.h"

namespace tocsin::adapters::cli {

inline constexpr const char* moment_forms =
    "write a time (2026-11-21T02:14:43Z), a span after the beginning (+90s, +5m), or last";

// A time of a log as options give it: absolute, a span after the log's beginning, or its end.
struct Moment {
  std::optional<stream::Time> absolute;
  std::optional<stream::Duration> after;
  [[nodiscard]] bool last() const noexcept { return !absolute && !after; }
  [[nodiscard]] stream::Time in_log(stream::Time first) const {
    return absolute ? *absolute : after ? first + *after : stream::never;
  }
};
// Empty text: last. nullopt: it is none of moment_forms.
[[nodiscard]] std::optional<Moment> parse_moment(const std::string& text);

}  // namespace tocsin::adapters::cli
