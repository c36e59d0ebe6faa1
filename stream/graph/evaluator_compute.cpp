#include <algorithm>
#include <cassert>

#include "stream/graph/evaluator_state.h"

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

}  // namespace

void Evaluator::State::write(NodeId id, Step& step, std::size_t n) {
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
    std::fill(step.column.begin() + static_cast<std::ptrdiff_t>(container.size()), step.column.end(), absent);
    for (Slot slot = 0; slot < container.size(); ++slot)
      step.column[slot] = container[slot] == no_slot ? absent : from.column[container[slot]];
  } else {
    std::fill(step.mask.begin() + static_cast<std::ptrdiff_t>(container.size()), step.mask.end(), Truth::unknown);
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
  fold.truths(step.op, step.arity > 1 ? number(step, 1) : Operand{&literal, true}, of, from.mask, step.mask);
}

}  // namespace tocsin::stream
