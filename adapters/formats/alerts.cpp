#include "adapters/formats/alerts.h"

#include <fmt/format.h>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "stream/values/value.h"

namespace tocsin::adapters::formats {
namespace {

Json json_of(const stream::NamedMember& member) {
  Json out{{"level", name(member.level)}};
  if (member.rank) out["rank"] = *member.rank;
  put(out, "node", member.node), put(out, "gpu", member.gpu), put(out, "rack", member.rack);
  if (member.pid) out["pid"] = static_cast<std::int64_t>(*member.pid);
  return out;
}

// A rank by its number, all else by its name.
Json culprit(const stream::NamedMember& member) {
  switch (member.level) {
    case stream::Level::rank: return member.rank ? Json(*member.rank) : Json("rank");
    case stream::Level::gpu: return member.node + "/" + member.gpu;
    case stream::Level::node: return member.node;
    case stream::Level::rack: return member.rack;
    default: return "job";
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
  Json who = Json::array(), implies = Json::array(), evidence = Json::object(), form = Json::object();
  for (const auto& member : t.who) who.push_back(culprit(member));
  for (const auto& [cause, text] : t.implies) implies.push_back({{"cause", cause}, {"text", text}});
  for (const auto& [value, number] : t.evidence)  // null is unknown; a NaN was measured
    evidence[value] = stream::is_absent(number) ? Json{} : json_number(number);
  for (const auto& [value, text] : t.evidence_texts) evidence[value] = text;
  for (const auto& [title, text] : alert_form(t, "JOURNAL").parts()) form[title] = text;
  Json alert{{"id", fmt::format("{:016x}", t.id)},
             {"number", t.number},
             {"rule", t.rule},
             {"family", t.family},
             {"family_words", t.family_words},
             {"severity", name(t.severity)},
             {"mode", name(t.mode)},
             {"subject", t.subject},
             {"attempt", t.attempt},
             {"member", json_of(t.member)},
             {"who", std::move(who)},
             {"state", name(t.state)},
             {"reason", name(t.reason)},
             {"explained_by", t.explained_by},
             {"at", stream::nanoseconds(t.at)},
             {"since", stream::nanoseconds(t.since)},
             {"summary", t.summary},
             {"shows", t.shows},
             {"implies", std::move(implies)},
             {"actions", t.actions},
             {"not_known", t.not_known},
             {"cannot_decide", t.cannot_decide},
             {"evidence", std::move(evidence)},
             {"form", std::move(form)}};
  if (!t.runbook.empty()) alert["runbook"] = t.runbook;
  if (!t.owner.empty()) alert["owner"] = t.owner;
  return dump(alert);
}

std::string verdict_to_json(const stream::Verdict& v) {
  Json families = Json::array();
  for (const auto& one : v.families)
    families.push_back({{"family", one.family},
                        {"words", one.words},
                        {"standing", name_of(one.standing)},
                        {"rules", one.rules},
                        {"missing", one.missing}});
  Json verdict{{"family", v.family},
               {"family_words", v.family_words},
               {"end_reason", v.end_reason},
               {"families", std::move(families)},
               {"shows", v.shows},
               {"cannot_decide", v.cannot_decide},
               {"quarantined", v.quarantined}};
  if (!v.training) verdict["training"] = false;
  return dump({{"verdict", std::move(verdict)},
               {"subject", v.subject},
               {"attempt", v.attempt},
               {"ended", stream::nanoseconds(v.ended)}});
}

}  // namespace tocsin::adapters::formats
