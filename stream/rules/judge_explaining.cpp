// How a judge explains an alert: its texts, what it misses, and the evidence of the findings behind it.
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
    return explanation(base).missing();
  }
  return {};
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
