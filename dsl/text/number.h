#pragma once

#include <optional>
#include <string_view>

namespace tocsin::dsl::text {

// The expressions for NUM and INT: a number as frameworks print it. nan, NaN, inf and Infinity are numbers; thousands
// can be separated by commas.
inline constexpr std::string_view number_expression =
    R"([+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[nN][aA][nN]|[iI]nf(?:inity)?|INF))";
inline constexpr std::string_view integer_expression = R"((?:\d{1,3}(?:,\d{3})+|\d+))";

[[nodiscard]] constexpr bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The value of such a text, without quotes and blanks around it. Nothing: it is not a number.
[[nodiscard]] std::optional<double> number(std::string_view text) noexcept;

// The length of the longest number that `text` begins with, as number_expression matches it; 0: none.
[[nodiscard]] std::size_t number_length(std::string_view text) noexcept;
[[nodiscard]] std::size_t integer_length(std::string_view text) noexcept;

}  // namespace tocsin::dsl::text
