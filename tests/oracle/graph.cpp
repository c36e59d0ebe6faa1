#include "tests/oracle/graph.h"

#include <algorithm>
#include <cmath>

#include "stream/graph/kernels.h"
#include "stream/topology/topology.h"

namespace tocsin::oracle {
namespace {

using stream::Group;
using stream::Level;
using stream::Node;
using stream::NodeId;
using stream::Op;
using stream::Shape;

Number limited(Number a, Number b, bool from_below) {
  if (!a || !b) return std::nullopt;
  if (std::isnan(*a) || std::isnan(*b)) return NAN;
  return from_below ? std::max(*a, *b) : std::min(*a, *b);
}

template <class Holds>
Answer compare(Number a, Number b, Holds holds) {
  if (!a || !b || std::isnan(*a) || std::isnan(*b)) return std::nullopt;
  return holds(*a, *b);
}

template <class Make>
Number made_of(Number a, Number b, Make make) {
  if (!a || !b) return std::nullopt;
  return make(*a, *b);
}

Number finite_enough(double x) { return std::isnan(x) ? Number{} : Number{x}; }

Number quantile(std::vector<double> known, double q) {
  if (known.size() < 3) return std::nullopt;
  std::sort(known.begin(), known.end());
  const double place = static_cast<double>(known.size() - 1) * q;
  const auto k = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(k);
  if (share == 0 || known[k] == known[k + 1]) return known[k];
  return finite_enough(share == 0.5 ? 0.5 * known[k] + 0.5 * known[k + 1]
                                    : known[k] + (known[k + 1] - known[k]) * share);
}

}  // namespace

Answer both(Answer a, Answer b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? Answer{true} : std::nullopt;
}
Answer either(Answer a, Answer b) { return opposite(both(opposite(a), opposite(b))); }
Answer opposite(Answer a) { return a ? Answer{!*a} : a; }

Number number_of(double value) { return stream::is_absent(value) ? Number{} : Number{value}; }
Answer answer_of(stream::Truth truth) {
  return truth == stream::Truth::unknown ? Answer{} : Answer{truth == stream::Truth::yes};
}
bool same(const Number& a, double b) {
  if (!a || stream::is_absent(b)) return !a && stream::is_absent(b);
  return *a == b || (std::isnan(*a) && std::isnan(b));
}

const GraphOracle::Value& GraphOracle::value(NodeId id) {
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  Value made = compute(id);
  return values_.emplace(id, std::move(made)).first->second;
}

Number GraphOracle::number_at(NodeId id, Level level, std::size_t slot) {
  const Value& of = value(id);
  if (of.level == Level::none) return of.numbers[0];
  const Place at = of.level == level ? Place{slot} : members_.in(level, slot, of.level);
  return at ? of.numbers[*at] : std::nullopt;
}

Answer GraphOracle::answer_at(NodeId id, Level level, std::size_t slot) {
  const Value& of = value(id);
  if (of.level == Level::none) return of.answers[0];
  const Place at = of.level == level ? Place{slot} : members_.in(level, slot, of.level);
  return at ? of.answers[*at] : std::nullopt;
}

Number GraphOracle::argument(const Node& node, std::size_t i, std::size_t slot) {
  const Value& of = value(node.arguments[i]);
  return of.numbers[coarse(of.level) ? 0 : slot];
}

Answer GraphOracle::condition(const Node& node, std::size_t i, std::size_t slot) {
  const Value& of = value(node.arguments[i]);
  return of.answers[coarse(of.level) ? 0 : slot];
}

GraphOracle::Value GraphOracle::compute(NodeId id) {
  const Node& node = graph_[id];
  const std::size_t n = members_.size(node.type.level);
  Value made{node.type.level, {}, {}};
  if (stream::operation(node.op).on == Shape::window && node.op != Op::window) {
    Column goal;
    for (std::size_t slot = 0; !node.arguments.empty() && slot < n; ++slot) goal.push_back(argument(node, 0, slot));
    made.numbers = leaves_.window(id, node, goal);
    for (std::size_t slot = 0; node.type.shape == Shape::mask && slot < n; ++slot)
      made.answers.push_back(answer_of_window(node, made.numbers[slot], goal.empty() ? Number{} : goal[slot]));
  } else if (node.op == Op::state) {
    made.numbers = leaves_.state(node);
  } else if (node.op == Op::job_age) {
    made.numbers = {leaves_.job_age()};
  } else if (node.op == Op::freeze) {
    made.numbers = leaves_.freeze(node, value(node.arguments[0]).numbers);
  } else if (node.op == Op::f_now || node.op == Op::f_ever) {
    made.answers = leaves_.finding(node);
  } else {
    for (std::size_t slot = 0; slot < n; ++slot) {
      if (node.type.shape == Shape::column) made.numbers.push_back(number_of_member(node, slot));
      if (node.type.shape == Shape::mask) made.answers.push_back(answer_of_member(node, slot));
    }
  }
  return made;
}

// A number of values, or an age.
bool GraphOracle::answer_of_window(const Node& node, Number x, Number limit) {
  if (node.op == Op::w_seen) limit = 0;
  if (!x || std::isnan(*x) || !limit || std::isnan(*limit)) return false;
  return node.op == Op::w_within ? *x < *limit : *x > *limit && !std::isinf(*x);
}

Number GraphOracle::number_of_member(const Node& node, std::size_t slot) {
  const auto x = [&](std::size_t i) { return argument(node, i, slot); };
  switch (node.op) {
    case Op::constant: return node.attributes.number;
    case Op::add: return made_of(x(0), x(1), [](double a, double b) { return a + b; });
    case Op::subtract: return made_of(x(0), x(1), [](double a, double b) { return a - b; });
    case Op::multiply: return made_of(x(0), x(1), [](double a, double b) { return a * b; });
    case Op::divide: return x(1) == 0.0 ? Number{} : made_of(x(0), x(1), [](double a, double b) { return a / b; });
    case Op::negate: return made_of(x(0), 0.0, [](double a, double) { return -a; });
    case Op::abs: return made_of(x(0), 0.0, [](double a, double) { return std::fabs(a); });
    case Op::log: {
      const Number of = x(0);
      if (!of || *of <= 0) return std::nullopt;
      return std::isnan(*of) ? *of
                             : stream::natural_logarithm(
                                   *of);  // the engine's own: kernels_test holds it to two units in the last place
    }
    case Op::clamp_low: return limited(x(0), x(1), true);
    case Op::clamp: return limited(limited(x(0), x(1), true), x(2), false);
    case Op::fill: return x(0) ? x(0) : x(1);
    case Op::greatest:
    case Op::least: {
      const Number a = x(0), b = x(1);
      if (!a || !b || (std::isnan(*a) && std::isnan(*b))) return std::nullopt;
      if (std::isnan(*a) || std::isnan(*b)) return std::isnan(*a) ? b : a;
      return node.op == Op::greatest ? std::max(*a, *b) : std::min(*a, *b);
    }
    case Op::greatest_known:
    case Op::least_known: {
      Number best;
      for (const Number n : {x(0), x(1)})
        if (n && !std::isnan(*n) && (!best || (node.op == Op::greatest_known ? *n > *best : *n < *best))) best = n;
      return best;
    }
    case Op::choose: {
      const Answer which = condition(node, 0, slot);
      return !which ? Number{} : *which ? x(1) : x(2);
    }
    case Op::spread: {
      const Value& of = value(node.arguments[0]);
      const Place at = members_.in(node.type.level, slot, of.level);
      return at ? of.numbers[*at] : std::nullopt;
    }
    default: return fold(node, slot);
  }
}

Answer GraphOracle::answer_of_member(const Node& node, std::size_t slot) {
  const auto x = [&](std::size_t i) { return argument(node, i, slot); };
  const auto m = [&](std::size_t i) { return condition(node, i, slot); };
  switch (node.op) {
    case Op::above: return compare(x(0), x(1), [](double a, double b) { return a > b; });
    case Op::below: return compare(x(0), x(1), [](double a, double b) { return a < b; });
    case Op::at_least: return compare(x(0), x(1), [](double a, double b) { return a >= b; });
    case Op::at_most: return compare(x(0), x(1), [](double a, double b) { return a <= b; });
    case Op::known: return x(0).has_value();
    case Op::same: return compare(x(0), x(1), [](double a, double b) { return a == b; });
    case Op::is: {
      bool any = false;
      for (const stream::Scalar& scalar : node.attributes.values) {
        const Number wanted =
            scalar.index() == 0 ? Number{std::get<double>(scalar)} : leaves_.symbol(std::get<std::string>(scalar));
        any = any || (wanted && x(0) == wanted);
      }
      return compare(x(0), 0.0, [any](double, double) { return any; });
    }
    case Op::conjunction:
    case Op::disjunction: {
      Answer all = node.op == Op::conjunction;
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        Answer one = m(i);
        if (node.forms[i].unknown == stream::MaskForm::Unknown::no) one = one.value_or(false);
        if (node.forms[i].unknown == stream::MaskForm::Unknown::yes) one = one.value_or(true);
        if (node.forms[i].opposite) one = opposite(one);
        all = node.op == Op::conjunction ? both(all, one) : either(all, one);
      }
      return all;
    }
    case Op::spread: {
      const Value& of = value(node.arguments[0]);
      const Place at = members_.in(node.type.level, slot, of.level);
      return at ? of.answers[*at] : std::nullopt;
    }
    default: return fold_answers(node, slot);
  }
}

