#include "dsl/cases/case_runner.h"

#include <algorithm>
#include <set>
#include <span>
#include <sstream>

#include "dsl/cases/case_records.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/explanation.h"
#include "stream/rules/members.h"

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

// A rule that runs at the job's end only has nothing to say in a case whose job does not end, and one for some jobs
// where the case has not their labels.
std::string never_fired(const Case& one, const stream::Pack& pack, const std::string& rule) {
  const auto found = std::ranges::find(pack.rules, rule, &stream::Rule::name);
  if (found == pack.rules.end()) return "it never fired";
  std::map<std::string, std::string> labels;
  for (const CaseSegment& segment : one.segments)
    for (const auto& [label, value] : segment.labels) labels[label] = value;
  for (const auto& [label, values] : found->jobs) {
    const auto has = labels.find(label);
    if (!stream::allows(values, has == labels.end() ? nullptr : &has->second))
      return "it never ran, for its jobs asks for another " + label + ": write labels = { " + label + " = \"" +
             (values.empty() ? "…" : values.front()) + "\" } in the first segment";
  }
  const bool at_end = std::ranges::all_of(
      found->every, [](const stream::Trigger& trigger) { return trigger.kind == stream::Trigger::Kind::end; });
  const bool ends = std::ranges::any_of(one.segments, [](const CaseSegment& segment) { return !segment.ends.empty(); });
  if (!at_end || ends) return "it never fired";
  return "it never fired, for it runs at the job's end: write ends = \"completed\" or ends = \"failed\" in the last "
         "part";
}

std::string fired_text(const AlertTransition& t, stream::Time from) {
  std::string text = t.rule + " on " + stream::describe(t.member) + " after " +
                     std::to_string(static_cast<int>(stream::seconds(t.at - from))) + " s: " + t.shows;
  for (const auto& [cause, text_of_cause] : t.implies) text += " [" + cause + "]";
  return text;
}

// The members with this outcome. The reserved one is no member that a case can name.
std::vector<stream::NamedMember> members_that_are(stream::Truth truth, const stream::RuleEvaluation& evaluation) {
  std::vector<stream::NamedMember> members;
  const Level per = evaluation.rule.per;
  for (stream::Slot slot = 0; slot < evaluation.outcomes.size(); ++slot)
    if (evaluation.outcomes[slot] == truth && evaluation.topology.exists(per, slot) &&
        !(per == Level::rank && slot == stream::reserved_slot))
      members.push_back(stream::named_member(evaluation.topology, per, slot));
  return members;
}

class Expectations {
 public:
  Expectations(const Case& one, stream::Time last_segment) : case_(&one), last_segment_(last_segment) {}

