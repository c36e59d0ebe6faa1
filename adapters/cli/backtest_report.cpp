#include "adapters/cli/backtest_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Duration;

constexpr std::size_t most_lines = 20;  // of a list of alerts; the JSON has all

// Of one rule.
struct Tally {
  std::size_t alerts = 0;
  std::set<std::pair<std::string, std::string>> jobs;
  Duration firing{};
};

std::map<std::string, Tally> by_rule(const Judged& judged) {
  std::map<std::string, Tally> all;
  for (const Fired& alert : judged.alerts) {
    Tally& tally = all[alert.rule];
    ++tally.alerts, tally.firing += alert.until - alert.at;
    tally.jobs.emplace(alert.recording, alert.job);
  }
  return all;
}

// Those of `these` that no alert of `others` meets: one of the same rule about the same member, that fired at some time
// at which it did.
std::vector<const Fired*> without(const Judged& others, const Judged& these) {
  std::vector<const Fired*> found;
  for (const Fired& alert : these.alerts)
    if (std::none_of(others.alerts.begin(), others.alerts.end(), [&alert](const Fired& other) {
          return other.rule == alert.rule && other.member == alert.member && other.recording == alert.recording &&
                 other.job == alert.job && other.attempt == alert.attempt && other.since <= alert.until &&
                 alert.since <= other.until;
        }))
      found.push_back(&alert);
  return found;
}

struct ChangedVerdict {
  std::string recording, job, attempt, before, now;
};

std::vector<ChangedVerdict> changed_verdicts(const Judged& before, const Judged& now) {
  std::vector<ChangedVerdict> changed;
  for (const auto& [key, family] : now.verdicts) {
    const auto old = before.verdicts.find(key);
    if (old == before.verdicts.end() || old->second == family) continue;
    const auto& [recording, job, attempt] = key;
    changed.push_back({recording, job, attempt, old->second, family});
  }
  return changed;
}

void print_alerts(const std::string& title, const std::vector<const Fired*>& alerts) {
  fmt::print("\n{}:{}\n", title, alerts.empty() ? " none" : "");
  for (std::size_t i = 0; i < std::min(alerts.size(), most_lines); ++i) {
    const Fired& alert = *alerts[i];
    fmt::print(
        "  {}  {}{}  {}, job {}, for {}{}  ({})\n", formats::time_text(alert.since), formats::printable(alert.rule),
        alert.mode == stream::Mode::live ? "" : fmt::format(" ({})", stream::name(alert.mode)),
        formats::printable(alert.who), formats::printable(alert.job), formats::duration_text(alert.until - alert.at),
        alert.resolved ? "" : ", to the end", formats::printable(alert.recording));
  }
  if (alerts.size() > most_lines) fmt::print("  … and {} more (--json prints all)\n", alerts.size() - most_lines);
}

const std::string& or_none(const std::string& family) {
  static const std::string none = "none";
  return family.empty() ? none : family;
}

formats::Json alert_json(const Fired& alert) {
  return {{"recording", alert.recording},
          {"job", alert.job},
          {"attempt", alert.attempt},
          {"rule", alert.rule},
          {"member", alert.member},
          {"who", alert.who},
          {"severity", stream::name(alert.severity)},
          {"mode", stream::name(alert.mode)},
          {"since", formats::typed_time(alert.since)},
          {"seconds", stream::seconds(alert.until - alert.at)},
          {"resolved", alert.resolved}};
}

formats::Json alerts_json(const std::vector<const Fired*>& alerts) {
  formats::Json list = formats::Json::array();
  for (const Fired* alert : alerts) list.push_back(alert_json(*alert));
  return list;
}