// The members whose values make up the result at this slot.
std::vector<std::size_t> GraphOracle::group(const Node& node, std::size_t slot) {
  const Level from = value(node.arguments[0]).level;
  const std::size_t n = members_.size(from);
  std::vector<std::size_t> all;
  if (node.attributes.group != Group::peers) {
    if (from == Level::rank && node.type.level == Level::job && members_.reserved_used())
      all.push_back(stream::reserved_slot);
    for (std::size_t member = 0; member < n; ++member)
      if (members_.in(from, member, node.type.level) == Place{slot}) all.push_back(member);
    return all;
  }
  std::vector<std::string> known;  // coordinates that any member has
  for (const auto& name : graph_.coordinates(*node.attributes.peers))
    for (std::size_t member = 0; member < n; ++member)
      if (!members_.coordinate(from, member, name).empty() && members_.in(from, member, Level::job)) {
        known.push_back(name);
        break;
      }
  const auto has_all = [&](std::size_t member) {
    return members_.in(from, member, Level::job) && std::none_of(known.begin(), known.end(), [&](const auto& name) {
             return members_.coordinate(from, member, name).empty();
           });
  };
  if (!has_all(slot)) return all;
  for (std::size_t member = 0; member < n; ++member)
    if (has_all(member) && std::all_of(known.begin(), known.end(), [&](const auto& name) {
          return members_.coordinate(from, member, name) == members_.coordinate(from, slot, name);
        }))
      all.push_back(member);
  return all;
}

