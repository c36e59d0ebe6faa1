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
#include "stream/graph/node_set.h"

// Included by the two sources of the Evaluator: evaluator.cpp decides what runs, evaluator_compute.cpp writes the
// values of a node.
namespace tocsin::stream {

inline std::size_t index(NodeId id) noexcept { return static_cast<std::size_t>(id); }

struct Evaluator::State {
  State(const Graph& of, const Topology& with, Leaves& by) : graph(&of), topology(&with), leaves(&by) {}

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // Where the values of a node are. A script's nodes have its place in turn.
  struct Step {
    std::uint32_t column = none, mask = none, groups = none;  // places in those below; a mask of a window has a column
    bool constant = false;  // all members but the first have one value: only the first two are kept until all are read
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
  std::vector<Leaves::Reading> readings;  // by number
  NodeSet prepared;                       // have a place
  NodeSet dirty;                          // have not run since an argument changed, or not at all
  NodeSet ready;                          // have the values of this tick
  std::uint64_t version = 0;              // of the topology, at this tick
  std::uint64_t texts = 0;                // of the leaves, at this tick
  std::uint64_t computed = 0;             // nodes
  GroupFold fold;
  // The node that is computed: its values become those of its place if they differ.
  std::span<double> fresh_column;
  std::span<Truth> fresh_mask;
  bool fresh_constant = false;
  std::vector<double> numbers;  // the memory of these
  std::vector<Truth> truths;
  std::vector<double> literals;           // of is(…): of texts, their symbols at this tick
  std::vector<double> between;            // the first half of clamp; a column for all members, with one value
  std::vector<std::vector<Truth>> rooms;  // masks that are computed in place; the first `rooms_used` are in use
  std::size_t rooms_used = 0;

  Step& step(NodeId id) { return steps[index(id)]; }
  [[nodiscard]] bool now(NodeId id) const {  // it has run at this tick
    return index(id) < steps.size() &&
           (ready.has(id) || (prepared.has(id) && graph->step(id).source == Source::nothing));
  }
  static bool mask_of_window(const NodeStep& of) { return of.source == Source::window && of.shape == Shape::mask; }
  std::vector<double>& column(NodeId id) { return columns[step(id).column]; }
  std::vector<Truth>& mask(NodeId id) { return masks[step(id).mask]; }
  // Writes out all values of a node whose members are constant.
  void flatten(NodeId id) {
    const NodeStep& of = graph->step(id);
    if (!step(id).constant) return;
    const std::size_t n = topology->size(of.level);
    if (of.shape == Shape::column || mask_of_window(of)) column(id).resize(n, column(id)[1]);
    if (of.shape == Shape::mask) mask(id).resize(n, mask(id)[1]);
  }
  bool flattened(NodeId id) {
    if (!now(id)) return false;
    flatten(id);
    return true;
  }
  void resize();
  void prepare(NodeId id);
  void visit(NodeId id);
  void compute(NodeId id);
  bool keep(NodeId id, const NodeStep& of);
  void write(NodeId id, const NodeStep& of, std::size_t n);
  void leaf(NodeId id, const NodeStep& of);
  void compare_window(const NodeStep& of);
  void member_by_member(NodeId id, const NodeStep& of, std::size_t n);
  [[nodiscard]] bool constant_arguments(const NodeStep& of);
  void write_members(NodeId id, const NodeStep& of, double* column, Truth* mask, std::size_t n);
  void join(const NodeStep& of, Truth* mask, std::size_t n);
  Mask mask_in_place(NodeId id);  // all members, until the next node is computed
  void spread(const NodeStep& of);
  void reduce(NodeId id, const NodeStep& of);

  // An argument, with one value for all members or values of n members; a mask in place is computed now.
  Operand number(NodeId id) {
    if (!fresh_constant) flatten(id);
    return {column(id).data(), coarse(graph->step(id).level)};
  }
  MaskOperand truth(NodeId id, std::size_t n);
};

}  // namespace tocsin::stream
