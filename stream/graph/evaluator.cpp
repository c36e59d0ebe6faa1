#include "stream/graph/evaluator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "stream/graph/group_fold.h"
#include "stream/graph/kernels.h"

namespace tocsin::stream {
namespace {

Level level_of(Group group) noexcept {
  switch (group) {
    case Group::gpu: return Level::gpu;
    case Group::node: return Level::node;
    case Group::rack: return Level::rack;
    case Group::job:
    case Group::peers: return Level::job;
  }
  return Level::job;
}
std::size_t index(NodeId id) noexcept { return static_cast<std::size_t>(id); }

}  // namespace

struct Evaluator::State {
  // A node that is ready to run: its arguments, what its operation needs, and its values at the current tick.
  struct Step {
    bool ready = false;
    bool of_window = false;
    std::uint8_t arity = 0;
    Op op{};
    Shape shape = Shape::column;
    Level level = Level::none;
    std::uint64_t computed = 0;  // the tick; constants stay computed
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
  std::vector<Step> steps;  // by node
  std::uint64_t tick = 1;
  std::uint64_t version = 0;  // of the topology, at this tick
  GroupFold fold;
  std::vector<double> between;  // the first half of clamp; a column for all members, with one value

  static constexpr std::uint64_t for_ever = ~std::uint64_t{0};

