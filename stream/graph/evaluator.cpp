#include "stream/graph/evaluator.h"

#include <bit>
#include <cstring>
#include <utility>

#include "stream/graph/evaluator_state.h"

namespace tocsin::stream {

// Another graph size, topology or number of texts: what was computed before it may be other values.
void Evaluator::State::resize() {
  const bool moved = version != topology->version();
  if (const std::uint64_t known = leaves->texts(); moved || known != texts) {
    version = topology->version(), texts = known;
    for (std::size_t i = 0; i < std::min(steps.size(), graph->size()); ++i) {
      const auto id = static_cast<NodeId>(i);
      const Source source = graph->step(id).source;
      if (!(moved ? source != Source::nothing : source == Source::texts)) continue;
      const NodeId computed_by = graph->step(id).in_place ? graph->users(id).front() : id;
      dirty.add(computed_by), ready.remove(computed_by);
    }
  }
  if (steps.size() >= graph->size()) return;
  steps.resize(graph->size());
  prepared.resize(graph->size()), ready.resize(graph->size()), dirty.resize(graph->size(), true);
}

void Evaluator::State::prepare(NodeId id) {
  const NodeStep& of = graph->step(id);
  Step& made = step(id);
  const auto room = [](std::uint32_t& place, auto& all) {
    if (place == none) place = static_cast<std::uint32_t>(all.size()), all.emplace_back();
    return place;
  };
  prepared.add(id);
  made.constant = false;
  if (of.shape == Shape::column || mask_of_window(of)) columns[room(made.column, columns)].clear();
  if (of.shape == Shape::mask) masks[room(made.mask, masks)].clear();
  if (made.groups != none) groups[made.groups] = {};
  if (has_reading(of.source) && readings.size() <= of.reading) readings.resize(of.reading + std::size_t{1});
  if (of.source == Source::nothing) dirty.remove(id);
  if (of.op == Op::constant) column(id).assign(1, (*graph)[id].attributes.number);
}

void Evaluator::State::visit(NodeId id) {
  const NodeStep& of = graph->step(id);
  if (of.in_place) return dirty.remove(id);
  if (!prepared.has(id)) prepare(id);
  if (dirty.has(id) || of.source == Source::leaf || (has_reading(of.source) && !leaves->same(readings[of.reading])))
    compute(id);
}

void Evaluator::State::compute(NodeId id) {
  const NodeStep& of = graph->step(id);
  dirty.remove(id);
  ++computed;
  const std::size_t n = topology->size(of.level);
  fresh_constant = false, rooms_used = 0;
  if (numbers.size() < n) numbers.resize(n), truths.resize(n);
  fresh_column = std::span{numbers}.first(n), fresh_mask = std::span{truths}.first(n);
  if (n > 0) write(id, of, n);
  if (!keep(id, of)) return;
  for (const NodeId user : graph->users(id))
    if (index(user) < steps.size()) dirty.add(user);
}

// False: the values are those of the node's evaluation before.
bool Evaluator::State::keep(NodeId id, const NodeStep& of) {
  Step& kept = step(id);
  const bool as_before = std::exchange(kept.constant, fresh_constant) == fresh_constant;
  const auto store = [&](auto& values, const auto& fresh) {
    const std::size_t n = fresh_constant ? 2 : fresh.size();
    if (as_before && (fresh_constant ? values.size() >= n : values.size() == n) &&
        (n == 0 || std::memcmp(static_cast<const void*>(values.data()), static_cast<const void*>(fresh.data()),
                               n * sizeof fresh[0]) == 0))
      return false;
    values.assign(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(n));
    return true;
  };
  const bool changed = (of.shape == Shape::column || mask_of_window(of)) && store(column(id), fresh_column);
  return of.shape == Shape::mask ? store(mask(id), fresh_mask) : changed;
}

Evaluator::Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves)
    : state_(new State{graph, topology, leaves}) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::begin_tick() { state_->ready.clear(); }

void Evaluator::forget() { state_->version = 0; }

void Evaluator::forget_above(std::size_t mark) {
  // The memory stays: a scripted rule asks for much the same at its next evaluation.
  for (std::size_t i = mark; i < state_->steps.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    state_->prepared.remove(id), state_->ready.remove(id), state_->dirty.add(id);
  }
}

void Evaluator::run(std::span<const NodeId> nodes) {
  State& state = *state_;
  state.resize();
  for (const NodeId id : nodes) {
    if (state.ready.has(id)) continue;
    state.ready.add(id);
    state.visit(id);
  }
}

void Evaluator::run(const FewNodes& nodes) {
  State& state = *state_;
  state.resize();
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
  return state_->flattened(id) && state_->step(id).column != State::none ? Column{state_->column(id)} : Column{};
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
