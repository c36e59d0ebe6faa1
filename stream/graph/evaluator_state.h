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
#include "stream/graph/node_values.h"

// Included by the two sources of the Evaluator: evaluator.cpp decides what runs, evaluator_compute.cpp writes the
// values of a node.
namespace tocsin::stream {

inline std::size_t index(NodeId id) noexcept { return static_cast<std::size_t>(id); }

struct Evaluator::State {
  State(const Graph& of, const Topology& with, Leaves& by) : graph(&of), topology(&with), leaves(&by) {}

  struct GroupsAt {  // of a grouping, at this version of the topology
    const Groups* groups = nullptr;
    std::uint64_t version = 0;
  };

  const Graph* graph;
  const Topology* topology;
  Leaves* leaves;
  NodeValues values;
  std::vector<GroupsAt> groups;  // by number, as the next
  std::vector<Leaves::Reading> readings;
  std::size_t nodes = 0;       // of the graph, when there was last room for them
  bool all = false;            // there is room for the values of all, and not only of those that are numbered first
  NodeSet valued;              // have the values of some tick
  NodeSet constant;            // all members but the first have one value
  NodeSet written_out;         // of these, those that hold it for all members, and not for the first two only
  NodeSet dirty;               // have not run since an argument changed, or not at all
  NodeSet ready;               // have the values of this tick
  std::uint64_t version = 0;   // of the topology, at this tick
  std::uint64_t texts = 0;     // of the leaves, at this tick
  std::uint64_t computed = 0;  // nodes
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

  [[nodiscard]] bool now(NodeId id) const {  // it has run at this tick
    return index(id) < nodes && (ready.has(id) || (valued.has(id) && graph->step(id).source == Source::nothing));
  }
  [[nodiscard]] std::span<double> column(NodeId id) const { return values.column(graph->step(id)); }
  [[nodiscard]] std::span<Truth> mask(NodeId id) const { return values.mask(graph->step(id)); }
  // Writes out all values of a node whose members are constant.
  void flatten(NodeId id) {
    if (!constant.has(id) || written_out.has(id)) return;
    const NodeStep& of = graph->step(id);
    const auto write_out = [](auto all) { std::fill(all.begin() + 2, all.end(), all[1]); };
    if (of.has_column()) write_out(values.column(of));
    if (of.has_mask()) write_out(values.mask(of));
    written_out.add(id);
  }
  bool flattened(NodeId id) {
    if (!now(id)) return false;
    flatten(id);
    return true;
  }
  // What there is room for.
  [[nodiscard]] const Graph::Numbered& numbered() const noexcept {
    return all ? graph->numbered() : graph->numbered_first();
  }
  void resize();
  void take_room();
  // What decides whether a node is computed, and what it may be compared with.
  [[gnu::always_inline]] void prefetch(NodeId id) const noexcept {
    const NodeStep& of = graph->step(id);
    if (has_reading(of.source)) __builtin_prefetch(&readings[of.reading]);
    if (of.has_column()) __builtin_prefetch(values.column(of).data());
    if (of.has_mask()) __builtin_prefetch(values.mask(of).data());
  }
  void visit(NodeId id);
  void compute(NodeId id);
  bool keep(NodeId id, const NodeStep& of);
  void write(NodeId id, const NodeStep& of, std::size_t n);
  void leaf(NodeId id, const NodeStep& of);
  void compare_window(const NodeStep& of);
  Column compared(NodeId id);  // the column that a mask of a window is made of
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
