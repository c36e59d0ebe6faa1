#include "tests/stream_kernels/naive.h"

#include "stream/kernels.h"

namespace tocsin::stream {
namespace {

double arithmetic(double a, double b, double result) { return is_absent(a) || is_absent(b) ? absent : canonical(result); }
double low(double a, double b) { return arithmetic(a, b, is_nan(a) || is_nan(b) ? measured_nan : std::max(a, b)); }
double high(double a, double b) { return arithmetic(a, b, is_nan(a) || is_nan(b) ? measured_nan : std::min(a, b)); }
Truth compare(double a, double b, bool yes) { return is_nan(a) || is_nan(b) ? Truth::unknown : truth(yes); }

double quantile_of(std::vector<double> known, double q) {
  if (known.size() < 3) return absent;
  std::sort(known.begin(), known.end());
  const double place = static_cast<double>(known.size() - 1) * q;
  const auto k = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(k);
  if (share == 0 || known[k] == known[k + 1]) return known[k];
  const double result = share == 0.5 ? 0.5 * known[k] + 0.5 * known[k + 1] : known[k] + (known[k + 1] - known[k]) * share;
  return is_number(result) ? result : absent;
}

}  // namespace

Naive::Value Naive::compute(const Node& node) {
  Value made{node.type.level, {}, {}};
  const std::size_t n = world_.size(node.type.level);
  if (operation(node.op).on == Shape::window && node.op != Op::window && node.op != Op::w_time_to) {
    const auto& window = *graph_[node.arguments[0]].attributes.window;
    made.numbers = leaves_.column(DrawnLeaves::name_of(node) + static_cast<std::uint64_t>(window.signal) * 101, n);
  } else if (node.op == Op::state) {
    made.numbers = leaves_.column(DrawnLeaves::name_of(node), n);
  } else if (node.op == Op::f_now || node.op == Op::f_ever) {
    made.truths = leaves_.mask(DrawnLeaves::name_of(node), n);
  } else {
    for (std::size_t slot = 0; slot < n; ++slot) {
      if (node.type.shape == Shape::column) made.numbers.push_back(number_of(node, slot));
      if (node.type.shape == Shape::mask) made.truths.push_back(mask_of(node, slot));
    }
  }
  return made;
}

double Naive::number_of(const Node& node, std::size_t slot) {
  const auto x = [&](std::size_t i) { return number(node, i, slot); };
  switch (node.op) {
    case Op::constant: return node.attributes.number;
    case Op::freeze: return DrawnLeaves::held(slot) ? 7.5 : x(0);
    case Op::w_time_to: return x(1);
    case Op::add: return arithmetic(x(0), x(1), x(0) + x(1));
    case Op::subtract: return arithmetic(x(0), x(1), x(0) - x(1));
    case Op::multiply: return arithmetic(x(0), x(1), x(0) * x(1));
    case Op::divide: return x(1) == 0 ? absent : arithmetic(x(0), x(1), x(0) / x(1));
    case Op::negate: return arithmetic(x(0), 0, -x(0));
    case Op::abs: return arithmetic(x(0), 0, std::fabs(x(0)));
    case Op::log: return x(0) <= 0 ? absent : arithmetic(x(0), 0, is_nan(x(0)) ? x(0) : natural_logarithm(x(0)));
    case Op::clamp_low: return low(x(0), x(1));
    case Op::clamp: return high(low(x(0), x(1)), x(2));
    case Op::fill: return is_absent(x(0)) ? x(1) : x(0);
    case Op::greatest:
    case Op::least: {
      const double a = x(0), b = x(1);
      if (is_absent(a) || is_absent(b) || (is_nan(a) && is_nan(b))) return absent;
      if (is_nan(a) || is_nan(b)) return is_nan(a) ? b : a;
      return node.op == Op::greatest ? std::max(a, b) : std::min(a, b);
    }
    case Op::choose: {
      const Truth which = truth_of(node, 0, slot);
      return which == Truth::yes ? x(1) : which == Truth::no ? x(2) : absent;
    }
    case Op::spread: {
      const Value& of = value(node.arguments[0]);
      const int at = world_.in(node.type.level, static_cast<int>(slot), of.level);
      return at < 0 ? absent : of.numbers[static_cast<std::size_t>(at)];
    }
    default: return fold(node, slot);
  }
}

Truth Naive::mask_of(const Node& node, std::size_t slot) {
  const auto x = [&](std::size_t i) { return number(node, i, slot); };
  const auto m = [&](std::size_t i) { return truth_of(node, i, slot); };
  switch (node.op) {
    case Op::above: return compare(x(0), x(1), x(0) > x(1));
    case Op::below: return compare(x(0), x(1), x(0) < x(1));
    case Op::at_least: return compare(x(0), x(1), x(0) >= x(1));
    case Op::at_most: return compare(x(0), x(1), x(0) <= x(1));
    case Op::is: {
      bool any = false;
      for (const Scalar& scalar : node.attributes.values)
        any = any || x(0) == (scalar.index() == 0 ? std::get<double>(scalar) : leaves_.symbol(std::get<std::string>(scalar)));
      return compare(x(0), 0, any);
    }
    case Op::conjunction: return m(0) & m(1);
    case Op::disjunction: return m(0) | m(1);
    case Op::negation: return ~m(0);
    case Op::surely: return truth(m(0) == Truth::yes);
    case Op::maybe: return truth(m(0) != Truth::no);
    case Op::spread: {
      const Value& of = value(node.arguments[0]);
      const int at = world_.in(node.type.level, static_cast<int>(slot), of.level);
      return at < 0 ? Truth::unknown : of.truths[static_cast<std::size_t>(at)];
    }
    default: return fold_truths(node, slot);
  }
}

// The members whose values make up the result at this slot.
std::vector<int> Naive::members(const Node& node, std::size_t slot) {
  const Level from = value(node.arguments[0]).level;
  const auto n = static_cast<int>(world_.size(from));
  std::vector<int> all;
  if (node.attributes.group != Group::peers) {
    if (from == Level::rank && node.type.level == Level::job && world_.reserved) all.push_back(0);
    for (int member = 0; member < n; ++member)
      if (world_.in(from, member, node.type.level) == static_cast<int>(slot)) all.push_back(member);
    return all;
  }
  std::vector<std::string> told;
  for (const auto& name : graph_.coordinates(*node.attributes.peers))
    for (int member = 0; member < n; ++member)
      if (!world_.coordinate(from, member, name).empty() && world_.in(from, member, Level::job) == 0) {
        told.push_back(name);
        break;
      }
  const auto has_all = [&](int member) {
    return world_.in(from, member, Level::job) == 0 &&
           std::none_of(told.begin(), told.end(), [&](const auto& name) { return world_.coordinate(from, member, name).empty(); });
  };
  const int me = static_cast<int>(slot);
  if (!has_all(me)) return all;
  for (int member = 0; member < n; ++member)
    if (has_all(member) && std::all_of(told.begin(), told.end(), [&](const auto& name) {
          return world_.coordinate(from, member, name) == world_.coordinate(from, me, name);
        }))
      all.push_back(member);
  return all;
}

double Naive::fold(const Node& node, std::size_t slot) {
  const bool peers = node.attributes.group == Group::peers;
  const auto of = members(node, slot);
  const Value& from = value(node.arguments[0]);
  if (node.op == Op::m_count) {
    double yes = 0, known = 0;
    for (const int member : of) {
      yes += from.truths[static_cast<std::size_t>(member)] == Truth::yes;
      known += from.truths[static_cast<std::size_t>(member)] != Truth::unknown;
    }
    return known < (peers ? 3 : 1) ? absent : yes;
  }
  std::vector<double> known;
  double present = 0, lane[16] = {};
  std::size_t place = 0;
  for (const int member : of) {
    const double x = from.numbers[static_cast<std::size_t>(member)];
    present += !is_absent(x);
    if (is_number(x)) known.push_back(x), lane[place % 16] += x;
    ++place;
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  const auto count = static_cast<double>(known.size());
  if (node.op == Op::g_count) return peers && (present < 3) ? absent : present;
  if (known.empty() || ((peers || node.op == Op::g_spread) && count < 3)) return absent;
  const auto or_absent = [](double x) { return is_number(x) ? x : absent; };
  const double least = *std::min_element(known.begin(), known.end()), most = *std::max_element(known.begin(), known.end());
  switch (node.op) {
    case Op::g_sum: return or_absent(lane[0]);
    case Op::g_mean: return or_absent(lane[0] / count);
    case Op::g_min: return least;
    case Op::g_max: return most;
    case Op::g_spread: return or_absent(most - least);
    case Op::g_median: return quantile_of(known, 0.5);
    case Op::g_quantile: return quantile_of(known, node.attributes.number);
    case Op::g_mad: {
      const double median = quantile_of(known, 0.5);
      std::vector<double> distances;
      for (const double x : known)
        if (is_number(x - median)) distances.push_back(std::fabs(x - median));
      return is_number(median) ? quantile_of(distances, 0.5) : absent;
    }
    default: return 12345;
  }
}

Truth Naive::fold_truths(const Node& node, std::size_t slot) {
  const auto& from = value(node.arguments[0]);
  double yes = 0, unknown = 0, all = 0;
  for (const int member : members(node, slot)) {
    const Truth t = from.truths[static_cast<std::size_t>(member)];
    if (from.level == Level::rank && member == 0 && t == Truth::unknown) continue;
    yes += t == Truth::yes;
    unknown += t == Truth::unknown;
    ++all;
  }
  if (all < (node.attributes.group == Group::peers ? 3 : 1)) return Truth::unknown;
  const double n = node.op == Op::m_any ? 1 : node.op == Op::m_all ? all : node.arguments.size() > 1 ? number(node, 1, slot) : node.attributes.number;
  if (is_nan(n)) return Truth::unknown;
  // However the unknown ones turn out.
  bool may_be = false, may_not_be = false;
  for (double more = 0; more <= unknown; ++more) {
    const bool holds = node.op == Op::m_at_most ? yes + more <= n : yes + more >= n;
    (holds ? may_be : may_not_be) = true;
  }
  return may_be && may_not_be ? Truth::unknown : truth(may_be);
}

}  // namespace tocsin::stream
