#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stream/graph/operations.h"
#include "stream/topology/topology.h"

namespace tocsin::stream {

// Members by eights: slots 8 k - 7 to 8 k are number k, as the ranks of a node of eight begin at slot 1; slot 0 is
// number 0, alone.
struct Eights {
  static constexpr std::size_t members = 8;
  [[nodiscard]] static constexpr std::size_t of(Slot slot) noexcept { return (slot + members - 1) / members; }
  [[nodiscard]] static constexpr Slot first(std::size_t eight) noexcept {
    return eight == 0 ? 0 : static_cast<Slot>((eight - 1) * members + 1);
  }
  // The place of a member in its eight.
  [[nodiscard]] static constexpr std::size_t place(Slot slot) noexcept { return slot == 0 ? 0 : (slot - 1) % members; }
  // How many members it has where there are so many in all.
  [[nodiscard]] static constexpr std::size_t size(std::size_t eight, std::size_t all) noexcept {
    return eight == 0 ? std::min<std::size_t>(all, 1) : std::min(members, all - first(eight));
  }
};

// The values of eight members side by side, oldest first, for reductions of all eight at once: what they give is what
// reduce_series() gives for each, to the bit. On a block of memory that its user keeps.
class EightSeries {
 public:
  static constexpr std::size_t members = Eights::members;
  using Counts = std::array<std::uint32_t, members>;

  // Of the reductions that these are for.
  [[nodiscard]] static constexpr bool gives(Op op) noexcept {
    return op == Op::w_mean || op == Op::w_sum || op == Op::w_min || op == Op::w_max || op == Op::w_median ||
           op == Op::w_quantile || op == Op::w_mad;
  }

  explicit EightSeries(std::vector<double>& block) : block_(block) {}

  // All members have as many values as there are `rows`; the caller writes them to row(0) … row(rows - 1).
  void begin(std::size_t rows) { block_.resize((rows_ = rows) * members), order_ = Order::came; }
  [[nodiscard]] double* row(std::size_t at) noexcept { return block_.data() + at * members; }
  // Members with fewer values have NaN in the rows after them. Called once all rows are written.
  void end();

  // Order statistics last: they sort the values, which leaves no others.
  void reduce(Op op, double number, std::span<double, members> out);

 private:
  void extremes(bool least, std::span<double, members> out) const;
  void means(bool sum, std::span<double, members> out) const;
  void ordered(Op op, double number, std::span<double, members> out);

  std::vector<double>& block_;  // [row][member]
  std::size_t rows_ = 0;
  enum class Order : std::uint8_t { came, halves, sorted } order_ = Order::came;
  Counts numbers_{};
};

}  // namespace tocsin::stream
