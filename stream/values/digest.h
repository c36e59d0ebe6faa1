#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <xxhash.h>

#include "stream/values/time.h"

namespace tocsin::stream {

// A running hash over the results of a subject's ticks: each step is the xxh3 of the new bytes, seeded with the digest
// so far. So the state is one number, which a snapshot can hold.
class Digest {
 public:
  void add(const void* data, std::size_t size) noexcept { value_ = XXH3_64bits_withSeed(data, size, value_); }
  void add(std::string_view text) noexcept { add(text.data(), text.size()); }
  void add(std::uint64_t number) noexcept { add(&number, sizeof number); }
  void add(Time time) noexcept { add(static_cast<std::uint64_t>(nanoseconds(time))); }
  template <class T>
  void add_all(std::span<const T> values) noexcept {
    add(values.data(), values.size_bytes());
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  void restore(std::uint64_t value) noexcept { value_ = value; }

 private:
  std::uint64_t value_ = 0;
};

[[nodiscard]] inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace tocsin::stream
