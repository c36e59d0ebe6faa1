#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream/rules/pack.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::dsl {

// "30s", "10m", "1.5h", "2d".
[[nodiscard]] std::optional<stream::Duration> duration_named(std::string_view text);
// What to write for a text that was meant as a duration: write "10m" (s, m, h, d).
[[nodiscard]] std::string duration_remedy(std::string_view text);
// What to write for a text that was meant as a number: "1.5", "30%", "80GiB", "200ms".
[[nodiscard]] std::string number_remedy(std::string_view text);
// "4 of 6", "for 60s", "4 of 6 for 60s".
[[nodiscard]] stream::Result<stream::Persistence> persistence_named(std::string_view text);
[[nodiscard]] std::string shown(double value);
// As a rule writes them: "30s", "4 of 6 for 60s".
[[nodiscard]] std::string shown(stream::Duration duration);
[[nodiscard]] std::string shown(const stream::Persistence& persistence);

}  // namespace tocsin::dsl
