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

  // A node that is ready to run: its arguments, what its operation needs, and its values at the current tick.
  struct Step {
    bool of_window = false;
    bool lends =
        false;  // its memory, once all that take its values have run; for whoever asks later they are computed again
    bool lent = false;  // at this tick
    std::uint16_t expected =
        0;  // to which columns to spare it may give, as bits: a script's nodes have its place in turn
    std::uint8_t arity = 0;
    Op op{};
    Shape shape = Shape::column;
    Level level = Level::none;
    std::uint32_t takers = 0, served = 0;  // arguments of others that it is, and of those that have run at this tick
    std::array<NodeId, 3> arguments{};
    std::vector<double> column;
    std::vector<Truth> mask;
    std::vector<double> values;      // of is(…); of texts, their symbols at this tick
    bool constant = false;           // only the first two values are written: that of slot 0 and that of all others
    const Groups* groups = nullptr;  // of a reduction, at this version of the topology:
    std::uint64_t groups_version = 0;
  };

  const Graph* graph;
  const Topology* topology;
  Leaves* leaves;
  std::vector<Step> steps;              // by node
  std::vector<std::uint64_t> computed;  // by node: the tick; constants stay computed
  static constexpr std::uint64_t unprepared = 0, never = 1, for_ever = ~std::uint64_t{0};
  std::uint64_t tick = 2;
  std::uint64_t version = 0;  // of the topology, at this tick
  GroupFold fold;
  static_assert(2 * level_count <= 16);
  std::array<Spare<double>, level_count> spare_columns;
  std::array<Spare<Truth>, level_count> spare_masks;
  bool keeping = false;         // what is computed takes no values for the last time
  std::vector<double> between;  // the first half of clamp; a column for all members, with one value

  Step& step(NodeId id) { return steps[index(id)]; }
  bool known(NodeId id) const { return computed[index(id)] == tick || computed[index(id)] == for_ever; }
  const Step* now(NodeId id) const {  // null where the node has not run at this tick
    return index(id) < steps.size() && known(id) ? &steps[index(id)] : nullptr;
  }
  // Writes all values of a step whose members are constant.
  void flatten(Step& step) {
    if (!std::exchange(step.constant, false)) return;
    if (step.shape == Shape::column) std::fill(step.column.begin() + 2, step.column.end(), step.column[1]);
    else if (step.shape == Shape::mask) std::fill(step.mask.begin() + 2, step.mask.end(), step.mask[1]);
  }
  const Step* flattened(NodeId id) {
    if (now(id) == nullptr) return nullptr;
    Step& known = step(id);
    if (known.lent) compute_again(id, known);
    flatten(known);
    return &known;
  }
  void compute_again(NodeId id, Step& step) {
    const bool before = std::exchange(keeping, true);
    compute(id, step);
    keeping = before;
  }
  // Calls with the memory of its values, and that to spare at its level.
  void with_memory(Step& step, auto&& call) {
    const auto level = static_cast<std::size_t>(step.level);
    if (step.shape == Shape::column) call(step.column, spare_columns[level], absent);
    else if (step.shape == Shape::mask) call(step.mask, spare_masks[level], Truth::unknown);
  }
  void expect(Step& step, auto& spare) {
    const auto bit = static_cast<std::uint16_t>(
        1u << (2 * static_cast<unsigned>(step.level) + (step.shape == Shape::mask ? 1u : 0u)));
    if ((step.expected & bit) == 0) spare.expect_one();
    step.expected |= bit;
  }
  void take_memory(Step& step);
  void served(Step& argument);
  void prepare(NodeId id);
  void fetch(std::span<const NodeId> nodes, std::size_t at) const;
  void compute(NodeId id, Step& step);
  void write(NodeId id, Step& step, std::size_t n);
  void leaf(const Node& node, Step& step);
  void member_by_member(NodeId id, Step& step, std::size_t n);
  void spread(Step& step);
  void reduce(const Node& node, Step& step);

  Operand number(const Step& of, std::size_t i) const {
    const Step& argument = steps[index(of.arguments[i])];
    return {argument.column.data(), coarse(argument.level)};
  }
  MaskOperand truth(const Step& of, std::size_t i) const {
    const Step& argument = steps[index(of.arguments[i])];
    return {argument.mask.data(), coarse(argument.level)};
  }
};

}  // namespace tocsin::stream
