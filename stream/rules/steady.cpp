#include "stream/rules/steady.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "stream/windows/source_coverage.h"

namespace tocsin::stream {
namespace {

// How a node changes while ages grow. A mask grows from no over unknown to yes.
enum class Way : std::uint8_t { fixed, up, down, any };

Way opposite(Way way) { return way == Way::up ? Way::down : way == Way::down ? Way::up : way; }

Way join(std::initializer_list<Way> ways) {
  Way all = Way::fixed;
  for (const Way way : ways) {
    if (way == Way::fixed) continue;
    all = all == Way::fixed || all == way ? way : Way::any;
  }
  return all;
}

// The leaves at a later tick: ages are older, all else is as it was.
class Later final : public Leaves {
 public:
  Later(const Evaluator& now, const Leaves& leaves, Duration span)
      : now_(&now), leaves_(&leaves), older_(seconds(span) + 1) {}

  bool reduce(const Node& node, const WindowSpec&, Column, std::span<double> out) override {
    copy(node, out);
    if (column_of(node.op) == Op::w_age)
      for (double& age : out)
        if (is_number(age)) age += older_;
    return false;
  }
  void finding(const Node& node, std::span<Truth> out) override {
    const Mask mask = now_->mask(id(node));
    std::fill(out.begin(), out.end(), Truth::unknown);
    std::copy_n(mask.begin(), std::min(mask.size(), out.size()), out.begin());
  }
  void state(const Node& node, std::span<double> out) override { copy(node, out); }
  void freeze(const Node& node, std::span<double> in_out) override { copy(node, in_out); }
  [[nodiscard]] double job_age() const override { return leaves_->job_age() + older_; }
  [[nodiscard]] double symbol(std::string_view text) const override { return leaves_->symbol(text); }

 private:
  [[nodiscard]] NodeId id(const Node& node) const { return static_cast<NodeId>(&node - &now_->graph()[NodeId{0}]); }
  void copy(const Node& node, std::span<double> out) const {
    const Column column = now_->column(id(node));
    std::fill(out.begin(), out.end(), absent);
    std::copy_n(column.begin(), std::min(column.size(), out.size()), out.begin());
  }
  const Evaluator* now_;
  const Leaves* leaves_;
  double older_;
};

class Comparison {
 public:
  Comparison(const Evaluator& now, const Evaluator& later)
      : graph_(now.graph()), now_(now), later_(later), ways_(graph_.size(), Way::any) {}

  void add(NodeId id) {
    const Node& node = graph_[id];
    Way way = of(id, node);
    if ((way == Way::up || way == Way::down) && same(id, node)) way = Way::fixed;
    ways_[static_cast<std::size_t>(id)] = way;
  }
  [[nodiscard]] bool fixed(NodeId id) const { return ways_[static_cast<std::size_t>(id)] == Way::fixed; }

