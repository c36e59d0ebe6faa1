#include "stream/rules/verdict.h"

#include <algorithm>
#include <map>
#include <set>

namespace tocsin::stream {
namespace {

template <class Words>
std::string join(const Words& words, const char* between) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// A rule that lacks no signal at the end, and still was not known often enough.
std::string why_unknown(const RuleRun& run) {
  const Rule& rule = run.rule();
  if (run.evaluations() == 0) return rule.name + " was never triggered";
  if (run.members_seen() == 0) return rule.name + " had no " + std::string{name(rule.per)};
  return rule.name + " could decide in " + std::to_string(static_cast<int>(100 * run.known_share())) +
         " % of its evaluations";
}

}  // namespace

Verdict conclude(const Pack& pack, const std::vector<RuleRun>& runs, const std::string& end_reason,
                 const std::function<std::vector<std::string>(RuleIndex)>& missing) {
  Verdict verdict;
  struct Tally {
    bool in = false, on = false;
    Time began = never;
    std::vector<std::string> fired, all;
    std::set<std::string> missing, doubts;  // signals; and other reasons why a rule could not decide
  };
  std::map<std::string, Tally> families;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RuleRun& run = runs[i];
    const Rule& rule = run.rule();
    if (rule.family.empty() || rule.mode == Mode::shadow || rule.scope == Scope::cluster) continue;
    Tally& tally = families[rule.family];
    tally.all.push_back(rule.name);
    if (run.fired()) {
      // A family that only informs is listed, but never named.
      tally.in |= rule.severity != Severity::info;
      tally.on |= run.on();
      tally.began = std::min(tally.began, run.began());
      tally.fired.push_back(rule.name);
    } else if (!run.mostly_known()) {
      const auto signals = missing(static_cast<RuleIndex>(i));
      tally.missing.insert(signals.begin(), signals.end());
      if (signals.empty()) tally.doubts.insert(why_unknown(run));
    } else if (run.answered_yes()) {
      tally.doubts.insert(rule.name + " held, but not for long enough");
    }
  }
  for (const auto& [family, tally] : families) {
    const bool undecided = !tally.missing.empty() || !tally.doubts.empty();
    const std::string coded = with_words(family, pack.verdict.words(family));
    Verdict::Line line{family,
                       tally.in    ? Standing::in
                       : undecided ? Standing::undecidable
                                   : Standing::out,
                       tally.in ? tally.fired : tally.all,
                       {},
                       pack.verdict.words(family)};
    if (line.standing == Standing::undecidable) {
      line.missing.assign(tally.missing.begin(), tally.missing.end());
      std::vector<std::string> reasons(tally.doubts.begin(), tally.doubts.end());
      if (!tally.missing.empty()) reasons.insert(reasons.begin(), "missing: " + join(line.missing, ", "));
      verdict.cannot_decide.push_back(coded + " (" + join(reasons, "; ") + ")");
    }
    verdict.families.push_back(std::move(line));
  }
  const auto contains = [](const std::vector<std::string>& list, const std::string& family) {
    return std::find(list.begin(), list.end(), family) != list.end();
  };
  const bool completed = end_reason == "completed";
  const bool open = std::any_of(families.begin(), families.end(),
                                [](const auto& other) { return other.second.in && other.second.on; });
  const auto past = [&](const std::string& family) {
    return (completed || open) && !families.at(family).on && contains(pack.verdict.passes, family);
  };
  const auto consequence = [&](const std::string& family) {
    return std::any_of(families.begin(), families.end(), [&](const auto& other) {
      const auto explained = pack.verdict.explains.find(other.first);
      return other.second.in && !past(other.first) && explained != pack.verdict.explains.end() &&
             contains(explained->second, family) && other.second.began < families.at(family).began &&
             families.at(family).began != never;
    });
  };
  const auto rank = [&](const std::string& family) {
    const auto& order = pack.verdict.precedence;
    return std::find(order.begin(), order.end(), family) - order.begin();
  };
  for (const Verdict::Line& line : verdict.families) {
    if (line.standing != Standing::in) continue;
    const bool over = past(line.family), follows = consequence(line.family);
    verdict.shows.push_back(with_words(line.family, line.words) + ": " + join(line.rules, ", ") +
                            (over && completed ? " (cleared before the job completed)"
                             : over            ? " (cleared; another fault lasted to the end)"
                             : follows         ? " (consequence: began later)"
                                               : ""));
    if (!over && !follows && (verdict.family.empty() || rank(line.family) < rank(verdict.family)))
      verdict.family = line.family;
  }
  // The family that is named comes first.
  const std::string named = with_words(verdict.family, pack.verdict.words(verdict.family)) + ":";
  std::stable_partition(verdict.shows.begin(), verdict.shows.end(),
                        [&](const std::string& text) { return text.starts_with(named); });
  verdict.family_words = pack.verdict.words(verdict.family);
  for (const RuleRun& run : runs)
    if (const std::string& failure = run.seldom().failure; !failure.empty())
      verdict.quarantined.push_back(run.rule().name + " (" + failure + ")");
  return verdict;
}

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
