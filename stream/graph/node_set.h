#pragma once

#include <cstdint>
#include <vector>

#include "stream/graph/graph.h"

namespace tocsin::stream {

// A set of nodes of one graph, a bit each.
class NodeSet {
 public:
  void resize(std::size_t nodes) { words_.resize((nodes + 63) / 64, 0); }
  void clear() { words_.assign(words_.size(), 0); }
  [[nodiscard]] bool has(NodeId id) const noexcept { return (words_[word(id)] >> bit(id) & 1) != 0; }
  void add(NodeId id) noexcept { words_[word(id)] |= std::uint64_t{1} << bit(id); }
  void remove(NodeId id) noexcept { words_[word(id)] &= ~(std::uint64_t{1} << bit(id)); }

 private:
  static std::size_t word(NodeId id) noexcept { return static_cast<std::size_t>(id) / 64; }
  static unsigned bit(NodeId id) noexcept { return static_cast<unsigned>(id) % 64; }
  std::vector<std::uint64_t> words_;
};

}  // namespace tocsin::stream
