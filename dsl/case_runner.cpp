#include "dsl/case_runner.h"

#include <algorithm>
#include <set>

#include "dsl/case_records.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/explanation.h"

namespace tocsin::dsl {
namespace {

using stream::AlertTransition;
using stream::Level;

class Witness final : public stream::AlertSink {
 public:
  void transition(const AlertTransition& t) override { transitions.push_back(t); }
  void verdict(const stream::Verdict& v) override { verdicts.push_back(v); }
  std::vector<AlertTransition> transitions;
  std::vector<stream::Verdict> verdicts;
};

std::string list(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const auto rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return "{" + text + "}";
}

std::string expected_text(const CaseExpectation& e) {
  std::string text = e.rule;
  if (e.rank) text += ", rank " + std::to_string(*e.rank);
  if (e.node) text += ", node " + std::to_string(*e.node);
  if (e.rack) text += ", rack " + std::to_string(*e.rack);
  if (e.gpu) text += ", GPU " + std::to_string(*e.gpu);
  if (!e.who.empty()) text += ", who " + list(e.who);
  if (!e.cause.empty()) text += ", cause " + e.cause;
  return text;
}

// A rule that runs at the job's end only has nothing to say in a case whose job does not end.
std::string never_fired(const Case& one, const stream::Pack& pack, const std::string& rule) {
  const auto found = std::ranges::find(pack.rules, rule, &stream::Rule::name);
  const bool at_end = found != pack.rules.end() && std::ranges::all_of(found->every, [](const stream::Trigger& trigger) {
                        return trigger.kind == stream::Trigger::Kind::end;
                      });
  const bool ends = std::ranges::any_of(one.segments, [](const CaseSegment& segment) { return !segment.ends.empty(); });
  if (!at_end || ends) return "it never fired";
  return "it never fired, for it runs at the job's end: write ends = \"completed\" or ends = \"failed\" in the last part";
}

std::string fired_text(const AlertTransition& t, stream::Time from) {
  std::string text = t.rule + " on " + stream::describe(t.member) + " after " +
                     std::to_string(static_cast<int>(stream::seconds(t.at - from))) + " s: " + t.shows;
  for (const auto& [cause, text_of_cause] : t.implies) text += " [" + cause + "]";
  return text;
}

class Expectations {
 public:
  Expectations(const Case& one, stream::Time last_segment) : case_(&one), last_segment_(last_segment) {}

  [[nodiscard]] bool member(const CaseExpectation& e, const AlertTransition& t) const {
    const std::uint32_t per_node = std::max(1u, case_->per_node);
    if (e.rack && t.member.rack != CaseRecords::rack_name(*e.rack)) return false;
    if (e.node && t.member.node != CaseRecords::node_name(*e.node)) return false;
    const auto gpu = e.gpu ? e.gpu : t.member.level == Level::gpu ? e.rank : std::nullopt;
    if (gpu && (t.member.node != CaseRecords::node_name(*gpu / per_node) || t.member.gpu != CaseRecords::gpu_name(*gpu % per_node)))
      return false;
    return !e.rank || t.member.level == Level::gpu || t.member.rank == e.rank;
  }
  [[nodiscard]] bool matches(const CaseExpectation& e, const AlertTransition& t) const {
    if (t.rule != e.rule || !member(e, t)) return false;
    if (!e.cause.empty() && std::none_of(t.implies.begin(), t.implies.end(), [&](const auto& cause) { return cause.first == e.cause; }))
      return false;
    if (e.within && t.at > last_segment_ + *e.within) return false;
    if (e.who.empty()) return true;
    std::set<std::uint32_t> named, wanted(e.who.begin(), e.who.end());
    for (const auto& who : t.who)
      if (who.rank) named.insert(*who.rank);
    return named == wanted;
  }