 private:
  [[nodiscard]] Way way(const Node& node, std::size_t argument) const {
    return ways_[static_cast<std::size_t>(node.arguments[argument])];
  }
  [[nodiscard]] bool all_fixed(const Node& node, std::size_t from) const {
    for (std::size_t i = from; i < node.arguments.size(); ++i)
      if (way(node, i) != Way::fixed) return false;
    return true;
  }
  [[nodiscard]] bool same(NodeId id, const Node& node) const {
    if (node.type.shape == Shape::mask) return std::ranges::equal(now_.mask(id), later_.mask(id));
    const Column a = now_.column(id), b = later_.column(id);
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
  [[nodiscard]] Way joined(const Node& node) const;
  [[nodiscard]] Way of_window(NodeId id, const Node& node) const;
  [[nodiscard]] Way of(NodeId id, const Node& node) const;

  const Graph& graph_;
  const Evaluator &now_, &later_;
  std::vector<Way> ways_;
};

Way Comparison::of_window(NodeId id, const Node& node) const {
  const bool grows = column_of(node.op) == Op::w_age;
  // The rate of events since the attempt's start falls from tick to tick.
  if (!grows && node.op != Op::w_rate) return all_fixed(node, 0) ? Way::fixed : Way::any;
  if (std::ranges::none_of(now_.column(id), [](double x) { return is_number(x); })) return Way::fixed;
  if (!all_fixed(node, 0)) return Way::any;  // the limit of an age
  return !grows ? Way::any : node.op == Op::w_within ? Way::down : Way::up;
}

Way Comparison::joined(const Node& node) const {
  const Truth deciding = node.op == Op::conjunction ? Truth::no : Truth::yes;
  Way all = Way::fixed;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const MaskForm form = node.forms[i];
    const Way one = way(node, i);
    const Mask mask = now_.mask(node.arguments[i]);
    if (one == Way::fixed && !mask.empty() &&
        std::ranges::all_of(mask, [&](Truth truth) { return form.of(truth) == deciding; }))
      return Way::fixed;
    all = join({all, form.opposite ? opposite(one) : one});
  }
  return all;
}

Way Comparison::of(NodeId id, const Node& node) const {
  switch (node.op) {
    case Op::constant:
    case Op::window:
    case Op::finding:
    case Op::f_now:
    case Op::f_ever:
    case Op::state: return Way::fixed;
    case Op::job_age: return Way::up;
    default: break;
  }
  if (operation(node.op).on == Shape::window) return of_window(id, node);
  if (all_fixed(node, 0)) return Way::fixed;
  switch (node.op) {
    case Op::add:
    case Op::greatest:
    case Op::least:
    case Op::greatest_known:
    case Op::least_known:
    case Op::clamp_low:
    case Op::fill: return join({way(node, 0), way(node, 1)});
    case Op::clamp: return join({way(node, 0), way(node, 1), way(node, 2)});
    case Op::subtract:
    case Op::above:
    case Op::at_least: return join({way(node, 0), opposite(way(node, 1))});
    case Op::below:
    case Op::at_most: return join({opposite(way(node, 0)), way(node, 1)});
    case Op::choose: return way(node, 0) == Way::fixed ? join({way(node, 1), way(node, 2)}) : Way::any;
    case Op::negate: return opposite(way(node, 0));
    case Op::at:
    case Op::spread:
    case Op::g_min:
    case Op::g_max:
    case Op::g_sum:
    case Op::g_mean:
    case Op::m_any:
    case Op::m_all: return way(node, 0);
    case Op::g_count: return way(node, 0) == Way::any ? Way::any : Way::fixed;  // what grows stays known
    case Op::m_at_least: return all_fixed(node, 1) ? way(node, 0) : Way::any;
    case Op::m_at_most: return all_fixed(node, 1) ? opposite(way(node, 0)) : Way::any;
    case Op::conjunction:
    case Op::disjunction: return joined(node);
    default: return Way::any;
  }
}

constexpr Duration least_memory = 2 * SourceCoverage::patience;

// After so long without a record, no window over time of the rule holds a value and no source is covered.
Duration memory_of(const Rule& rule, const Pack& pack) {
  constexpr int rows = 12;  // a pane and the rows around it
  Duration longest{};
  for (const NodeId id : rule.hot)
    if (const auto& spec = (*pack.graph)[id].attributes.window) {
      const SignalDefinition& signal = pack.signals[spec->signal];
      const Duration over = spec->span == WindowSpec::Span::time ? spec->over : Duration{};
      longest = std::max(longest, over + spec->lag + spec->settle + signal.lateness + rows * signal.row);
    }
  return longest + least_memory;
}

// Whether the answer and the state of a rule stay as they are for `span`. It is judged once more with older ages: a
// value that only grows and is the same at both ends does not change between them.
bool stays(const Rule& rule, const Evaluator& now, const Topology& topology, const Leaves& leaves, Duration span) {
  Later later{now, leaves, span};
  Evaluator then{now.graph(), topology, later};
  then.begin_tick();
  then.run(rule.hot);
  Comparison comparison{now, then};
  for (const NodeId id : rule.hot) comparison.add(id);
  return comparison.fixed(rule.answer) && std::ranges::all_of(rule.state, [&](const StateField& field) {
           return !field.write || comparison.fixed(*field.write);
         });
}

constexpr Duration spans[] = {std::chrono::hours{24}, std::chrono::hours{1}, std::chrono::minutes{5}};
constexpr Duration first_wait = std::chrono::minutes{1}, longest_wait = std::chrono::hours{1};

}  // namespace

void SteadyRules::make() {
  const Pack& pack = *pack_;
  rules_.resize(pack.rules.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].memory = memory_of(pack.rules[i], pack);
    for (const NodeId id : pack.rules[i].hot) {
      const Node& node = (*pack.graph)[id];
      if (node.op == Op::freeze) rules_[i].freezes = true;
      if (node.op == Op::f_now || node.op == Op::f_ever) rules_[i].findings.push_back({id, {}, {}});
      if (node.op == Op::f_ever) rules_[i].ever = true;
      if (node.op != Op::state) continue;
      const auto& fields = pack.rules[i].state;
      const auto field = std::ranges::find(fields, node.attributes.field, &StateField::name);
      rules_[i].states.emplace_back(id, static_cast<std::size_t>(field - fields.begin()));
    }
  }
}

