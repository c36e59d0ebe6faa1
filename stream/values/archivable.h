#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "stream/values/time.h"

// What a field of a section can hold: stream/values/archive.h.
namespace tocsin::stream {

static_assert(std::endian::native == std::endian::little);

using Tag = std::uint16_t;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Time> || std::is_same_v<T, Duration>;
// The elements of an array, stored as they are in memory. A struct must not have padding, and can gain members at its
// end: the size of an element is stored, too.
template <class T>
concept Packable = !std::is_same_v<T, bool> &&
                   (Number<T> || (std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>));
template <class T>
concept Text = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept Range = !Text<T> && requires(const T& range) {
  std::begin(range);
  std::end(range);
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_variant = requires {
  std::variant_size<T>::value;
};
template <class T>
using ElementOf = std::remove_cvref_t<decltype(*std::begin(std::declval<T&>()))>;
inline constexpr Tag element_tag = 1;  // of each element of a list

// Whether a stored number can be a value: a time leaves room for sums with durations, and enumerations that index
// tables say which is their greatest.
[[nodiscard]] constexpr bool is_possible(Duration duration) noexcept {
  constexpr Duration most{std::int64_t{3} << 61};
  return duration >= -most && duration <= most;
}
[[nodiscard]] constexpr bool is_possible(Time time) noexcept {
  return time == never || time == long_ago || is_possible(time.time_since_epoch());
}
template <class E>
requires requires(E value) { greatest(value); }
[[nodiscard]] constexpr bool is_possible(E value) noexcept { return value <= greatest(value); }

}  // namespace tocsin::stream
