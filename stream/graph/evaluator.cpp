#include "stream/graph/evaluator.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "stream/graph/evaluator_state.h"

namespace tocsin::stream {
namespace {

// Whether each of its values depends on its arguments at this tick alone, and is written.
bool writes_all_members(const Node& node) {
  const Operation& entry = operation(node.op);
  switch (node.op) {
    case Op::constant:
    case Op::window:
    case Op::finding:
    case Op::state:
    case Op::freeze:
    case Op::f_now:
    case Op::f_ever: return false;
    case Op::spread:
    case Op::at: return true;
    default: return entry.on != Shape::window && (!node.attributes.group || node.attributes.group == Group::peers);
  }
}

}  // namespace

void Evaluator::State::prepare(NodeId id) {
  const Node& node = (*graph)[id];
  Step& made = step(id);
  made.op = node.op;
  made.shape = node.type.shape;
  made.level = node.type.level;
  made.of_window = operation(node.op).on == Shape::window;
  made.arity = static_cast<std::uint8_t>(node.arguments.size());
  made.lends = !coarse(made.level) && writes_all_members(node);
  if (made.lends) with_memory(made, [&](auto&, auto& spare, auto) { expect(made, spare); });
  made.lent = made.lends;  // it has none yet
  computed[index(id)] = never;
  made.takers = 0;
  for (const NodeId argument : node.arguments) ++step(argument).takers;
  made.groups_version = 0;
  assert(node.arguments.size() <= made.arguments.size());
  std::copy(node.arguments.begin(), node.arguments.end(), made.arguments.begin());
  made.column.clear();
  made.mask.clear();
  made.values.resize(node.attributes.values.size());
  if (node.op == Op::constant) {
    made.column.assign(1, node.attributes.number);
    computed[index(id)] = for_ever;
  }
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
    const Step& step = steps[index(nodes[i])];
    if (!step.of_window) return;
    constexpr std::size_t operation_and_arguments = 128;  // of a node, in front
    ask(&(*graph)[nodes[i]], operation_and_arguments);
    ask(&(*graph)[step.arguments[0]].attributes.window, sizeof(WindowSpec));
  }
}

void Evaluator::State::compute(NodeId id, Step& step) {
  for (std::size_t i = 0; i < step.arity; ++i)
    if (Step& argument = steps[index(step.arguments[i])]; argument.lent) compute_again(step.arguments[i], argument);
  take_memory(step);
  computed[index(id)] = tick;
  step.constant = false;
  step.served = 0;
  if (const std::size_t n = topology->size(step.level)) write(id, step, n);
  for (std::size_t i = 0; i < step.arity && !keeping; ++i) served(steps[index(step.arguments[i])]);
}

void Evaluator::State::take_memory(Step& step) {
  with_memory(step, [&, n = topology->size(step.level)](auto& values, auto& spare, auto nothing) {
    if (std::exchange(step.lent, false) && step.takers > 0 && values.capacity() < n) spare.take(values);
    values.resize(n, nothing);
  });
}

void Evaluator::State::served(Step& argument) {
  if (++argument.served < argument.takers || !argument.lends || std::exchange(argument.lent, true)) return;
  with_memory(argument, [](auto& values, auto& spare, auto) { spare.give(values); });
}

Evaluator::Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves)
    : state_(new State{graph, topology, leaves}) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::begin_tick() { ++state_->tick; }

void Evaluator::forget_above(std::size_t mark) {
  // The memory stays: a scripted rule asks for much the same at its next evaluation.
  for (std::size_t i = mark; i < state_->steps.size(); ++i) {
    const State::Step& gone = state_->steps[i];
    if (std::exchange(state_->computed[i], State::unprepared) == State::unprepared) continue;
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
    if (!state.known(nodes[i])) state.compute(nodes[i], state.step(nodes[i]));
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
  const State::Step* step = state_->flattened(id);
  return step ? Column{step->column} : Column{};
}

Mask Evaluator::mask(NodeId id) const {
  const State::Step* step = state_->flattened(id);
  return step ? Mask{step->mask} : Mask{};
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