  [[nodiscard]] bool member(const CaseExpectation& e, const stream::NamedMember& member) const {
    const std::uint32_t per_node = std::max(1u, case_->per_node);
    if (e.rack && member.rack != CaseRecords::rack_name(*e.rack)) return false;
    if (e.node && member.node != CaseRecords::node_name(*e.node)) return false;
    const auto gpu = e.gpu ? e.gpu : member.level == Level::gpu ? e.rank : std::nullopt;
    if (gpu && (member.node != CaseRecords::node_name(*gpu / per_node) ||
                member.gpu != CaseRecords::gpu_name(*gpu % per_node)))
      return false;
    return !e.rank || member.level == Level::gpu || member.rank == e.rank;
  }
  [[nodiscard]] bool in_time(const CaseExpectation& e, stream::Time at) const {
    return !e.within || at <= last_segment_ + *e.within;
  }
  [[nodiscard]] bool matches(const CaseExpectation& e, const AlertTransition& t) const {
    if (t.rule != e.rule || !member(e, t.member)) return false;
    if (!e.cause.empty() &&
        std::none_of(t.implies.begin(), t.implies.end(), [&](const auto& cause) { return cause.first == e.cause; }))
      return false;
    if (!in_time(e, t.at)) return false;
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

// What was expected and missing, or reported and not expected.
struct Failed {
  std::string message, rule;
  std::function<bool(const stream::NamedMember&)> of;  // whose values show why; empty: nobody's
  stream::Time until{};                                // those of the last tick up to then
};

constexpr std::size_t most_shown = 3;  // failures of a case whose values are shown

// Judges the case once more, and adds to what failed the values at its tick.
void add_values(const Case& one, const stream::LoadedPack& pack, stream::Time last_segment, std::span<Failed> failed,
                const ShowValues& show) {
  struct Seen {
    std::string text;
    std::size_t ticks = 0, yes = 0;  // in the last segment
  };
  std::vector<Seen> seen(failed.size());
  Witness ignored;
  stream::Shard shard{pack, nullptr, ignored};
  CaseRecords records{one, pack.pack->signals};
  const auto when = [&](stream::Time tick, const Seen& last) -> std::string {
    if (tick <= last_segment) return " before the last segment";
    return " after " + std::to_string(static_cast<int>(stream::seconds(tick - last_segment))) + " s (yes at " +
           std::to_string(last.yes) + " of " + std::to_string(last.ticks) + " ticks)";
  };
  const auto see = [&](const Failed& failure, const stream::RuleEvaluation& evaluation, Seen& last) {
    const Level per = evaluation.rule.per;
    for (stream::Slot slot = 0; slot < evaluation.outcomes.size(); ++slot) {
      if (!evaluation.topology.exists(per, slot) || (per == Level::rank && slot == stream::reserved_slot)) continue;
      const auto member = stream::named_member(evaluation.topology, per, slot);
      if (!failure.of(member)) continue;
      const stream::Truth truth = evaluation.outcomes[slot];
      if (evaluation.tick > last_segment) ++last.ticks, last.yes += truth == stream::Truth::yes ? 1 : 0;
      last.text = evaluation.rule.name + " for " + stream::describe(member) + " says " +
                  std::string{stream::name(truth)} + when(evaluation.tick, last) + "\n" + show(evaluation, slot);
      return;
    }
  };
  shard.observe([&](const stream::RuleEvaluation& evaluation) {
    for (std::size_t i = 0; i < failed.size(); ++i)
      if (failed[i].of && evaluation.rule.name == failed[i].rule && evaluation.tick <= failed[i].until)
        see(failed[i], evaluation, seen[i]);
  });
  records.play([&](const stream::Entry& entry) { shard.consume(entry); });
  for (std::size_t i = 0; i < failed.size(); ++i) {
    std::istringstream lines{seen[i].text};
    for (std::string line; std::getline(lines, line);) failed[i].message += "\n  " + line;
  }
}

}  // namespace

CaseResult run_case(const Case& one, const stream::LoadedPack& pack, const ShowValues& show) {
  CaseResult result;
  if (!one.records.empty()) {
    result.messages.push_back("records = \"" + one.records +
                              "\": a case of recorded lines is run by `tocsin ingest` and `tocsin replay`");
    return result;
  }
  Witness witness;
  stream::Shard shard{pack, nullptr, witness};
  struct Yes {  // of a rule without alerts, about this member
    stream::NamedMember member;
    stream::Time at;
  };
  struct Unknown {  // of a rule at its last tick
    std::vector<stream::NamedMember> members;
    std::vector<std::string> missing;
  };
  const auto silent = [&](const std::string& rule) {
    return std::any_of(pack.pack->rules.begin(), pack.pack->rules.end(),
                       [&](const stream::Rule& r) { return r.name == rule && r.severity == stream::Severity::none; });
  };
  std::map<std::string, std::vector<Yes>> yeses;
  std::map<std::string, Unknown> at_last;
  for (const auto& e : one.fires)
    if (silent(e.rule)) yeses[e.rule];
  for (const auto& e : one.unknown) at_last[e.rule];
  shard.observe([&](const stream::RuleEvaluation& evaluation) {
    const auto asked = yeses.find(evaluation.rule.name);
    if (asked != yeses.end())
      for (auto& member : members_that_are(stream::Truth::yes, evaluation))
        asked->second.push_back({std::move(member), evaluation.tick});
    const auto last = at_last.find(evaluation.rule.name);
    if (last == at_last.end()) return;
    last->second.members = members_that_are(stream::Truth::unknown, evaluation);
    last->second.missing =
        stream::Explanation{evaluation.rule, evaluation.values.graph(), evaluation.values, evaluation.topology, {}, {}}
            .missing();
  });
  CaseRecords records{one, pack.pack->signals};
  records.play([&](const stream::Entry& entry) { shard.consume(entry); });

  const Expectations expectations{one, records.last_segment()};
  std::vector<Failed> failed;
  const auto not_met = [&](const CaseExpectation& e, std::string message, stream::Time until = stream::never) {
    failed.push_back({std::move(message), e.rule,
                      [&](const stream::NamedMember& member) { return expectations.member(e, member); }, until});
  };
  const auto met = [&](const CaseExpectation& e) {
    if (const auto by = yeses.find(e.rule); by != yeses.end())
      return std::any_of(by->second.begin(), by->second.end(), [&](const Yes& yes) {
        return expectations.member(e, yes.member) && expectations.in_time(e, yes.at);
      });
    return std::any_of(witness.transitions.begin(), witness.transitions.end(), [&](const AlertTransition& t) {
      return t.state == stream::AlertState::firing && expectations.matches(e, t);
    });
  };
  for (const CaseExpectation& e : one.fires) {
    if (met(e)) continue;
    const std::string expected = "expected " + expected_text(e) + (e.within ? " in time" : "") + "; ";
    const stream::Time deadline = e.within ? records.last_segment() + *e.within : stream::never;
    const auto fired = [&](bool of_member) {
      return std::ranges::find_if(witness.transitions, [&](const AlertTransition& t) {
        return t.rule == e.rule && t.state == stream::AlertState::firing &&
               (!of_member || expectations.member(e, t.member));
      });
    };
    auto other = fired(true);
    if (other == witness.transitions.end()) other = fired(false);
    if (other == witness.transitions.end()) {
      not_met(e, expected + never_fired(one, *pack.pack, e.rule), deadline);
      continue;
    }
    std::string instead = "reported instead: " + fired_text(*other, records.last_segment());
    if (!other->who.empty()) {
      std::vector<std::uint32_t> ranks;
      for (const auto& who : other->who) ranks.push_back(who.rank.value_or(0));
      instead += " who " + list(ranks);
    }
    const bool of_another = !expectations.member(e, other->member) || other->at > deadline;
    not_met(e, expected + instead, of_another ? deadline : other->at);
  }
  for (const AlertTransition& t : witness.transitions) {
    if (t.state != stream::AlertState::firing) continue;
    const bool allowed = std::any_of(one.fires.begin(), one.fires.end(), [&](const CaseExpectation& e) {
      return e.rule == t.rule && expectations.member(e, t.member);
    });
    if (!allowed)
      failed.push_back({"fired unexpectedly: " + fired_text(t, records.last_segment()), t.rule,
                        [&](const stream::NamedMember& member) { return describe(member) == describe(t.member); },
                        t.at});
  }
  for (const CaseExpectation& e : one.unknown) {
    const auto& [members, missing] = at_last[e.rule];
    if (std::none_of(members.begin(), members.end(),
                     [&](const auto& member) { return expectations.member(e, member); }))
      not_met(e, "expected " + expected_text(e) + " to be unknown at the end; it was known");
    else if (!e.missing.empty() && std::find(missing.begin(), missing.end(), e.missing) == missing.end())
      not_met(e, e.rule + " is unknown, but does not miss " + e.missing + "; it misses " +
                     (missing.empty() ? std::string{"nothing"} : missing.front()));
  }
  for (const CaseExpectation& e : one.resolves)
    if (std::none_of(witness.transitions.begin(), witness.transitions.end(), [&](const AlertTransition& t) {
          return t.rule == e.rule && t.state == stream::AlertState::resolved &&
                 t.reason == stream::ResolveReason::cleared && expectations.member(e, t.member);
        }))
      not_met(e, "expected " + expected_text(e) + " to clear; it did not");
  if (show && !failed.empty())
    add_values(one, pack, records.last_segment(), std::span{failed}.first(std::min(failed.size(), most_shown)), show);
  for (Failed& failure : failed) result.messages.push_back(std::move(failure.message));
  result.failures = shard.counters().quarantine_messages;
  for (const auto& [rule, message] : result.failures)
    result.messages.push_back("rule '" + rule + "' failed and was disabled: " + message);
  result.passed = result.messages.empty();
  result.alerts = std::move(witness.transitions);
  return result;
}

}  // namespace tocsin::dsl
