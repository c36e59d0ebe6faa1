#include <algorithm>
#include <map>
#include <set>

#include "stream/judge.h"

namespace tocsin::stream {

Verdict conclude(const Pack& pack, const std::vector<RuleRun>& runs,
                 const std::function<std::vector<std::string>(RuleIndex)>& missing) {
  Verdict verdict;
  struct Tally { bool in = false, undecided = false; std::vector<std::string> fired, all; std::set<std::string> missing; };
  std::map<std::string, Tally> families;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RuleRun& run = runs[i];
    const Rule& rule = run.rule();
    if (rule.family.empty() || rule.mode == Mode::shadow) continue;
    Tally& tally = families[rule.family];
    tally.all.push_back(rule.name);
    if (run.was_published()) {
      // What only informs is told, but names no family.
      if (rule.severity != Severity::info) tally.in = true;
      tally.fired.push_back(rule.name);
    } else if (!run.mostly_known()) {
      tally.undecided = true;
      for (auto& signal : missing(static_cast<RuleIndex>(i))) tally.missing.insert(std::move(signal));
    } else if (run.said_yes()) {
      tally.undecided = true;   // yes, but not for long enough to fire
    }
  }
  for (const auto& [family, tally] : families) {
    Verdict::Line line{family, tally.in ? Standing::in : tally.undecided ? Standing::undecidable : Standing::out,
                       tally.in ? tally.fired : tally.all, {}};
    if (line.standing == Standing::undecidable) line.missing.assign(tally.missing.begin(), tally.missing.end());
    verdict.families.push_back(std::move(line));
  }
  const auto rank = [&](const std::string& family) {
    const auto& order = pack.verdict.precedence;
    return std::find(order.begin(), order.end(), family) - order.begin();
  };
  const Verdict::Line* named = nullptr;
  for (const Verdict::Line& line : verdict.families)
    if (line.standing == Standing::in && (!named || rank(line.family) < rank(named->family))) named = &line;
  if (named) verdict.family = named->family;
  for (const Verdict::Line& line : verdict.families) {
    std::string rules;
    for (const auto& rule : line.rules) rules += (rules.empty() ? "" : ", ") + rule;
    if (line.standing == Standing::in) verdict.shows.push_back(line.family + ": " + rules);
    if (line.standing != Standing::undecidable) continue;
    std::string signals;
    for (const auto& signal : line.missing) signals += (signals.empty() ? "" : ", ") + signal;
    verdict.cannot_decide.push_back(line.family + (signals.empty() ? " (" + rules + " said yes, but not for long enough)"
                                                                   : " (unknown: " + signals + ")"));
  }
  return verdict;
}

}  // namespace tocsin::stream
