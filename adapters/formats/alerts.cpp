#include "adapters/formats/alerts.h"

#include <span>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json_text.h"
#include "stream/values/value.h"

namespace tocsin::adapters::formats {
namespace {

using stream::NamedMember;

void put(std::string& out, std::string_view key, std::string_view text) {
  put_key(out, key);
  put_text(out, text);
}
void put(std::string& out, std::string_view key, stream::Time time) {
  put_key(out, key);
  put_whole(out, stream::nanoseconds(time));
}
void put_all(std::string& out, std::string_view key, std::span<const std::string> texts) {
  put_key(out, key);
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) out += ',';
    put_text(out, texts[i]);
  }
  out += ']';
}

void put_member(std::string& out, const NamedMember& member) {
  out += '{';
  put(out, "level", name(member.level));
  if (member.rank) {
    put_key(out, "rank");
    put_whole(out, *member.rank);
  }
  if (!member.node.empty()) put(out, "node", member.node);
  if (!member.gpu.empty()) put(out, "gpu", member.gpu);
  if (!member.rack.empty()) put(out, "rack", member.rack);
  if (member.pid) {
    put_key(out, "pid");
    put_whole(out, static_cast<std::int64_t>(*member.pid));
  }
  out += '}';
}

// A rank by its number, all else by its name.
void put_culprit(std::string& out, const NamedMember& member) {
  switch (member.level) {
    case stream::Level::rank:
      if (member.rank) return put_whole(out, *member.rank);
      return put_text(out, "rank");
    case stream::Level::gpu: return put_text(out, member.node + "/" + member.gpu);
    case stream::Level::node: return put_text(out, member.node);
    case stream::Level::rack: return put_text(out, member.rack);
    default: return put_text(out, "job");
  }
}

std::string_view name_of(stream::Standing standing) {
  switch (standing) {
    case stream::Standing::in: return "in";
    case stream::Standing::out: return "out";
    default: return "undecidable";
  }
}

}  // namespace

std::string alert_to_json(const stream::AlertTransition& t) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string id;
  for (int shift = 60; shift >= 0; shift -= 4) id += hex[t.id >> shift & 15];
  std::string out = "{";
  put(out, "id", id);
  put_key(out, "number");
  put_whole(out, t.number);
  put(out, "rule", t.rule);
  put(out, "family", t.family);
  put(out, "family_words", t.family_words);
  put(out, "severity", name(t.severity));
  put(out, "mode", name(t.mode));
  put(out, "subject", t.subject);
  put(out, "attempt", t.attempt);
  put_key(out, "member");
  put_member(out, t.member);
  put_key(out, "who");
  out += '[';
  for (std::size_t i = 0; i < t.who.size(); ++i) {
    if (i != 0) out += ',';
    put_culprit(out, t.who[i]);
  }
  out += ']';
  put(out, "state", name(t.state));
  put(out, "reason", name(t.reason));
  put(out, "explained_by", t.explained_by);
  put(out, "at", t.at);
  put(out, "since", t.since);
  put(out, "summary", t.summary);
  put(out, "shows", t.shows);
  put_key(out, "implies");
  out += '[';
  for (std::size_t i = 0; i < t.implies.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    put(out, "cause", t.implies[i].first);
    put(out, "text", t.implies[i].second);
    out += '}';
  }
  out += ']';
  put_all(out, "actions", t.actions);
  put(out, "not_known", t.not_known);
  put_all(out, "cannot_decide", t.cannot_decide);
  put_key(out, "evidence");
  out += '{';
  for (const auto& [value_name, number] : t.evidence) {
    put_key(out, value_name);
    if (stream::is_absent(number)) out += "null";  // unknown; a NaN was measured
    else put_number(out, number);
  }
  for (const auto& [value_name, text] : t.evidence_texts) put(out, value_name, text);
  out += '}';
  put_key(out, "form");
  out += '{';
  for (const auto& [title, text] : alert_form(t, "JOURNAL").parts()) put(out, title, text);
  return out += "}}";
}

std::string verdict_to_json(const stream::Verdict& v) {
  std::string out = "{";
  put_key(out, "verdict");
  out += '{';
  put(out, "family", v.family);
  put(out, "family_words", v.family_words);
  put(out, "end_reason", v.end_reason);
  put_key(out, "families");
  out += '[';
  for (std::size_t i = 0; i < v.families.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    put(out, "family", v.families[i].family);
    put(out, "words", v.families[i].words);
    put(out, "standing", name_of(v.families[i].standing));
    put_all(out, "rules", v.families[i].rules);
    put_all(out, "missing", v.families[i].missing);
    out += '}';
  }
  out += ']';
  put_all(out, "shows", v.shows);
  put_all(out, "cannot_decide", v.cannot_decide);
  put_all(out, "quarantined", v.quarantined);
  if (!v.training) out += ",\"training\":false";
  out += '}';
  put(out, "subject", v.subject);
  put(out, "attempt", v.attempt);
  put(out, "ended", v.ended);
  return out += '}';
}

}  // namespace tocsin::adapters::formats
