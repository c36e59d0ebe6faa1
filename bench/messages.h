#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tocsin::bench {

// Messages one behind another, as a broker's answer holds them: where each would have memory of its own, the allocator
// would be measured.
struct Messages {
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of each: where it begins, aligned, and its length

  void clear() { bytes.clear(), places.clear(); }
  void add(std::span<const std::byte> message) {
    bytes.resize((bytes.size() + 15) / 16 * 16);
    places.emplace_back(bytes.size(), message.size());
    bytes.insert(bytes.end(), message.begin(), message.end());
  }
  [[nodiscard]] std::size_t size() const noexcept { return places.size(); }
  [[nodiscard]] std::span<const std::byte> operator[](std::size_t i) const {
    return std::span{bytes}.subspan(places[i].first, places[i].second);
  }
};

}  // namespace tocsin::bench
