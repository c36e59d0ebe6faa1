// What programs read: PagerDuty's events, our JSON, and the webhook of Alertmanager.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/parse_time.h"
#include "adapters/notify/media.h"

namespace tocsin::adapters::notify {
namespace {

using formats::Json;

constexpr const char* json_type = "application/json";

std::string hex(std::uint64_t id) { return fmt::format("{:016x}", id); }

const char* pagerduty_severity(stream::Severity severity) {
  return severity == stream::Severity::critical  ? "critical"
         : severity == stream::Severity::warning ? "warning"
                                                 : "info";
}

// Labels that all alerts have with one value.
Json common(const Json& alerts, const char* part) {
  Json all = alerts.empty() ? Json::object() : alerts.front().at(part);
  for (const Json& alert : alerts) {
    Json both = Json::object();
    for (const auto& [key, value] : all.items())
      if (const auto found = alert.at(part).find(key); found != alert.at(part).end() && *found == value)
        both[key] = value;
    all = std::move(both);
  }
  return all;
}

}  // namespace

// One event for one alert: repeated ones, and those of a restart, are one incident by the key. The routing key is added
// when it is sent.
Payload pagerduty(const Message& message, const Links& links) {
  Json event{{"event_action", "trigger"}, {"dedup_key", "tocsin-test"}};
  if (message.items.empty()) {
    event["payload"] = {{"summary", subject_of(message)}, {"source", links.host}, {"severity", "info"}};
    return {json_type, formats::dump(event)};
  }
  const Message::Item& item = message.items.front();
  const Alert& a = item.alert;
  event["event_action"] = a.firing ? "trigger" : "resolve";
  event["dedup_key"] = "tocsin-" + hex(a.id);
  if (!a.firing) return {json_type, formats::dump(event)};
  Json details = Json::object();
  for (const auto& [title, text] : a.parts) details[title] = shortened(text, 2000);
  Json payload{{"summary", shortened(subject_of(message) + ". " + first_line_of(message, links), 1000)},
               {"source", a.node.empty() ? a.job : a.node},
               {"severity", pagerduty_severity(a.severity)},
               {"timestamp", formats::typed_time(std::chrono::floor<std::chrono::milliseconds>(a.since))},
               {"component", a.rule},
               {"group", a.job}};
  formats::put(payload, "class", a.family);
  payload["custom_details"] = std::move(details);
  event["payload"] = std::move(payload);
  event["client"] = "tocsin";
  formats::put(event, "client_url", page_of(a, links));
  if (const std::string url = runbook_of(a, links); !url.empty())
    event["links"] = Json::array({{{"href", url}, {"text", "runbook"}}});
  return {json_type, formats::dump(event)};
}

Payload webhook(const Message& message, const Receiver& receiver, const Links& links) {
  Json alerts = Json::array();
  for (const Message::Item& item : message.items) {
    Json alert = Json::parse(item.alert.json);
    alert["labels"] = item.alert.labels;
    alert["repeated"] = item.alert.firing && !item.first;
    formats::put(alert, "page", page_of(item.alert, links));
    alerts.push_back(std::move(alert));
  }
  Json out{{"version", 1},
           {"id", hex(message.id)},
           {"receiver", receiver.name},
           {"kind", message.test    ? "test"
                    : message.ended ? "ended"
                                    : "alerts"},
           {"time", formats::typed_time(std::chrono::floor<std::chrono::milliseconds>(message.at))},
           {"subject", subject_of(message)},
           {"text", text_of(message, links)},
           {"alerts", std::move(alerts)}};
  if (message.ended) {
    out["ended"] = Json::parse(message.ended->json);
    out["ended"]["labels"] = message.ended->labels;
    out["ended"]["last_lines"] = message.ended->last_lines;
  }
  if (message.more > 0) out["more"] = message.more;
  if (message.left_out > 0) out["left_out"] = message.left_out;
  return {json_type, formats::dump(out)};
}

// Version 4, as Alertmanager's webhook_config posts it.
Payload manager_webhook(const Message& message, const Receiver& receiver, const Links& links) {
  Json alerts = Json::array();
  bool firing = false;
  const auto time = [](stream::Time at) { return formats::rfc3339(at, 3); };
  const auto add = [&](Json labels, Json annotations, bool fires, stream::Time since, stream::Time at,
                       const std::string& page, std::uint64_t id) {
    firing = firing || fires;
    alerts.push_back({{"status", fires ? "firing" : "resolved"},
                      {"labels", std::move(labels)},
                      {"annotations", std::move(annotations)},
                      {"startsAt", time(since)},
                      {"endsAt", fires ? "0001-01-01T00:00:00Z" : time(at)},
                      {"generatorURL", page},
                      {"fingerprint", hex(id)}});
  };
  for (const Message::Item& item : message.items) {
    const Alert& a = item.alert;
    add(Json::parse(a.manager_labels), Json::parse(a.manager_annotations), a.firing, a.since, a.at, page_of(a, links),
        a.id);
  }
  if (message.ended)
    add({{"alertname", "job_ended"}, {"severity", "info"}, {"job_id", message.ended->job}},
        {{"summary", subject_of(message)}, {"description", text_of(message, links)}}, false, message.ended->at,
        message.ended->at, "", message.ended->id);
  if (message.test)
    add({{"alertname", "test"}, {"severity", "info"}}, {{"summary", subject_of(message)}}, true, message.at, message.at,
        "", message.id);
  Json labels = common(alerts, "labels"), annotations = common(alerts, "annotations");
  return {json_type, formats::dump({{"version", "4"},
                                    {"groupKey", "{}/{}:{" + receiver.name + "}"},
                                    {"truncatedAlerts", message.more},
                                    {"status", firing ? "firing" : "resolved"},
                                    {"receiver", receiver.name},
                                    {"groupLabels", Json::object()},
                                    {"commonLabels", std::move(labels)},
                                    {"commonAnnotations", std::move(annotations)},
                                    {"externalURL", links.page},
                                    {"alerts", std::move(alerts)}})};
}

}  // namespace tocsin::adapters::notify
