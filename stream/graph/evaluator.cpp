#include "stream/graph/evaluator.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "stream/graph/evaluator_state.h"
#include "stream/values/prefetch.h"

namespace tocsin::stream {

// Another graph size, topology or number of texts: what was computed before it may be other values.
void Evaluator::State::resize() {
  const bool moved = version != topology->version(), grown = nodes < graph->size();
  const std::size_t had = std::min(nodes, graph->size());  // the others have not run
  if (grown) {
    nodes = graph->size();
    for (NodeSet* set : {&valued, &constant, &written_out, &ready}) set->resize(nodes);
    dirty.resize(nodes, true);
    readings.resize(numbered().readings), groups.resize(graph->groupings().size());
  }
  const std::uint64_t known = leaves->texts();
  if (moved || known != texts) {
    version = topology->version(), texts = known;
    for (std::size_t i = 0; i < had; ++i) {
      const auto id = static_cast<NodeId>(i);
      const NodeStep& of = graph->step(id);
      if (!(moved ? of.source != Source::nothing : of.source == Source::texts)) continue;
      const NodeId computed_by = of.in_place ? graph->users(id).front() : id;
      dirty.add(computed_by), ready.remove(computed_by);
      if (values.members(of.level) != topology->size(of.level)) valued.remove(id);
    }
  }
  if (moved || grown) values.fit(numbered(), *topology);
}

void Evaluator::State::take_room() {
  if (all) return;
  resize();
  all = true;
  readings.resize(numbered().readings);
  values.fit(numbered(), *topology);
}

void Evaluator::State::visit(NodeId id) {
  const NodeStep& of = graph->step(id);
  if (of.in_place) return dirty.remove(id);
  if (of.source == Source::nothing) {
    if (of.op == Op::constant) column(id).front() = (*graph)[id].attributes.number;
    valued.add(id), dirty.remove(id);
  } else if (dirty.has(id) || of.source == Source::leaf ||
             (has_reading(of.source) && !leaves->same(readings[of.reading]))) {
    compute(id);
  }
}

void Evaluator::State::compute(NodeId id) {
  const NodeStep& of = graph->step(id);
  dirty.remove(id);
  ++computed;
  const std::size_t n = values.members(of.level);
  fresh_constant = false, rooms_used = 0;
  if (numbers.size() < n) numbers.resize(n), truths.resize(n);
  const bool exchanges = n > NodeValues::few && of.has_column();
  fresh_column = exchanges ? values.spare(of.level) : std::span{numbers}.first(n);
  fresh_mask = std::span{truths}.first(n);
  if (n > 0) write(id, of, n);
  if (!keep(id, of)) return;
  for (const NodeId user : graph->users(id))
    if (index(user) < nodes) dirty.add(user);
}

// False: the values are those of the node's evaluation before.
bool Evaluator::State::keep(NodeId id, const NodeStep& of) {
  const bool as_before = valued.has(id) && constant.has(id) == fresh_constant;
  const std::size_t n = fresh_constant ? 2 : values.members(of.level);
  const auto store = [&](auto kept, const auto& fresh) {
    if (as_before && (n == 0 || std::memcmp(static_cast<const void*>(kept.data()),
                                            static_cast<const void*>(fresh.data()), n * sizeof fresh[0]) == 0))
      return false;
    if constexpr (std::is_same_v<decltype(kept), std::span<double>>)
      if (n > NodeValues::few) return values.exchange_spare(of), true;
    std::copy_n(fresh.begin(), n, kept.begin());
    return true;
  };
  const bool changed = of.has_column() ? store(values.column(of), fresh_column) : store(values.mask(of), fresh_mask);
  valued.add(id);
  fresh_constant ? constant.add(id) : constant.remove(id);
  if (changed) written_out.remove(id);
  return changed;
}

Evaluator::Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves)
    : state_(new State{graph, topology, leaves}) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::prefetch() const noexcept { prefetch_object(*state_); }

