#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/values/prefetch.h"

namespace tocsin::stream {

enum class NodeId : std::uint32_t {};

// A set of nodes of one graph, a bit each.
class NodeSet {
 public:
  using Word = std::uint64_t;
  static constexpr unsigned bits = 64;

  // New words are full, or empty.
  void resize(std::size_t nodes, bool full = false) { words_.resize((nodes + bits - 1) / bits, full ? ~Word{0} : 0); }
  [[gnu::always_inline]] void prefetch() const noexcept { prefetch_all(words_); }
  void clear() { words_.assign(words_.size(), 0); }
  [[nodiscard]] bool has(NodeId id) const noexcept { return (words_[word(id)] & bit(id)) != 0; }
  void add(NodeId id) noexcept { words_[word(id)] |= bit(id); }
  void remove(NodeId id) noexcept { words_[word(id)] &= ~bit(id); }
  [[nodiscard]] Word& at(std::size_t word) noexcept { return words_[word]; }
  [[nodiscard]] Word at(std::size_t word) const noexcept { return words_[word]; }

  static std::size_t word(NodeId id) noexcept { return static_cast<std::size_t>(id) / bits; }
  static Word bit(NodeId id) noexcept { return Word{1} << (static_cast<unsigned>(id) % bits); }

 private:
  std::vector<Word> words_;
};

// The same for few nodes: the words that are not empty, ascending.
class FewNodes {
 public:
  struct Part {
    std::size_t word;
    NodeSet::Word nodes;
  };
  FewNodes() = default;
  explicit FewNodes(std::span<const NodeId> ascending) {
    for (const NodeId id : ascending) {
      if (parts_.empty() || parts_.back().word != NodeSet::word(id)) parts_.push_back({NodeSet::word(id), 0});
      parts_.back().nodes |= NodeSet::bit(id);
    }
  }
  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }

 private:
  std::vector<Part> parts_;
};

}  // namespace tocsin::stream