formats::Json judged_json(const Judged& judged) {
  formats::Json rules = formats::Json::object(), alerts = formats::Json::array(), verdicts = formats::Json::array();
  for (const auto& [name, tally] : by_rule(judged))
    rules[name] = {
        {"alerts", tally.alerts}, {"jobs", tally.jobs.size()}, {"firing_seconds", stream::seconds(tally.firing)}};
  for (const Fired& alert : judged.alerts) alerts.push_back(alert_json(alert));
  for (const auto& [key, family] : judged.verdicts) {
    const auto& [recording, job, attempt] = key;
    verdicts.push_back({{"recording", recording}, {"job", job}, {"attempt", attempt}, {"family", family}});
  }
  return {{"recordings", judged.recordings},
          {"unread", judged.unread},
          {"jobs", judged.jobs.size()},
          {"seconds", stream::seconds(judged.span)},
          {"rules", rules},
          {"alerts", alerts},
          {"verdicts", verdicts},
          {"failed", judged.failed}};
}

}  // namespace

void print_backtest(const Judged& now, const Judged* before, const stream::Pack& pack, const std::string& places,
                    const std::string& places_before) {
  fmt::print("{} recording{}, {} job{}, {} in all; judged by {} rules of {}{}\n", now.recordings,
             now.recordings == 1 ? "" : "s", now.jobs.size(), now.jobs.size() == 1 ? "" : "s",
             formats::duration_text(now.span), pack.rules.size(), places,
             before == nullptr ? "" : ", and before by " + places_before);
  const auto tallies = by_rule(now);
  const auto old = before == nullptr ? std::map<std::string, Tally>{} : by_rule(*before);
  std::set<std::string> names;
  for (const auto& [name, tally] : tallies) names.insert(name);
  for (const auto& [name, tally] : old) names.insert(name);
  if (!names.empty()) fmt::print("\n  {:<28} {:>14} {:>12}  {}\n", "rule", "alerts", "jobs", "firing");
  const auto of = [](const std::map<std::string, Tally>& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? Tally{} : found->second;
  };
  for (const std::string& name : names) {
    const Tally tally = of(tallies, name), was = of(old, name);
    const auto pair = [before](std::size_t then, std::size_t count) {
      return before == nullptr || then == count ? std::to_string(count) : fmt::format("{} -> {}", then, count);
    };
    fmt::print("  {:<28} {:>14} {:>12}  {}\n", formats::printable(name), pair(was.alerts, tally.alerts),
               pair(was.jobs.size(), tally.jobs.size()), formats::duration_text(tally.firing));
  }
  if (before == nullptr) {
    std::vector<const Fired*> all;
    for (const Fired& alert : now.alerts) all.push_back(&alert);
    print_alerts("alerts", all);
  } else {
    print_alerts("only now", without(*before, now));
    print_alerts("no longer", without(now, *before));
    const auto changed = changed_verdicts(*before, now);
    fmt::print("\nother verdicts:{}\n", changed.empty() ? " none" : "");
    for (const ChangedVerdict& verdict : changed)
      fmt::print("  job {}, attempt {}: {} -> {}  ({})\n", formats::printable(verdict.job),
                 formats::printable(verdict.attempt), or_none(verdict.before), or_none(verdict.now),
                 formats::printable(verdict.recording));
  }
  for (const auto& [rule, message] : now.failed)
    fmt::print("\nrule {} failed and was disabled: {}\n", rule, formats::printable(message));
  if (now.unread > 0)
    fmt::print("\n{} recording{} could not be read; see above\n", now.unread, now.unread == 1 ? "" : "s");
}

void print_backtest_json(const Judged& now, const Judged* before) {
  formats::Json report = judged_json(now);
  if (before != nullptr) {
    report["before"] = judged_json(*before);
    report["only_now"] = alerts_json(without(*before, now)), report["no_longer"] = alerts_json(without(now, *before));
    report["changed_verdicts"] = formats::Json::array();
    for (const ChangedVerdict& verdict : changed_verdicts(*before, now))
      report["changed_verdicts"].push_back({{"recording", verdict.recording},
                                            {"job", verdict.job},
                                            {"attempt", verdict.attempt},
                                            {"before", verdict.before},
                                            {"now", verdict.now}});
  }
  fmt::print("{}\n", formats::dump(report));
}

}  // namespace tocsin::adapters::cli
