#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/graph/group_fold.h"
#include "stream/graph/kernels.h"
#include "stream/graph/spare.h"

// Included by the two sources of the Evaluator: evaluator.cpp decides what runs and whose memory it takes,
// evaluator_compute.cpp writes the values of a node.
namespace tocsin::stream {

inline std::size_t index(NodeId id) noexcept { return static_cast<std::size_t>(id); }

struct Evaluator::State {
  State(const Graph& of, const Topology& with, Leaves& by) : graph(&of), topology(&with), leaves(&by) {}

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // A node that is ready to run: where its values at the current tick are. A script's nodes have its place in turn.
  struct Step {
    std::uint32_t column = none, mask = none, groups = none;  // places in those below; a mask of a window has a column
    // Arguments of others that it is, and of those that have run at this tick. They may wrap: what is lent too early is
    // computed again.
    std::uint16_t takers = 0, served = 0;
    std::uint16_t expected = 0;  // to which columns to spare it may give, as bits
    bool lent = false;  // its memory, at this tick, once all that take its values have run; for whoever asks later they
                        // are computed again
    bool constant = false;  // only the first two values are written: that of slot 0 and that of all others
  };
  struct GroupsAt {  // of a reduction, at this version of the topology
    const Groups* groups = nullptr;
    std::uint64_t version = 0;
  };

  const Graph* graph;
  const Topology* topology;
  Leaves* leaves;
  std::vector<Step> steps;  // by node
  std::vector<std::vector<double>> columns;
  std::vector<std::vector<Truth>> masks;
  std::vector<GroupsAt> groups;
  std::vector<std::uint64_t> computed;  // by node: the tick; constants stay computed
  static constexpr std::uint64_t unprepared = 0, never = 1, for_ever = ~std::uint64_t{0};
  std::uint64_t tick = 2;
  std::uint64_t version = 0;  // of the topology, at this tick
  GroupFold fold;
  static_assert(2 * level_count <= 16);
  std::array<Spare<double>, level_count> spare_columns;
  std::array<Spare<Truth>, level_count> spare_masks;
  bool keeping = false;          // what is computed takes no values for the last time
  std::vector<double> literals;  // of is(…): of texts, their symbols at this tick
  std::vector<double> between;   // the first half of clamp; a column for all members, with one value

  Step& step(NodeId id) { return steps[index(id)]; }
  bool known(NodeId id) const { return computed[index(id)] == tick || computed[index(id)] == for_ever; }
  [[nodiscard]] bool now(NodeId id) const {  // it has run at this tick
    return index(id) < steps.size() && known(id);
  }
  static bool mask_of_window(const NodeStep& of) { return of.of_window && of.shape == Shape::mask; }
  std::vector<double>& column(NodeId id) { return columns[step(id).column]; }
  std::vector<Truth>& mask(NodeId id) { return masks[step(id).mask]; }
  // Writes all values of a step whose members are constant.
  void flatten(NodeId id) {
    if (!std::exchange(step(id).constant, false)) return;
    const auto spread = [](auto& values) { std::fill(values.begin() + 2, values.end(), values[1]); };
    with_memory(id, [&](auto& values, auto&, auto) { spread(values); });
    if (mask_of_window(graph->step(id))) spread(column(id));
  }
  bool flattened(NodeId id) {
    if (!now(id)) return false;
    if (step(id).lent) compute_again(id);
    flatten(id);
    return true;
  }
  void compute_again(NodeId id) {
    const bool before = std::exchange(keeping, true);
    compute(id);
    keeping = before;
  }
  // Calls with the memory of its values, and that to spare at its level.
  void with_memory(NodeId id, auto&& call) {
    const NodeStep& of = graph->step(id);
    const auto level = static_cast<std::size_t>(of.level);
    if (of.shape == Shape::column) call(column(id), spare_columns[level], absent);
    else if (of.shape == Shape::mask) call(mask(id), spare_masks[level], Truth::unknown);
  }
  static void expect(const NodeStep& of, Step& step, auto& spare) {
    const auto bit =
        static_cast<std::uint16_t>(1u << (2 * static_cast<unsigned>(of.level) + (of.shape == Shape::mask ? 1u : 0u)));
    if ((step.expected & bit) == 0) spare.expect_one();
    step.expected |= bit;
  }
  void take_memory(NodeId id);
  void served(NodeId id);
  void prepare(NodeId id);
  void fetch(std::span<const NodeId> nodes, std::size_t at) const;
  void compute(NodeId id);
  void write(NodeId id, const NodeStep& of, std::size_t n);
  void leaf(NodeId id, const NodeStep& of);
  void compare_window(NodeId id, const NodeStep& of);
  void member_by_member(NodeId id, const NodeStep& of, std::size_t n);
  void spread(NodeId id, const NodeStep& of);
  void reduce(NodeId id, const NodeStep& of);

  Operand number(NodeId id) { return {column(id).data(), coarse(graph->step(id).level)}; }
  MaskOperand truth(NodeId id) { return {mask(id).data(), coarse(graph->step(id).level)}; }
};

}  // namespace tocsin::stream
