#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace tocsin::stream {

// A number in a column. Absence has its own bit pattern among the NaNs; every other NaN is measured (or computed) and
// is kept as `measured_nan`. Rows of gauges are kept as float: the patterns survive the conversion both ways.
inline constexpr std::uint32_t absent_bits_float = 0x7FEB5E17u;
inline constexpr std::uint64_t absent_bits = 0x7FFD6BC2E0000000ull;
inline constexpr float absent_float = std::bit_cast<float>(absent_bits_float);
inline constexpr double absent = std::bit_cast<double>(absent_bits);
template <class T>
constexpr T absent_of = T{};
template <>
inline constexpr float absent_of<float> = absent_float;
template <>
inline constexpr double absent_of<double> = absent;
inline constexpr double measured_nan = std::bit_cast<double>(0x7FF8000000000000ull);

[[nodiscard]] constexpr bool is_absent(double x) noexcept { return std::bit_cast<std::uint64_t>(x) == absent_bits; }
[[nodiscard]] constexpr bool is_absent(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) == absent_bits_float;
}
[[nodiscard]] constexpr bool is_nan(double x) noexcept { return x != x; }     // includes absent
[[nodiscard]] constexpr bool is_number(double x) noexcept { return x == x; }  // known, and not NaN
[[nodiscard]] constexpr double canonical(double x) noexcept { return is_number(x) || is_absent(x) ? x : measured_nan; }

// Kleene's three values. In this order `and` is the smaller, `or` the larger, `not` the distance from yes.
enum class Truth : std::uint8_t { no = 0, unknown = 1, yes = 2 };

[[nodiscard]] constexpr Truth operator&(Truth a, Truth b) noexcept { return a < b ? a : b; }
[[nodiscard]] constexpr Truth operator|(Truth a, Truth b) noexcept { return a < b ? b : a; }
[[nodiscard]] constexpr Truth operator~(Truth a) noexcept { return static_cast<Truth>(2 - static_cast<int>(a)); }
[[nodiscard]] constexpr std::string_view name(Truth truth) noexcept {
  return truth == Truth::yes ? "yes" : truth == Truth::no ? "no" : "unknown";
}
[[nodiscard]] constexpr Truth truth(bool b) noexcept { return b ? Truth::yes : Truth::no; }

[[nodiscard]] constexpr Truth greatest(Truth) noexcept { return Truth::yes; }

// One value per member of a level, in the order of the level's slots.
using Column = std::span<const double>;
using Mask = std::span<const Truth>;

// Writes a column in which all members but the first share one value: only the first two values are stored. False: the
// column has at most two values and is stored in full.
inline bool is_constant(std::span<double> out, double first, double others) {
  if (out.empty()) return false;
  std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(out.size(), 2)), others);
  out[0] = first;
  return out.size() > 2;
}

}  // namespace tocsin::stream
