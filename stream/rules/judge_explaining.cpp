// How a judge explains an alert: its texts, what it misses, and the evidence of the findings behind it.
#include <algorithm>

#include "stream/graph/time_range.h"
#include "stream/rules/explanation.h"
#include "stream/rules/judge.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_findings_explained = 4;  // of those that say yes

}  // namespace

void Judge::explain(RuleIndex index, Slot slot, AlertTransition& transition) {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  const auto view = script_answers_.find(index);
  if (rule.scripted && view == script_answers_.end()) {
    transition.shows = rule.summary;  // quarantined, or its alert waited for a parent: no values at this tick
    return;
  }
  if (!rule.scripted) {
    run_aside(rule.hot);  // it may have repeated its outcomes without an evaluation
    evaluator_.run(rule.cold);
  }
  explanation(rule.scripted ? view->second : rule).write(slot, transition);
  add_evidence_of_findings(rule, slot, transition);
}

Explanation Judge::explanation(const Rule& rule) {
  return {rule,
          graph(),
          evaluator_,
          facts_.topology,
          facts_.labels,
          [this](double symbol) { return facts_.symbols.text(symbol); },
          [this, &rule](const std::string& finding) { return missed_by(rule, finding); }};
}

std::vector<std::string> Judge::missed_by(const Rule& rule, const std::string& finding) {
  for (const RuleIndex index : rule.findings) {
    const Rule& base = pack_->rules[static_cast<std::size_t>(index)];
    if (base.name != finding || base.scripted || base.settle != rule.settle) continue;
    run_aside(base.hot);
    const Explanation explained = explanation(base);
    // Where there is no member that could have a record, as of a GPU, all signals are missing.
    auto signals = explained.missing();
    return signals.empty() ? explained.missing(base.answer, Level::job, 0) : signals;
  }
  return {};
}

std::string Judge::why_unknown(NodeId reduction, Level level, Slot slot) {
  const Node& node = graph()[reduction];
  const WindowSpec& window = *node.attributes.window;
  const std::string& source = pack_->signals[window.signal].source;
  const Topology& topology = facts_.topology;
  const Level of = node.type.level;
  Slot member = containing_slot(topology, level, slot, of);
  std::string text;
  if (of > level) {  // the first of the member's parts that is unknown
    const Column values = evaluator_.column(reduction);
    const Groups& groups = topology.groups(of, level);
    if (slot >= groups.count()) return ": no " + std::string{name(of)} + " is known";
    for (const Slot part : groups.of(slot))
      if ((of != Level::rank || part != reserved_slot) && part < values.size() && is_absent(values[part])) {
        member = part;
        break;
      }
    if (member == no_slot) return ": no " + std::string{name(of)} + " is known";
    text = " of " + describe(named_member(topology, of, member));
  }
  if (member == no_slot) return ": no record";
  std::vector<std::uint8_t> unobserved;
  if (facts_.coverage.unobserved(of, moment_.now, unobserved) && member < unobserved.size() && unobserved[member] != 0)
    return text + ": unobserved, its log has not been read so far";
  Node count;
  count.op = Op::w_count, count.type = {Shape::column, of, "count"};
  std::vector<double> counts(topology.size(of), absent);
  WindowSpec so_far = window;
  so_far.full = false;
  const bool constant = facts_.history.reduce(count, so_far, {}, moment_, facts_.coverage, counts);
  const double values = counts[constant ? std::min<Slot>(member, 1) : member];
  text += ": ";
  if (is_absent(values) && !source.empty()) return text + "the source '" + source + "' is not covered";
  if (is_absent(values) || values == 0) return text + "no record";
  text += std::to_string(static_cast<long long>(values)) + (values == 1 ? " value" : " values");
  if (window.full) return text + ", and the window is not full";
  if (window.span == WindowSpec::Span::time && !window.baseline()) return text + ", fewer than half of the window";
  return text + ", needs " + std::to_string(least_of(window));
}

void Judge::run_aside(std::span<const NodeId> nodes) {
  explaining_ = true;
  evaluator_.run(nodes);
  explaining_ = false;
}

void Judge::add_evidence_of_findings(const Rule& rule, Slot slot, AlertTransition& transition) {
  std::size_t explained = 0;
  for (const RuleIndex index : rule.findings) {
    const Rule& declared = pack_->rules[static_cast<std::size_t>(index)];
    const auto view = script_answers_.find(index);
    const Rule& base = declared.scripted && view != script_answers_.end() ? view->second : declared;
    // Only findings at the same moment: windows of another L have moved on. Of a script, its answer at this tick.
    if ((declared.scripted && view == script_answers_.end()) || base.settle != rule.settle) continue;
    const Slot at = containing_slot(facts_.topology, rule.per, slot, base.per);
    if (base.per > rule.per || at == no_slot) continue;
    if (!declared.scripted) {  // it is not always due at this tick
      run_aside(base.hot);
      run_aside(base.cold);
    }
    if (evaluator_.truth_at(base.answer, base.per, at) != Truth::yes) continue;
    if (++explained > most_findings_explained) return;
    AlertTransition of_base;
    explanation(base).write(at, of_base);
    for (auto& [name, value] : of_base.evidence) transition.evidence.emplace_back(base.name + "." + name, value);
    for (auto& [name, text] : of_base.evidence_texts)
      transition.evidence_texts.emplace_back(base.name + "." + name, std::move(text));
  }
}

}  // namespace tocsin::stream
