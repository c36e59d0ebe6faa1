#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tocsin::stream {

// Finds the enumerator for a name in a table of names that is in the order of the enumerators.
template <class E, std::size_t N>
std::optional<E> find_named(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace tocsin::stream
