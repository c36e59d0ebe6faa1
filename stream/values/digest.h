#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// One step of a digest, of values that are given one after the other. Few bytes are gathered, as each call of the hash
// costs as much as 30 bytes do.
class DigestStep {
 public:
  explicit DigestStep(Digest& digest) noexcept : digest_(&digest) {}
  DigestStep(const DigestStep&) = delete;
  DigestStep& operator=(const DigestStep&) = delete;
  ~DigestStep() { flush(); }

  void add(std::uint64_t number) noexcept { add_all<std::uint64_t>({&number, 1}); }
  template <class T>
  void add_all(std::span<const T> values) noexcept {
    const std::size_t bytes = values.size_bytes();
    if (bytes > gathered_.size() - used_) {
      flush();
      if (bytes > gathered_.size()) return digest_->add_all(values);
    }
    if (bytes != 0) std::memcpy(gathered_.data() + used_, values.data(), bytes);
    used_ += bytes;
  }
  void flush() noexcept {
    if (used_ != 0) digest_->add(gathered_.data(), used_);
    used_ = 0;
  }

 private:
  Digest* digest_;
  std::size_t used_ = 0;
  std::array<std::byte, 1024> gathered_;
};

[[nodiscard]] inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace tocsin::stream
