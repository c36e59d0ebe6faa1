#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tocsin::stream {

// The units of columns, as texts: "ratio", "seconds", "bytes/seconds", "a*b". "any" is the unit of a bare number, which
// takes that of the other operand; "none", "ratio" and "count" have no dimension; "text" is not a number.
[[nodiscard]] bool dimensionless(std::string_view unit) noexcept;

// Of a sum, a comparison, a choice: nullopt if the two units do not match.
[[nodiscard]] std::optional<std::string> common_unit(const std::string& a, const std::string& b);
[[nodiscard]] std::string unit_product(const std::string& a, const std::string& b);
[[nodiscard]] std::string unit_quotient(const std::string& a, const std::string& b);

// The factor from `from` to `to`, if both are of one kind: ms and seconds, KiB and bytes, % and ratio, MiB/s and
// bytes/seconds. nullopt: they are not.
[[nodiscard]] std::optional<double> unit_factor(std::string_view from, std::string_view to) noexcept;

// A number as a person says it: of seconds "240 ms", "45 s", "4 min", "2 h 5 min"; of bytes "110 GiB"; with the sign of
// other units, "1410 MHz"; else four digits.
[[nodiscard]] std::string quantity_text(double value, std::string_view unit);

}  // namespace tocsin::stream