  Step& step(NodeId id) { return steps[index(id)]; }
  bool known(const Step& step) const { return step.computed == tick || step.computed == for_ever; }
  const Step* now(NodeId id) const {  // null where the node has not run at this tick
    return index(id) < steps.size() && steps[index(id)].ready && known(steps[index(id)]) ? &steps[index(id)] : nullptr;
  }
  // Writes all values of a step whose members are constant.
  void flatten(Step& step) {
    if (!std::exchange(step.constant, false)) return;
    if (step.shape == Shape::column) std::fill(step.column.begin() + 2, step.column.end(), step.column[1]);
    else if (step.shape == Shape::mask) std::fill(step.mask.begin() + 2, step.mask.end(), step.mask[1]);
  }
  const Step* flattened(NodeId id) {
    if (now(id) == nullptr) return nullptr;
    flatten(step(id));
    return &step(id);
  }
  void prepare(NodeId id);
  void compute(NodeId id, Step& step);
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

void Evaluator::State::prepare(NodeId id) {
  const Node& node = (*graph)[id];
  Step& made = step(id);
  made.ready = true;
  made.op = node.op;
  made.shape = node.type.shape;
  made.level = node.type.level;
  made.of_window = operation(node.op).on == Shape::window;
  made.arity = static_cast<std::uint8_t>(node.arguments.size());
  made.computed = 0;
  made.groups_version = 0;
  assert(node.arguments.size() <= made.arguments.size());
  std::copy(node.arguments.begin(), node.arguments.end(), made.arguments.begin());
  made.column.clear();
  made.mask.clear();
  made.values.resize(node.attributes.values.size());
  if (node.op == Op::constant) {
    made.column.assign(1, node.attributes.number);
    made.computed = for_ever;
  }
}

void Evaluator::State::compute(NodeId id, Step& step) {
  const std::size_t n = topology->size(step.level);
  if (step.shape == Shape::column) step.column.resize(n, absent);
  else if (step.shape == Shape::mask) step.mask.resize(n, Truth::unknown);
  step.computed = tick;
  step.constant = false;
  if (n == 0) return;
  switch (step.op) {
    case Op::constant:
    case Op::window:
    case Op::finding: return;
    case Op::spread:
    case Op::at: return spread(step);
    case Op::state:
    case Op::freeze:
    case Op::f_now:
    case Op::f_ever: return leaf((*graph)[id], step);
    case Op::g_median:
    case Op::g_mad:
    case Op::g_mean:
    case Op::g_min:
    case Op::g_max:
    case Op::g_sum:
    case Op::g_quantile:
    case Op::g_count:
    case Op::g_spread:
    case Op::m_any:
    case Op::m_all:
    case Op::m_at_least:
    case Op::m_at_most:
    case Op::m_count: return reduce((*graph)[id], step);
    default:
      if (step.of_window) leaf((*graph)[id], step);
      else member_by_member(id, step, n);
  }
}

void Evaluator::State::leaf(const Node& node, Step& step) {
  switch (step.op) {
    case Op::state: return leaves->state(node, step.column);
    case Op::f_now:
    case Op::f_ever: return leaves->finding(node, step.mask);
    case Op::freeze: {
      flatten(steps[index(step.arguments[0])]);
      const auto& from = steps[index(step.arguments[0])].column;
      std::copy(from.begin(), from.end(), step.column.begin());
      return leaves->freeze(node, step.column);
    }
    default: break;
  }
  Column other;
  if (node.arguments.size() > 1) {
    Step& argument = steps[index(step.arguments[1])];
    flatten(argument);
    other = argument.column;
    if (coarse(argument.level) && argument.level != step.level) {
      between.assign(step.column.size(), argument.column.front());
      other = between;
    }
  }
  step.constant = leaves->reduce(node, *(*graph)[step.arguments[0]].attributes.window, other, step.column);
}

// Where the members of all arguments are constant, so are those of the result.
void Evaluator::State::member_by_member(NodeId id, Step& step, std::size_t n) {
  step.constant = n > 2;
  for (std::size_t i = 0; i < step.arity; ++i) {
    const Step& argument = steps[index(step.arguments[i])];
    step.constant = step.constant && (argument.constant || coarse(argument.level));
  }
  if (step.constant) n = 2;
  else
    for (std::size_t i = 0; i < step.arity; ++i) flatten(steps[index(step.arguments[i])]);
  const Kernels& kernel = kernels();
  double* column = step.column.data();
  Truth* mask = step.mask.data();
  const auto x = [&](std::size_t i) { return number(step, i); };
  const auto m = [&](std::size_t i) { return truth(step, i); };
  switch (step.op) {
    case Op::add: return kernel.add(x(0), x(1), column, n);
    case Op::subtract: return kernel.subtract(x(0), x(1), column, n);
    case Op::multiply: return kernel.multiply(x(0), x(1), column, n);
    case Op::divide: return kernel.divide(x(0), x(1), column, n);
    case Op::greatest: return kernel.greatest(x(0), x(1), column, n);
    case Op::least: return kernel.least(x(0), x(1), column, n);
    case Op::fill: return kernel.fill(x(0), x(1), column, n);
    case Op::clamp_low: return kernel.clamp_low(x(0), x(1), column, n);
    case Op::clamp:
      between.resize(n);
      kernel.clamp_low(x(0), x(1), between.data(), n);
      return kernel.clamp_high({between.data()}, x(2), column, n);
    case Op::negate: return kernel.negate(x(0).values, column, n);
    case Op::abs: return kernel.abs(x(0).values, column, n);
    case Op::log: return kernel.log(x(0).values, column, n);
    case Op::choose: return kernel.choose(m(0), x(1), x(2), column, n);
    case Op::above: return kernel.above(x(0), x(1), mask, n);
    case Op::below: return kernel.below(x(0), x(1), mask, n);
    case Op::at_least: return kernel.at_least(x(0), x(1), mask, n);
    case Op::at_most: return kernel.at_most(x(0), x(1), mask, n);
    case Op::is:
      for (std::size_t i = 0; i < step.values.size(); ++i) {
        const Scalar& value = (*graph)[id].attributes.values[i];
        const double* literal = std::get_if<double>(&value);
        step.values[i] = literal ? *literal : leaves->symbol(std::get<std::string>(value));
      }
      return kernel.is(x(0).values, step.values.data(), step.values.size(), mask, n);
    case Op::conjunction: return kernel.conjunction(m(0), m(1), mask, n);
    case Op::disjunction: return kernel.disjunction(m(0), m(1), mask, n);
    case Op::negation: return kernel.negation(m(0).values, mask, n);
    case Op::surely: return kernel.surely(m(0).values, mask, n);
    case Op::maybe: return kernel.maybe(m(0).values, mask, n);
    default: assert(false);
  }
}

void Evaluator::State::spread(Step& step) {
  Step& from = steps[index(step.arguments[0])];
  flatten(from);
  const auto container = topology->containing(step.level, from.level);
  if (step.shape == Shape::column) {
    for (Slot slot = 0; slot < container.size(); ++slot)
      step.column[slot] = container[slot] == no_slot ? absent : from.column[container[slot]];
  } else {
    for (Slot slot = 0; slot < container.size(); ++slot)
      step.mask[slot] = container[slot] == no_slot ? Truth::unknown : from.mask[container[slot]];
  }
}

void Evaluator::State::reduce(const Node& node, Step& step) {
  Step& from = steps[index(step.arguments[0])];
  flatten(from);
  const bool peers = node.attributes.group == Group::peers;
  if (step.groups_version != version) {
    step.groups = peers ? &topology->peers(from.level, graph->coordinates(*node.attributes.peers))
                        : &topology->groups(from.level, level_of(node.attributes.group.value_or(Group::job)));
    step.groups_version = version;
  }
  const GroupFold::Of of{*step.groups, peers, from.level == Level::rank};
  if (from.shape == Shape::column) return fold.column(step.op, node.attributes.number, of, from.column, step.column);
  if (step.op == Op::m_count) return fold.count(of, from.mask, step.column);
  if (step.arity > 1) flatten(steps[index(step.arguments[1])]);
  const double& literal = node.attributes.number;
  fold.truths(step.op, node.arguments.size() > 1 ? number(step, 1) : Operand{&literal, true}, of, from.mask, step.mask);
}

Evaluator::Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves)
    : state_(new State{&graph, &topology, &leaves, {}, 1, 0, {}, {}}) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::begin_tick() { ++state_->tick; }

void Evaluator::forget_above(std::size_t mark) {
  // The memory stays: a scripted rule asks for much the same at its next evaluation.
  for (std::size_t i = mark; i < state_->steps.size(); ++i) state_->steps[i].ready = false;
}

void Evaluator::run(std::span<const NodeId> nodes) {
  State& state = *state_;
  if (state.steps.size() < state.graph->size()) state.steps.resize(state.graph->size());
  if (state.version != state.topology->version()) {  // the columns have other lengths now: no earlier value fits
    state.version = state.topology->version();
    ++state.tick;
  }
  for (const NodeId id : nodes) {
    State::Step& step = state.step(id);
    if (!step.ready) state.prepare(id);
    if (!state.known(step)) state.compute(id, step);
  }
}

void Evaluator::run_with_needs(NodeId node) {
  run({});  // the topology may have changed
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