Number GraphOracle::fold(const Node& node, std::size_t slot) {
  const bool peers = node.attributes.group == Group::peers;
  const auto of = group(node, slot);
  const Value& from = value(node.arguments[0]);
  if (node.op == Op::m_count) {
    std::size_t yes = 0, known = 0;
    for (const std::size_t member : of) {
      yes += from.answers[member] == true;
      known += from.answers[member].has_value();
    }
    return known < (peers ? 3u : 1u) ? Number{} : Number{static_cast<double>(yes)};
  }
  std::vector<double> known;
  std::size_t present = 0, place = 0;
  double lane[16] = {};  // sums run in 16 fixed lanes, by the place in the group
  for (const std::size_t member : of) {
    const Number x = from.numbers[member];
    present += x.has_value();
    if (x && !std::isnan(*x)) known.push_back(*x), lane[place % 16] += *x;
    ++place;
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  if (node.op == Op::g_count) return peers && present < 3 ? Number{} : Number{static_cast<double>(present)};
  if (known.empty() || ((peers || node.op == Op::g_spread) && known.size() < 3)) return std::nullopt;
  const double least = *std::min_element(known.begin(), known.end()),
               most = *std::max_element(known.begin(), known.end());
  switch (node.op) {
    case Op::g_sum: return finite_enough(lane[0]);
    case Op::g_mean: return finite_enough(lane[0] / static_cast<double>(known.size()));
    case Op::g_min: return least;
    case Op::g_max: return most;
    case Op::g_spread: return finite_enough(most - least);
    case Op::g_mode: {
      const auto often = [&](double x) { return std::count(known.begin(), known.end(), x); };
      return *std::max_element(known.begin(), known.end(), [&](double a, double b) { return often(a) < often(b); });
    }
    case Op::g_median: return quantile(known, 0.5);
    case Op::g_quantile: return quantile(known, node.attributes.number);
    case Op::g_mad: {
      const Number median = quantile(known, 0.5);
      std::vector<double> distances;
      for (const double x : known)
        if (median && !std::isnan(x - *median)) distances.push_back(std::fabs(x - *median));
      return quantile(distances, 0.5);
    }
    default: return std::nullopt;
  }
}

Answer GraphOracle::fold_answers(const Node& node, std::size_t slot) {
  const Value& from = value(node.arguments[0]);
  std::size_t yes = 0, unknown = 0, all = 0;
  for (const std::size_t member : group(node, slot)) {
    const Answer answer = from.answers[member];
    if (from.level == Level::rank && member == stream::reserved_slot && !answer) continue;
    yes += answer == true;
    unknown += !answer;
    ++all;
  }
  if (all < (node.attributes.group == Group::peers ? 3u : 1u)) return std::nullopt;
  Number limit = node.op == Op::m_any ? 1.0 : static_cast<double>(all);
  if (node.op == Op::m_at_least || node.op == Op::m_at_most)
    limit = node.arguments.size() > 1 ? argument(node, 1, slot) : Number{node.attributes.number};
  if (!limit || std::isnan(*limit)) return std::nullopt;
  // However the unknown ones turn out.
  bool may_be = false, may_not_be = false;
  for (std::size_t more = 0; more <= unknown; ++more) {
    const auto sum = static_cast<double>(yes + more);
    const bool holds = node.op == Op::m_at_most ? sum <= *limit : sum >= *limit;
    (holds ? may_be : may_not_be) = true;
  }
  return may_be && may_not_be ? Answer{} : Answer{may_be};
}

}  // namespace tocsin::oracle
