#include "stream/graph/evaluator.h"

#include <cstring>
#include <utility>

#include "stream/graph/evaluator_state.h"

namespace tocsin::stream {

// Another graph size, topology or number of texts: what was computed before it may be other values.
void Evaluator::State::resize() {
  const auto outdated = [this](auto&& is) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (const auto id = static_cast<NodeId>(i); prepared.has(id) && is(id)) dirty.add(id), ready.remove(id);
  };
  if (version != topology->version()) {
    version = topology->version();
    outdated([this](NodeId id) { return index(id) < graph->size() && graph->step(id).source != Source::nothing; });
  }
  if (const std::uint64_t known = leaves->texts(); known != texts) {
    texts = known;
    outdated([this](NodeId id) { return index(id) < graph->size() && graph->step(id).source == Source::texts; });
  }
  if (steps.size() >= graph->size()) return;
  steps.resize(graph->size());
  for (NodeSet* set : {&prepared, &dirty, &ready}) set->resize(graph->size());
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
  if (of.source == Source::window && readings.size() <= of.reading) readings.resize(of.reading + std::size_t{1});
  if (of.source != Source::nothing) dirty.add(id);
  if (of.op == Op::constant) column(id).assign(1, (*graph)[id].attributes.number);
}

// Whether a node can have other values at this tick than when it ran last, though its arguments have the same.
bool Evaluator::State::differs(NodeId id) {
  const NodeStep& of = graph->step(id);
  if (of.source != Source::window) return of.source == Source::leaf;
  return !leaves->same((*graph)[id], *(*graph)[of.arguments[0]].attributes.window, readings[of.reading]);
}

void Evaluator::State::compute(NodeId id) {
  const NodeStep& of = graph->step(id);
  dirty.remove(id);
  ++computed;
  const std::size_t n = topology->size(of.level);
  fresh_constant = false;
  if (of.shape == Shape::column || mask_of_window(of)) fresh_column.resize(n);
  if (of.shape == Shape::mask) fresh_mask.resize(n);
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
        std::memcmp(static_cast<const void*>(values.data()), static_cast<const void*>(fresh.data()),
                    n * sizeof fresh[0]) == 0)
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
  for (std::size_t i = mark; i < state_->steps.size(); ++i)
    for (NodeSet* set : {&state_->prepared, &state_->dirty, &state_->ready}) set->remove(static_cast<NodeId>(i));
}

void Evaluator::run(std::span<const NodeId> nodes) {
  State& state = *state_;
  state.resize();
  for (const NodeId id : nodes) {
    if (state.ready.has(id)) continue;
    state.ready.add(id);
    if (!state.prepared.has(id)) state.prepare(id);
    if (state.dirty.has(id) || state.differs(id)) state.compute(id);
  }
}

void Evaluator::run_with_needs(NodeId node) {
  std::vector<NodeId> pending{node};
  run({});  // the topology may have changed
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
  return state_->flattened(id) && state_->step(id).mask != State::none ? Mask{state_->mask(id)} : Mask{};
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
