#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

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

// Whether all members of the mask have this value.
bool all_are(const MaskOperand& mask, std::size_t n, Truth value) {
  if (mask.one_for_all) n = 1;
  return mask.form.of(mask.values[0]) == value && std::memcmp(mask.values, mask.values + 1, n - 1) == 0;
}

}  // namespace

void Evaluator::State::write(NodeId id, const NodeStep& of, std::size_t n) {
  switch (of.op) {
    case Op::spread:
    case Op::at: return spread(of);
    case Op::state:
    case Op::freeze:
    case Op::job_age:
    case Op::f_now:
    case Op::f_ever: return leaf(id, of);
    case Op::g_median:
    case Op::g_mad:
    case Op::g_mean:
    case Op::g_min:
    case Op::g_max:
    case Op::g_sum:
    case Op::g_quantile:
    case Op::g_count:
    case Op::g_spread:
    case Op::g_mode:
    case Op::m_any:
    case Op::m_all:
    case Op::m_at_least:
    case Op::m_at_most:
    case Op::m_count: return reduce(id, of);
    default:
      if (of.source == Source::window) leaf(id, of);
      else member_by_member(id, of, n);
  }
}

void Evaluator::State::leaf(NodeId id, const NodeStep& of) {
  const Node& node = (*graph)[id];
  switch (of.op) {
    case Op::state: return leaves->state(node, fresh_column);
    case Op::job_age: fresh_column.front() = leaves->job_age(); return;
    case Op::f_now: readings[of.reading] = leaves->reading_of_finding(node); [[fallthrough]];
    case Op::f_ever: return leaves->finding(node, fresh_mask);
    case Op::freeze: {
      flatten(of.arguments[0]);
      std::ranges::copy(column(of.arguments[0]), fresh_column.begin());
      return leaves->freeze(node, fresh_column);
    }
    default: break;
  }
  const bool compares = of.mask_of_window();
  Column other;
  if (of.arity > 0 && !compares) {
    const NodeId argument = of.arguments[0];
    flatten(argument);
    other = column(argument);
    if (const Level level = graph->step(argument).level; coarse(level) && level != of.level) {
      between.assign(fresh_column.size(), column(argument).front());
      other = between;
    }
  }
  const WindowSpec& window = *node.attributes.window;
  fresh_constant = leaves->reduce(node, window, other, fresh_column);
  readings[of.reading] = leaves->reading(node, window);
  if (compares) compare_window(of);
}

// A mask of a window, of the column that its word is made of.
void Evaluator::State::compare_window(const NodeStep& of) {
  const Kernels& kernel = kernels();
  const double nothing = 0;
  Operand limit{&nothing, true};
  if (of.arity > 0) {
    limit = number(of.arguments[0]);
    if (!limit.one_for_all && std::exchange(fresh_constant, false))
      std::fill(fresh_column.begin() + 2, fresh_column.end(), fresh_column[1]);
  }
  const std::size_t n = fresh_constant ? 2 : fresh_mask.size();
  const auto compare = of.op == Op::w_within ? kernel.surely_below : kernel.finite_above;
  compare({fresh_column.data()}, limit, fresh_mask.data(), n);
}

// Few ask for it, so it is made again.
Column Evaluator::State::compared(NodeId id) {
  const Node& node = (*graph)[id];
  const std::size_t n = values.members(node.type.level);
  if (numbers.size() < n) numbers.resize(n), truths.resize(n);
  const auto column = std::span{numbers}.first(n);
  if (leaves->reduce(node, *node.attributes.window, {}, column)) std::fill(column.begin() + 2, column.end(), column[1]);
  return column;
}

// Where the members of all arguments are constant, so are those of the result.
void Evaluator::State::member_by_member(NodeId id, const NodeStep& of, std::size_t n) {
  fresh_constant = n > 2 && constant_arguments(of);
  write_members(id, of, fresh_column.data(), fresh_mask.data(), fresh_constant ? 2 : n);
}

bool Evaluator::State::constant_arguments(const NodeStep& of) {
  return std::all_of(of.arguments.begin(), of.arguments.begin() + of.arity, [&](NodeId id) {
    const NodeStep& argument = graph->step(id);
    return coarse(argument.level) || (argument.in_place ? constant_arguments(argument) : constant.has(id));
  });
}

MaskOperand Evaluator::State::truth(NodeId id, std::size_t n) {
  const NodeStep& of = graph->step(id);
  const bool one_for_all = coarse(of.level);
  if (!of.in_place) {
    if (!fresh_constant) flatten(id);
    return {mask(id).data(), one_for_all};
  }
  if (one_for_all) n = 1;
  if (rooms.size() == rooms_used) rooms.emplace_back();
  std::vector<Truth>& room = rooms[rooms_used++];
  if (room.size() < n) room.resize(n);
  Truth* const values = room.data();  // the room itself may move
  if (n > 0) write_members(id, of, nullptr, values, n);
  return {values, one_for_all};
}

