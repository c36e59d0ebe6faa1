#include "stream/graph/evaluator.h"

#include <utility>

#include "stream/graph/evaluator_state.h"

namespace tocsin::stream {

void Evaluator::State::prepare(NodeId id) {
  const NodeStep& of = graph->step(id);
  Step& made = step(id);
  const auto room = [](std::uint32_t& place, auto& all) {
    if (place == none) place = static_cast<std::uint32_t>(all.size()), all.emplace_back();
    return place;
  };
  if (of.shape == Shape::column || mask_of_window(of)) columns[room(made.column, columns)].clear();
  if (of.shape == Shape::mask) masks[room(made.mask, masks)].clear();
  if (made.groups != none) groups[made.groups] = {};
  if (of.lends) with_memory(id, [&](auto&, auto& spare, auto) { expect(of, made, spare); });
  made.lent = of.lends;  // it has none yet
  computed[index(id)] = never;
  made.takers = 0;
  for (std::size_t i = 0; i < of.arity; ++i) ++step(of.arguments[i]).takers;
  if (of.op == Op::constant) column(id).assign(1, (*graph)[id].attributes.number);
  if (of.op == Op::constant || of.shape == Shape::window || of.shape == Shape::finding) computed[index(id)] = for_ever;
}

// Between two ticks samples of many jobs came, so nothing of this one is in the processor's cache: what the next nodes
// need is asked for while one is computed.
void Evaluator::State::fetch(std::span<const NodeId> nodes, std::size_t at) const {
  constexpr std::size_t steps_ahead = 8, nodes_ahead = 3;
  const auto ask = [](const void* from, std::size_t bytes) {
    constexpr std::size_t line = 64;
    for (std::size_t byte = 0; byte < bytes; byte += line) __builtin_prefetch(static_cast<const char*>(from) + byte);
  };
  if (const std::size_t i = at + steps_ahead; i < nodes.size() && !known(nodes[i]))
    ask(&steps[index(nodes[i])], sizeof(Step));
  if (const std::size_t i = at + nodes_ahead; i < nodes.size() && !known(nodes[i])) {
    const NodeStep& of = graph->step(nodes[i]);
    if (!of.of_window) return;
    constexpr std::size_t operation_and_arguments = 128;  // of a node, in front
    ask(&(*graph)[nodes[i]], operation_and_arguments);
    ask(&(*graph)[of.arguments[0]].attributes.window, sizeof(WindowSpec));
  }
}

void Evaluator::State::compute(NodeId id) {
  const NodeStep& of = graph->step(id);
  for (std::size_t i = 0; i < of.arity; ++i)
    if (step(of.arguments[i]).lent) compute_again(of.arguments[i]);
  take_memory(id);
  computed[index(id)] = tick;
  step(id).constant = false;
  step(id).served = 0;
  if (const std::size_t n = topology->size(of.level)) write(id, of, n);
  for (std::size_t i = 0; i < of.arity && !keeping; ++i) served(of.arguments[i]);
}

void Evaluator::State::take_memory(NodeId id) {
  with_memory(id, [&, n = topology->size(graph->step(id).level)](auto& values, auto& spare, auto nothing) {
    if (std::exchange(step(id).lent, false) && step(id).takers > 0 && values.capacity() < n) spare.take(values);
    values.resize(n, nothing);
  });
}

void Evaluator::State::served(NodeId id) {
  Step& argument = step(id);
  if (++argument.served < argument.takers || !graph->step(id).lends || std::exchange(argument.lent, true)) return;
  with_memory(id, [](auto& values, auto& spare, auto) { spare.give(values); });
}

Evaluator::Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves)
    : state_(new State{graph, topology, leaves}) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::begin_tick() { ++state_->tick; }

void Evaluator::forget_above(std::size_t mark) {
  // The memory stays: a scripted rule asks for much the same at its next evaluation.
  for (std::size_t i = mark; i < state_->steps.size(); ++i) {
    if (std::exchange(state_->computed[i], State::unprepared) == State::unprepared) continue;
    const NodeStep& gone = state_->graph->step(static_cast<NodeId>(i));
    for (std::size_t a = 0; a < gone.arity; ++a) --state_->step(gone.arguments[a]).takers;
  }
}

void Evaluator::run(std::span<const NodeId> nodes) {
  State& state = *state_;
  if (state.steps.size() < state.graph->size())
    state.steps.resize(state.graph->size()), state.computed.resize(state.graph->size());
  if (state.version != state.topology->version()) {  // the columns have other lengths now: no earlier value fits
    state.version = state.topology->version();
    ++state.tick;
  }
  for (const NodeId id : nodes)
    if (state.computed[index(id)] == State::unprepared) state.prepare(id);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    state.fetch(nodes, i);
    if (!state.known(nodes[i])) state.compute(nodes[i]);
  }
}

void Evaluator::run_with_needs(NodeId node) {
  run({});                                                 // the topology may have changed
  const bool kept = std::exchange(state_->keeping, true);  // a script may read every value that it has made
  std::vector<NodeId> pending{node};
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
  state_->keeping = kept;
}

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
