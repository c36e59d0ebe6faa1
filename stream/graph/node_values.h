#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// The values of a graph's nodes over the members of one attempt, those of a level side by side. Owned by its Evaluator.
class NodeValues {
 public:
  static constexpr std::size_t few = 16;  // members: of no more than these, columns are copied

  // Takes room for all nodes and members. A level that got members has lost its values.
  void fit(const Graph::Numbered& nodes, const Topology& topology) {
    for (std::size_t level = 0; level < level_count; ++level) {
      Block& block = blocks_[level];
      const std::size_t members = topology.size(static_cast<Level>(level));
      const bool stay = members == block.members;
      if (members > block.stride) block.stride = room_for(members);
      block.members = members;
      block.place(nodes.columns[level], stay);
      block.columns.fit(std::max<std::size_t>(nodes.columns[level], block.places.size()), block.stride, stay);
      block.masks.fit(nodes.masks[level], block.stride, stay);
    }
  }
  [[nodiscard]] std::size_t members(Level level) const noexcept { return at(level).members; }
  [[nodiscard]] std::span<double> column(const NodeStep& of) const noexcept {
    const Block& block = at(of.level);
    return {block.at(block.places.empty() ? of.column : block.places[of.column]), block.members};
  }
  // Where a level has many members: the memory of one more column, which a node's column can be exchanged with.
  [[nodiscard]] std::span<double> spare(Level level) const noexcept {
    const Block& block = at(level);
    if (block.places.empty()) return {};
    return {block.at(block.places.back()), block.members};
  }
  void exchange_spare(const NodeStep& of) noexcept {
    Block& block = blocks_[static_cast<std::size_t>(of.level)];
    std::swap(block.places[of.column], block.places.back());
  }
  [[nodiscard]] std::span<Truth> mask(const NodeStep& of) const noexcept {
    return {at(of.level).masks.values.get() + of.mask * at(of.level).stride, at(of.level).members};
  }

 private:
  // Memory that is not written takes no room: most columns of many members hold two values.
  template <class T>
  struct Rows {
    std::unique_ptr<T[]> values;
    std::size_t rows = 0, size = 0;
    void fit(std::size_t wanted, std::size_t stride, bool stay) {
      if (wanted * stride > size) {
        const std::size_t room = stay && rows > 0 ? std::max(wanted, rows + rows / 2) : wanted;
        auto more = std::make_unique_for_overwrite<T[]>(room * stride);
        if (stay) std::copy_n(values.get(), rows * stride, more.get());
        values = std::move(more), size = room * stride;
      }
      rows = wanted;
    }
  };
  struct Block {
    std::size_t members = 0, stride = 0;
    Rows<double> columns;
    Rows<Truth> masks;
    std::vector<std::uint32_t> places;  // by column, where it lies; then the spare one. Empty where members are few

    [[nodiscard]] double* at(std::size_t place) const noexcept { return columns.values.get() + place * stride; }
    void place(std::size_t wanted, bool stay) {
      if (!stay) places.clear();
      if (members <= few || wanted < places.size()) return;
      if (places.empty()) places.push_back(0);
      for (auto next = static_cast<std::uint32_t>(places.size()); places.size() <= wanted; ++next)
        places.insert(places.end() - 1, next);
    }
  };
  static std::size_t room_for(std::size_t members) noexcept {
    return members <= few ? members : (members + members / 8 + 7) & ~std::size_t{7};
  }
  [[nodiscard]] const Block& at(Level level) const noexcept { return blocks_[static_cast<std::size_t>(level)]; }

  std::array<Block, level_count> blocks_;
};

}  // namespace tocsin::stream