Mask Evaluator::State::mask_in_place(NodeId id) {
  fresh_constant = false, rooms_used = 0;
  const std::size_t n = values.members(graph->step(id).level);
  return {truth(id, n).values, n};
}

// Values of n members of a node whose arguments are taken member by member.
void Evaluator::State::write_members(NodeId id, const NodeStep& of, double* column, Truth* mask, std::size_t n) {
  const Kernels& kernel = kernels();
  const auto x = [&](std::size_t i) { return number(of.arguments[i]); };
  const auto m = [&](std::size_t i) { return truth(of.arguments[i], n); };
  switch (of.op) {
    case Op::add: return kernel.add(x(0), x(1), column, n);
    case Op::subtract: return kernel.subtract(x(0), x(1), column, n);
    case Op::multiply: return kernel.multiply(x(0), x(1), column, n);
    case Op::divide: return kernel.divide(x(0), x(1), column, n);
    case Op::greatest: return kernel.greatest(x(0), x(1), column, n);
    case Op::least: return kernel.least(x(0), x(1), column, n);
    case Op::greatest_known: return kernel.greatest_known(x(0), x(1), column, n);
    case Op::least_known: return kernel.least_known(x(0), x(1), column, n);
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
    case Op::known: return kernel.known(x(0).values, mask, n);
    case Op::same: return kernel.same(x(0), x(1), mask, n);
    case Op::is:
      literals.clear();
      for (const Scalar& value : (*graph)[id].attributes.values) {
        const double* literal = std::get_if<double>(&value);
        literals.push_back(literal ? *literal : leaves->symbol(std::get<std::string>(value)));
      }
      return kernel.is(x(0).values, literals.data(), literals.size(), mask, n);
    case Op::conjunction:
    case Op::disjunction: return join(of, mask, n);
    default: assert(false);
  }
}

// What is computed in place is computed last, and not at all where other masks decide for all members.
void Evaluator::State::join(const NodeStep& of, Truth* mask, std::size_t n) {
  const Kernels& kernel = kernels();
  const auto join_all = of.op == Op::conjunction ? kernel.conjunction : kernel.disjunction;
  const Truth deciding = of.op == Op::conjunction ? Truth::no : Truth::yes;
  std::array<MaskOperand, most_arguments> terms{};
  std::size_t count = 0;
  for (const bool in_place : {false, true}) {
    for (std::size_t i = 0; i < of.arity; ++i) {
      if (graph->step(of.arguments[i]).in_place != in_place) continue;
      MaskOperand& term = terms[count++] = truth(of.arguments[i], n);
      term.form = of.forms[i];
      if (!in_place || !all_are(term, n, deciding)) continue;
      std::fill_n(mask, n, deciding);
      return;
    }
    if (count == 0) continue;
    join_all(terms.data(), count, mask, n);
    if (count == of.arity || all_are({mask}, n, deciding)) return;
  }
}

void Evaluator::State::spread(const NodeStep& of) {
  const NodeId from = of.arguments[0];
  const auto container = topology->containing(of.level, graph->step(from).level);
  const auto spread_to = [&](auto& to, const auto* from_values, auto nothing) {
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(container.size()), to.end(), nothing);
    for (Slot slot = 0; slot < container.size(); ++slot)
      to[slot] = container[slot] == no_slot ? nothing : from_values[container[slot]];
  };
  if (of.shape == Shape::column) spread_to(fresh_column, number(from).values, absent);
  else spread_to(fresh_mask, truth(from, values.members(graph->step(from).level)).values, Truth::unknown);
}

void Evaluator::State::reduce(NodeId id, const NodeStep& of) {
  const Node& node = (*graph)[id];
  const NodeId from = of.arguments[0];
  const Level level = graph->step(from).level;
  const Grouping& grouping = graph->groupings()[of.grouping];
  const bool peers = grouping.by == Group::peers;
  GroupsAt& at = groups[of.grouping];
  if (at.version != version) {
    at.groups = peers ? &topology->peers(level, graph->coordinates(grouping.peers))
                      : &topology->groups(level, level_of(grouping.by));
    at.version = version;
  }
  const GroupFold::Of members{*at.groups, peers, level == Level::rank};
  const std::size_t n = values.members(level);
  if (graph->step(from).shape == Shape::column)
    return fold.column(of.op, node.attributes.number, members, {number(from).values, n}, fresh_column);
  const Mask mask{truth(from, n).values, n};
  if (of.op == Op::m_count) return fold.count(members, mask, fresh_column);
  const double& literal = node.attributes.number;
  fold.truths(of.op, of.arity > 1 ? number(of.arguments[1]) : Operand{&literal, true}, members, mask, fresh_mask);
}

}  // namespace tocsin::stream
