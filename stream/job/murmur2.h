#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tocsin::stream {

// The hash by which Kafka's Java client chooses a key's partition (org.apache.kafka.common.utils.Utils.murmur2),
// without its sign bit.
[[nodiscard]] constexpr std::uint32_t murmur2(std::string_view key) noexcept {
  constexpr std::uint32_t m = 0x5bd1e995;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(key[i])); };
  auto h = 0x9747b28cu ^ static_cast<std::uint32_t>(key.size());
  std::size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) {
    std::uint32_t k = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
    k *= m, k ^= k >> 24, k *= m;
    h = h * m ^ k;
  }
  switch (key.size() - i) {
    case 3: h ^= byte(i + 2) << 16; [[fallthrough]];
    case 2: h ^= byte(i + 1) << 8; [[fallthrough]];
    case 1: h = (h ^ byte(i)) * m; break;
    default: break;
  }
  h ^= h >> 13, h *= m, h ^= h >> 15;
  return h & 0x7fffffffu;
}

// Of so many, the partition whose records have this key.
[[nodiscard]] constexpr int partition_of(std::string_view key, int partitions) noexcept {
  return static_cast<int>(murmur2(key) % static_cast<std::uint32_t>(partitions));
}

}  // namespace tocsin::stream
