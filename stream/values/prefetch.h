#pragma once

#include <cstddef>
#include <vector>

namespace tocsin::stream {

// Brings memory into the cache before it is used, with other memory: then nothing waits for one line after the other.
// Inlined always, as GCC drops calls of functions that do nothing else.
[[gnu::always_inline]] inline void prefetch_bytes(const void* from, std::size_t size) noexcept {
  constexpr std::size_t line = 64;
  const auto* const bytes = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < size; at += line) __builtin_prefetch(bytes + at);
  __builtin_prefetch(bytes + size - 1);
}
template <class T>
[[gnu::always_inline]] inline void prefetch_object(const T& object) noexcept {
  prefetch_bytes(&object, sizeof object);
}
template <class T>
[[gnu::always_inline]] inline void prefetch_all(const std::vector<T>& values) noexcept {
  if (!values.empty()) prefetch_bytes(values.data(), values.size() * sizeof(T));
}

}  // namespace tocsin::stream
