#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream/values/time.h"

namespace tocsin::adapters::formats {

// RFC 3339, with a comma before the fraction and a zone +0100 or +01 too, as many programs write them; or a number of
// seconds, milliseconds, microseconds or nanoseconds since 1970, by its size. Beyond 1678 to 2262 there is no time.
[[nodiscard]] std::optional<stream::Time> parse_time(std::string_view text);
[[nodiscard]] std::optional<stream::Time> parse_time(std::int64_t number);
[[nodiscard]] std::optional<stream::Time> parse_time(double number);

// RFC 3339 in UTC, with so many digits behind the second: rounded down.
[[nodiscard]] std::string rfc3339(stream::Time time, std::size_t digits);

}  // namespace tocsin::adapters::formats