 private:
  const Case* case_;
  stream::Time last_segment_;
};

}  // namespace

CaseResult run_case(const Case& one, const stream::LoadedPack& pack) {
  CaseResult result;
  if (!one.records.empty()) {
    result.messages.push_back("records = \"" + one.records + "\": a case of recorded lines is run by `tocsin ingest` and `tocsin replay`");
    return result;
  }
  Witness witness;
  stream::Shard shard{pack, nullptr, witness};
  std::set<std::string> answered_yes;                                        // rules, also those of severity none
  std::map<std::string, std::pair<bool, std::vector<std::string>>> at_last;  // unknown at its last tick; missing signals
  std::set<std::string> asked;
  for (const auto& e : one.unknown) asked.insert(e.rule);
  shard.observe([&](const stream::RuleEvaluation& evaluation) {
    if (std::find(evaluation.outcomes.begin(), evaluation.outcomes.end(), stream::Truth::yes) != evaluation.outcomes.end())
      answered_yes.insert(evaluation.rule.name);
    if (!asked.contains(evaluation.rule.name)) return;
    auto& [unknown, missing] = at_last[evaluation.rule.name];
    unknown = !evaluation.outcomes.empty() &&
              std::find(evaluation.outcomes.begin(), evaluation.outcomes.end(), stream::Truth::unknown) != evaluation.outcomes.end();
    missing = stream::Explanation{evaluation.rule, evaluation.values.graph(), evaluation.values, evaluation.topology, {}}.missing();
  });
  CaseRecords records{one, pack.pack->signals};
  records.play([&](const stream::Entry& entry) { shard.consume(entry); });

  const Expectations expectations{one, records.last_segment()};
  const auto silent = [&](const std::string& rule) {
    return std::any_of(pack.pack->rules.begin(), pack.pack->rules.end(),
                       [&](const stream::Rule& r) { return r.name == rule && r.severity == stream::Severity::none; });
  };
  for (const CaseExpectation& e : one.fires) {
    if (silent(e.rule) ? answered_yes.contains(e.rule)
                       : std::any_of(witness.transitions.begin(), witness.transitions.end(), [&](const AlertTransition& t) {
                           return t.state == stream::AlertState::firing && expectations.matches(e, t);
                         }))
      continue;
    std::string message = "expected " + expected_text(e) + (e.within ? " in time" : "") + "; ";
    bool reported = false;
    for (const auto& t : witness.transitions)
      if (t.rule == e.rule && t.state == stream::AlertState::firing) {
        message += "reported instead: " + fired_text(t, records.last_segment());
        if (!t.who.empty()) {
          std::vector<std::uint32_t> ranks;
          for (const auto& who : t.who) ranks.push_back(who.rank.value_or(0));
          message += " who " + list(ranks);
        }
        reported = true;
        break;
      }
    result.messages.push_back(message + (reported ? "" : never_fired(one, *pack.pack, e.rule)));
  }
  for (const AlertTransition& t : witness.transitions) {
    if (t.state != stream::AlertState::firing) continue;
    const bool allowed = std::any_of(one.fires.begin(), one.fires.end(),
                                     [&](const CaseExpectation& e) { return e.rule == t.rule && expectations.member(e, t); });
    if (!allowed) result.messages.push_back("fired unexpectedly: " + fired_text(t, records.last_segment()));
  }
  for (const CaseExpectation& e : one.unknown) {
    const auto& [unknown, missing] = at_last[e.rule];
    if (!unknown) result.messages.push_back("expected " + e.rule + " to be unknown at the end; it was known");
    else if (!e.missing.empty() && std::find(missing.begin(), missing.end(), e.missing) == missing.end())
      result.messages.push_back(e.rule + " is unknown, but does not miss " + e.missing + "; it misses " +
                                (missing.empty() ? std::string{"nothing"} : missing.front()));
  }
  for (const CaseExpectation& e : one.resolves)
    if (std::none_of(witness.transitions.begin(), witness.transitions.end(), [&](const AlertTransition& t) {
          return t.rule == e.rule && t.state == stream::AlertState::resolved && t.reason == stream::ResolveReason::cleared &&
                 expectations.member(e, t);
        }))
      result.messages.push_back("expected " + expected_text(e) + " to clear; it did not");
  result.failures = shard.counters().quarantine_messages;
  for (const auto& [rule, message] : result.failures) result.messages.push_back("rule '" + rule + "' failed and was set aside: " + message);
  result.passed = result.messages.empty();
  result.alerts = std::move(witness.transitions);
  return result;
}

}  // namespace tocsin::dsl
