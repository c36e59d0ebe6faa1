#pragma once

#include <cstddef>
#include <vector>

namespace tocsin::stream {

// Brings an object into the cache before it is used, with others: then they do not wait for memory one after the other.
// Inlined always, as GCC drops calls of functions that do nothing else.
template <class T>
[[gnu::always_inline]] inline void prefetch_object(const T& object) noexcept {
  constexpr std::size_t line = 64;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&object);
  for (std::size_t at = 0; at < sizeof object; at += line) __builtin_prefetch(bytes + at);
  __builtin_prefetch(bytes + sizeof object - 1);
}

// The same for all values of a vector.
template <class T>
[[gnu::always_inline]] inline void prefetch_all(const std::vector<T>& values) noexcept {
  constexpr std::size_t line = 64;
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  for (std::size_t at = 0; at < values.size() * sizeof(T); at += line) __builtin_prefetch(bytes + at);
}

}  // namespace tocsin::stream