void SteadyRules::disturb(Time arrival) {
  disturbed_ = std::max(disturbed_, arrival);
  disturbed_now_ = true;
  ++version_;
}

void SteadyRules::begin_tick(Time tick, Time now, bool possible) {
  tick_ = tick, now_ = now;
  if (std::exchange(disturbed_now_, false)) disturbed_ = std::max(disturbed_, now);
  if (possible && rules_.empty() && now >= disturbed_ + least_memory) make();
  possible_ = possible && !rules_.empty();
}

bool SteadyRules::same_findings(Steady& steady, Leaves& leaves, const Graph& graph) {
  const bool same = std::ranges::all_of(steady.findings, [&](const Answers& before) {
    if (leaves.same(before.reading)) return true;
    answers_.assign(before.values.size(), Truth::unknown);
    leaves.finding(graph[before.node], answers_);
    return answers_ == before.values;
  });
  if (same && !steady.ever) steady.answered = tick_;
  return same;
}

void SteadyRules::consider(RuleIndex index, const RuleRun& run, bool had_lives, const Evaluator& evaluator,
                           const Topology& topology, Leaves& leaves) {
  if (rules_.empty()) return;
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  Steady& steady = rules_[static_cast<std::size_t>(index)];
  steady.until = long_ago;  // it was of the evaluation before
  if (!quiet(steady) || rule.scripted) return;
  if (steady.version != version_) steady.version = version_, steady.retry = long_ago, steady.wait = first_wait;
  if (now_ < steady.retry) return;
  // What is held follows the lives.
  const bool held = steady.freezes && (had_lives || !run.lives().empty());
  const bool moved = std::ranges::any_of(steady.states, [&](const auto& read) {
    const Column before = evaluator.column(read.first), after = run.state(read.second);
    return before.size() != after.size() || std::memcmp(before.data(), after.data(), before.size_bytes()) != 0;
  });
  if (!held && !moved) look(steady, rule, evaluator, topology, leaves);
  if (steady.until != long_ago) {
    steady.wait = first_wait;
    return;
  }
  steady.retry = now_ + steady.wait;
  steady.wait = std::min(2 * steady.wait, longest_wait);
}

void SteadyRules::look(Steady& steady, const Rule& rule, const Evaluator& evaluator, const Topology& topology,
                       Leaves& leaves) const {
  for (const Duration span : spans) {
    if (!stays(rule, evaluator, topology, leaves, span)) continue;
    steady.until = now_ + span;
    steady.answered = steady.findings.empty() ? never : steady.ever ? long_ago : tick_;
    for (Answers& answers : steady.findings) {
      const Mask mask = evaluator.mask(answers.node);
      answers.values.assign(mask.begin(), mask.end());
      answers.reading = leaves.reading_of_finding(evaluator.graph()[answers.node]);
    }
    return;
  }
}

}  // namespace tocsin::stream
