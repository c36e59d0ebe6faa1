#pragma once

#include <cmath>
#include <sstream>
#include <string>

#include "stream/rules/alert.h"
#include "tests/schemas/entries.h"

namespace tocsin::tests {

inline stream::AlertTransition a_transition() {
  stream::AlertTransition t;
  t.id = 0xFEDCBA9876543210;
  t.number = 2;
  t.rule = "straggler", t.family = "D3", t.subject = "llama-70b", t.attempt = "2", t.summary = "One rank is slower";
  t.severity = stream::Severity::critical;
  t.mode = stream::Mode::canary;
  t.member = {stream::Level::rank, 3, "n1", "0000:17:00.0", "r2"};
  t.state = stream::AlertState::resolved;
  t.reason = stream::ResolveReason::explained;
  t.explained_by = "throttle";
  t.since = at(1000), t.at = at(1010);
  t.shows = "rank 3 is slow";
  t.implies = {{"compute", "a slow chip"}, {"throttled", ""}};
  t.cannot_decide = {"whether it is the network"};
  t.evidence = {{"d", 1.25}, {"z", HUGE_VAL}};
  t.evidence_texts = {{"state", "D"}};
  t.who = {{stream::Level::node, {}, "n2", "", ""}, {stream::Level::job, {}, "", "", ""}};
  return t;
}

inline stream::Verdict a_verdict() {
  stream::Verdict v;
  v.subject = "llama-70b", v.attempt = "2", v.ended = at(2000), v.end_reason = "timeout", v.family = "C2";
  v.families = {{"C2", stream::Standing::in, {"collective_hang"}, {}},
                {"B1", stream::Standing::undecidable, {"oom"}, {"gpu_memory_used"}}};
  v.shows = {"a"}, v.cannot_decide = {"d"};
  return v;
}

inline std::string in_words(const stream::NamedMember& member) {
  std::ostringstream out;
  out << name(member.level) << ' ' << (member.rank ? std::to_string(*member.rank) : "-") << " '" << member.node << "' '"
      << member.gpu << "' '" << member.rack << "'";
  return out.str();
}

inline std::string in_words(const stream::AlertTransition& t) {
  std::ostringstream out;
  out << t.id << ' ' << t.number << ' ' << t.rule << '|' << t.family << '|' << t.subject << '|' << t.attempt << '|'
      << t.summary << '|' << name(t.severity) << '|' << name(t.mode) << '|' << in_words(t.member) << '|'
      << name(t.state) << '|' << name(t.reason) << '|' << t.explained_by << '|' << stream::nanoseconds(t.since) << '|'
      << stream::nanoseconds(t.at) << '|' << t.shows;
  for (const auto& [cause, text] : t.implies) out << "|implies " << cause << '=' << text;
  for (const auto& text : t.cannot_decide) out << "|cannot " << text;
  for (const auto& [value, number] : t.evidence) out << '|' << value << '=' << number;
  for (const auto& [value, text] : t.evidence_texts) out << '|' << value << '=' << text;
  for (const auto& member : t.who) out << "|who " << in_words(member);
  return out.str();
}

inline std::string in_words(const stream::Verdict& v) {
  std::ostringstream out;
  out << v.subject << '|' << v.attempt << '|' << stream::nanoseconds(v.ended) << '|' << v.end_reason << '|' << v.family;
  for (const auto& line : v.families) {
    out << '|' << line.family << ' ' << static_cast<int>(line.standing);
    for (const auto& rule : line.rules) out << " rule " << rule;
    for (const auto& signal : line.missing) out << " missing " << signal;
  }
  for (const auto& text : v.shows) out << "|shows " << text;
  for (const auto& text : v.cannot_decide) out << "|cannot " << text;
  return out.str();
}

}  // namespace tocsin::tests
