#include "adapters/http/recent_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

#include "adapters/formats/alerts.h"
#include "adapters/formats/json.h"

namespace tocsin::adapters::http {
namespace {

using stream::Errc;
using stream::Error;

constexpr std::size_t most_verdicts = 1000, usual_limit = 100;

std::optional<std::string> asked(const Providers::Query& query, const char* name) {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : std::optional{found->second};
}

stream::Result<std::size_t> limit_of(const Providers::Query& query) {
  const auto text = asked(query, "limit");
  if (!text) return usual_limit;
  std::size_t limit = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (wrong != std::errc{} || end != text->data() + text->size())
    return Error{Errc::malformed, "limit is not a whole number: ?limit=100"};
  return limit;
}

stream::Result<std::optional<std::uint64_t>> id_of(const Providers::Query& query) {
  const auto text = asked(query, "id");
  if (!text) return std::optional<std::uint64_t>{};
  std::uint64_t id = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), id, 16);
  if (wrong != std::errc{} || end != text->data() + text->size())
    return Error{Errc::malformed, "id is not an alert's: 16 hex digits"};
  return std::optional{id};
}

std::optional<std::string> unknown_parameter(const Providers::Query& query, std::initializer_list<const char*> known) {
  for (const auto& [name, value] : query) {
    bool found = false;
    for (const char* one : known) found = found || name == one;
    if (!found) return name;
  }
  return std::nullopt;
}

}  // namespace

void RecentReports::report(std::uint32_t owner, const stream::Report& report) {
  if (const auto* verdict = std::get_if<stream::Verdict>(&report)) {
    return keep({verdict->subject, formats::verdict_to_json(*verdict)});
  }
  const auto& t = std::get<stream::AlertTransition>(report);
  keep(t.id, {owner, t.number, 0, t.state == stream::AlertState::firing, t.subject, t.rule, t.severity,
              formats::alert_to_json(t)});
}

void RecentReports::remember(const std::vector<std::pair<std::uint32_t, std::string>>& lines) {
  struct Line {
    std::int64_t at = 0;
    std::uint32_t owner = 0;
    formats::Json json;
    const std::string* text = nullptr;
  };
  std::vector<Line> known;
  for (const auto& [owner, text] : lines) {
    auto json = formats::Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("subject") || !json["subject"].is_string()) continue;
    const std::int64_t at = json.value(json.contains("rule") ? "at" : "ended", std::int64_t{0});
    known.push_back({at, owner, std::move(json), &text});
  }
  std::stable_sort(known.begin(), known.end(), [](const Line& a, const Line& b) { return a.at < b.at; });
  for (const auto& [at, owner, json, line] : known) {
    const std::string job = json["subject"];
    if (!json.contains("rule")) {
      keep({job, *line});
      continue;
    }
    const std::string text = json.value("id", "");
    std::uint64_t id = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), id, 16).ec != std::errc{}) continue;
    Alert alert{owner, json.value("number", 0u), 0,  json.value("state", "") == "firing",
                job,   json.value("rule", ""),   {}, *line};
    for (const auto severity :
         {stream::Severity::none, stream::Severity::info, stream::Severity::warning, stream::Severity::critical})
      if (json.value("severity", "") == name(severity)) alert.severity = severity;
    keep(id, std::move(alert));
  }
}

void RecentReports::keep(Verdict verdict) {
  const std::lock_guard lock{mutex_};
  verdicts_.push_back(std::move(verdict));
  if (verdicts_.size() > most_verdicts) verdicts_.pop_front();
}

void RecentReports::keep(std::uint64_t id, Alert alert) {
  const std::lock_guard lock{mutex_};
  auto& known = alerts_[id];
  if (known.number >= alert.number) return;
  by_order_.erase(known.order);
  alert.order = ++order_;
  known = std::move(alert);
  by_order_.emplace(order_, id);
  if (alerts_.size() > most_) forget_oldest();
}

// One that no longer fires, if there is one.
void RecentReports::forget_oldest() {
  auto oldest = by_order_.begin();
  for (auto at = by_order_.begin(); at != by_order_.end(); ++at)
    if (!alerts_.at(at->second).firing) {
      oldest = at;
      break;
    }
  alerts_.erase(oldest->second);
  by_order_.erase(oldest);
}

void RecentReports::withdraw(std::uint32_t owner) {
  const std::lock_guard lock{mutex_};
  for (auto at = alerts_.begin(); at != alerts_.end();) {
    if (at->second.owner == owner) {
      by_order_.erase(at->second.order);
      at = alerts_.erase(at);
    } else {
      ++at;
    }
  }
}

stream::Result<std::string> RecentReports::alerts(const Providers::Query& query) const {
  if (const auto wrong = unknown_parameter(query, {"job", "state", "severity", "rule", "id", "limit"}))
    return Error{Errc::malformed,
                 "there is no parameter '" + *wrong + "'; known are job, state, severity, rule, id, limit"};
  const auto limit = limit_of(query);
  if (!limit) return limit.error();
  const auto id = id_of(query);
  if (!id) return id.error();
  const auto job = asked(query, "job"), state = asked(query, "state"), severity = asked(query, "severity"),
             rule = asked(query, "rule");
  if (state && *state != "firing" && *state != "resolved") return Error{Errc::malformed, "state is firing or resolved"};
  if (severity && *severity != "critical" && *severity != "warning" && *severity != "info" && *severity != "none")
    return Error{Errc::malformed, "severity is critical, warning, info or none"};
  std::string out = "[";
  std::size_t count = 0;
  const std::lock_guard lock{mutex_};
  for (auto at = by_order_.rbegin(); at != by_order_.rend() && count < *limit; ++at) {
    const Alert& alert = alerts_.at(at->second);
    if ((*id && **id != at->second) || (job && *job != alert.job) || (rule && *rule != alert.rule) ||
        (state && (*state == "firing") != alert.firing) || (severity && *severity != name(alert.severity)))
      continue;
    out += count++ == 0 ? "" : ",";
    out += alert.json;
  }
  return out + "]";
}

stream::Result<std::string> RecentReports::verdicts(const Providers::Query& query) const {
  if (const auto wrong = unknown_parameter(query, {"job", "limit"}))
    return Error{Errc::malformed, "there is no parameter '" + *wrong + "'; known are job, limit"};
  const auto limit = limit_of(query);
  if (!limit) return limit.error();
  const auto job = asked(query, "job");
  std::string out = "[";
  std::size_t count = 0;
  const std::lock_guard lock{mutex_};
  for (auto at = verdicts_.rbegin(); at != verdicts_.rend() && count < *limit; ++at) {
    if (job && *job != at->job) continue;
    out += count++ == 0 ? "" : ",";
    out += at->json;
  }
  return out + "]";
}

}  // namespace tocsin::adapters::http
