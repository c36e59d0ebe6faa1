#include "adapters/notify/notice.h"

#include <fmt/format.h>

#include "adapters/alertmanager/alert_json.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/alerts.h"
#include "adapters/formats/printable.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::notify {
namespace {

using formats::Json;
using formats::printable;

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "; ")); }

std::string reason_text(const stream::AlertTransition& t) {
  switch (t.reason) {
    case stream::ResolveReason::none: return {};
    case stream::ResolveReason::cleared: return "cleared";
    case stream::ResolveReason::no_data: return "no data any more";
    case stream::ResolveReason::explained: return "explained by " + t.explained_by;
    case stream::ResolveReason::attempt_ended: return "the job's attempt ended";
    case stream::ResolveReason::rule_removed: return "its rule was removed";
  }
  return {};
}

// "failed", "completed", "cancelled"; nothing where it is not known.
std::string reason_of(const stream::Verdict& v) { return v.end_reason == "unknown" ? "" : v.end_reason; }

}  // namespace

Alert alert_of(const stream::AlertTransition& t, const std::string& recording) {
  const formats::AlertForm form = formats::alert_form(t, recording);
  Alert alert;
  alert.id = t.id, alert.number = t.number, alert.firing = t.state == stream::AlertState::firing;
  alert.severity = t.severity, alert.since = t.since, alert.at = t.at;
  alert.rule = t.rule, alert.family = t.family, alert.mode = stream::name(t.mode), alert.job = t.subject;
  alert.labels = t.labels;
  alert.summary = printable(t.summary.empty() ? t.rule : t.summary);
  const bool whole = t.who.empty() && (t.member.level == stream::Level::job || t.member.level == stream::Level::none);
  if (!whole) alert.who = printable(formats::members_text(t));
  if (alert.who == "the job") alert.who.clear();
  alert.seen = printable(form.seen), alert.action = printable(form.action);
  alert.runbook = t.runbook, alert.node = t.member.node;
  if (!alert.firing) alert.ended = printable(reason_text(t));
  for (const auto& [title, text] : form.parts()) alert.parts.emplace_back(title, printable(text));
  alert.json = formats::alert_to_json(t);
  auto rendered = alertmanager::render(t, {});
  alert.manager_labels = std::move(rendered.labels), alert.manager_annotations = std::move(rendered.annotations);
  return alert;
}

Ended ended_of(const stream::Verdict& v) {
  Ended ended;
  ended.job = v.subject, ended.attempt = v.attempt, ended.labels = v.labels, ended.at = v.ended;
  ended.id = stream::hash_text(std::to_string(stream::nanoseconds(v.ended)),
                               stream::hash_text(v.attempt, stream::hash_text(v.subject)));
  ended.failed = v.end_reason == "failed" || !v.family.empty();
  const std::string found = !v.family.empty()
                                ? v.family_words.empty() ? v.family : v.family_words + " (" + v.family + ")"
                            : v.end_reason == "failed" ? "no cause found"
                                                       : "no fault found";
  const std::string reason = reason_of(v);
  ended.result = printable(reason.empty() ? found : reason + ": " + found);
  std::vector<std::string> undecided;
  for (const auto& line : v.families)
    if (line.standing == stream::Standing::undecidable)
      undecided.push_back((line.words.empty() ? line.family : line.words) +
                          (line.missing.empty() ? "" : " (no " + line.missing.front() + ")"));
  for (const auto& [title, texts] :
       {std::pair{"found", &v.shows}, {"rules failed", &v.quarantined}, {"cannot decide", &undecided}})
    if (!texts->empty()) ended.parts.emplace_back(title, printable(joined(*texts)));
  ended.json = formats::verdict_to_json(v);
  return ended;
}

Json json_of(const Alert& a) {
  Json parts = Json::array();
  for (const auto& [title, text] : a.parts) parts.push_back({title, text});
  return {{"id", a.id},
          {"number", a.number},
          {"firing", a.firing},
          {"severity", static_cast<int>(a.severity)},
          {"since", stream::nanoseconds(a.since)},
          {"at", stream::nanoseconds(a.at)},
          {"texts",
           {a.rule, a.family, a.mode, a.job, a.summary, a.who, a.seen, a.action, a.runbook, a.node, a.ended, a.json,
            a.manager_labels, a.manager_annotations}},
          {"labels", a.labels},
          {"parts", std::move(parts)}};
}

Alert alert_from(const Json& json) {
  Alert a;
  a.id = json.at("id"), a.number = json.at("number"), a.firing = json.at("firing");
  a.severity = static_cast<stream::Severity>(json.at("severity").get<int>());
  a.since = stream::at_nanoseconds(json.at("since")), a.at = stream::at_nanoseconds(json.at("at"));
  std::size_t i = 0;
  for (std::string* text : {&a.rule, &a.family, &a.mode, &a.job, &a.summary, &a.who, &a.seen, &a.action, &a.runbook,
                            &a.node, &a.ended, &a.json, &a.manager_labels, &a.manager_annotations})
    *text = json.at("texts").at(i++);
  a.labels = json.at("labels").get<std::map<std::string, std::string>>();
  for (const Json& part : json.at("parts")) a.parts.emplace_back(part.at(0), part.at(1));
  return a;
}

}  // namespace tocsin::adapters::notify
