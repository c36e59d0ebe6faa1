#include "stream/rules/undecided.h"

#include <set>

namespace tocsin::stream {
namespace {

// Adds what the rule misses itself, and what the undecided rules miss that it is built on.
void add_missing(const Pack& pack, const std::vector<RuleRun>& runs, const History& history,
                 const SourceCoverage& coverage, const Rule& rule, std::set<std::string>& missing) {
  for (const SignalId id : rule.signals) {
    const SignalDefinition& signal = pack.signals[id];
    const bool proved = signal.kind == SignalKind::event && !signal.source.empty() && coverage.ever(signal.source);
    if (!proved && !history.came(id)) missing.insert(signal.name);
  }
  for (const RuleIndex index : rule.findings) {  // of a lower depth each, so this ends
    const RuleRun& base = runs[static_cast<std::size_t>(index)];
    if (base.undecided()) add_missing(pack, runs, history, coverage, base.rule(), missing);
  }
}

}  // namespace

std::vector<UndecidedRule> undecided(const Pack& pack, const std::vector<RuleRun>& runs, const History& history,
                                     const SourceCoverage& coverage) {
  std::vector<UndecidedRule> all;
  for (const RuleRun& run : runs) {
    if (run.rule().severity == Severity::none || !run.undecided()) continue;
    std::set<std::string> missing;
    add_missing(pack, runs, history, coverage, run.rule(), missing);
    all.push_back({run.rule().name, {missing.begin(), missing.end()}});
  }
  return all;
}

}  // namespace tocsin::stream