void Evaluator::prefetch_nodes() const noexcept {
  for (const NodeSet* set : {&state_->valued, &state_->constant, &state_->dirty, &state_->ready}) set->prefetch();
}

void Evaluator::begin_tick() { state_->ready.clear(); }

void Evaluator::forget() { state_->version = 0; }

void Evaluator::forget_above(std::size_t mark) {
  State& state = *state_;
  for (std::size_t i = mark; i < state.nodes; ++i) {
    const auto id = static_cast<NodeId>(i);
    state.valued.remove(id), state.constant.remove(id), state.written_out.remove(id), state.ready.remove(id);
    state.dirty.add(id);
  }
  state.nodes = std::min(state.nodes, mark);
}

void Evaluator::take_room() { state_->take_room(); }

void Evaluator::run(std::span<const NodeId> nodes) {
  State& state = *state_;
  state.resize();
  state.take_room();
  for (const NodeId id : nodes) {
    if (state.ready.has(id)) continue;
    state.ready.add(id);
    state.visit(id);
  }
}

void Evaluator::run(const FewNodes& nodes) {
  State& state = *state_;
  state.resize();
  for (const auto& [word, in_word] : nodes.parts())
    for (NodeSet::Word due = in_word & ~state.ready.at(word) & (state.dirty.at(word) | state.graph->leaves().at(word));
         due != 0; due &= due - 1)
      state.prefetch(static_cast<NodeId>(word * NodeSet::bits + static_cast<unsigned>(std::countr_zero(due))));
  for (const auto& [word, in_word] : nodes.parts()) {
    NodeSet::Word rest = in_word & ~state.ready.at(word);
    state.ready.at(word) |= rest;
    // A node that is computed can make later ones dirty.
    while (const NodeSet::Word due = rest & (state.dirty.at(word) | state.graph->leaves().at(word))) {
      const auto first = static_cast<unsigned>(std::countr_zero(due));
      rest &= ~NodeSet::Word{1} << first;
      state.visit(static_cast<NodeId>(word * NodeSet::bits + first));
    }
  }
}

void Evaluator::run_with_needs(NodeId node) {
  std::vector<NodeId> pending{node};
  state_->resize();  // the topology may have changed
  while (!pending.empty()) {
    const NodeId id = pending.back();
    const std::size_t before = pending.size();
    if (!state_->now(id))
      for (const NodeId argument : (*state_->graph)[id].arguments)
        if (!state_->now(argument)) pending.push_back(argument);
    if (pending.size() > before) continue;
    pending.pop_back();
    run({&id, 1});
  }
}

std::uint64_t Evaluator::computed() const noexcept { return state_->computed; }

const Graph& Evaluator::graph() const noexcept { return *state_->graph; }

Column Evaluator::column(NodeId id) const {
  if (!state_->flattened(id)) return {};
  const NodeStep& of = graph().step(id);
  return of.has_column() ? Column{state_->column(id)} : of.mask_of_window() ? state_->compared(id) : Column{};
}

Mask Evaluator::mask(NodeId id) const {
  if (!state_->flattened(id) || graph().step(id).shape != Shape::mask) return {};
  return graph().step(id).in_place ? state_->mask_in_place(id) : Mask{state_->mask(id)};
}

namespace {

// The slot of a member's value in a node of level `of`.
Slot place(const Topology& topology, Level of, Level level, Slot slot) {
  if (of == level) return slot;
  if (of > level) return no_slot;
  const auto container = topology.containing(level, of);
  return slot < container.size() ? container[slot] : no_slot;
}

}  // namespace

double Evaluator::number_at(NodeId id, Level level, Slot slot) const {
  const Column values = column(id);
  const Slot at = place(*state_->topology, (*state_->graph)[id].type.level, level, slot);
  return at < values.size() ? values[at] : absent;
}

Truth Evaluator::truth_at(NodeId id, Level level, Slot slot) const {
  const Mask values = mask(id);
  const Slot at = place(*state_->topology, (*state_->graph)[id].type.level, level, slot);
  return at < values.size() ? values[at] : Truth::unknown;
}

}  // namespace tocsin::stream
