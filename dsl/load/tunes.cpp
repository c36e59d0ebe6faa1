#include "dsl/load/tunes.h"

#include <utility>

#include "dsl/load/rule_files.h"
#include "dsl/lua/durations.h"

namespace tocsin::dsl {
namespace {

std::string shown(const std::string& text) { return '"' + text + '"'; }
std::string shown(bool yes) { return yes ? "true" : "false"; }
std::string shown(const std::vector<stream::Scalar>& list) {
  std::string out = "{";
  for (const stream::Scalar& one : list)
    out += (out.size() > 1 ? ", " : " ") + std::visit(
                                               [](const auto& value) {
                                                 if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
                                                   return dsl::shown(value);
                                                 else return shown(value);
                                               },
                                               one);
  return out + " }";
}
std::string shown(const ParamValue& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, double>) return dsl::shown(one);
        else return shown(one);
      },
      value);
}
std::string shown(const std::map<std::string, std::vector<std::string>>& labels) {
  std::string out = "{";
  for (const auto& [label, patterns] : labels)
    out += (out.size() > 1 ? ", " : " ") + label + " = " +
           (patterns.size() == 1 ? shown(patterns[0])
                                 : shown(std::vector<stream::Scalar>{patterns.begin(), patterns.end()}));
  return out + " }";
}

std::string shown(stream::Severity one, const std::map<std::string, stream::Severity>& by_cause) {
  std::string out;
  for (const auto& [cause, severity] : by_cause)
    out += (out.empty() ? "{ " : ", ") + cause + " = " + std::string{stream::name(severity)};
  return out.empty() ? std::string{stream::name(one)} : out + " }";
}

std::string change(const std::string& what, const std::string& now, const std::string& before) {
  return what + " = " + now + (now == before ? " (as it was)" : " (it was " + before + ")");
}

// Applies what the tune says, as the assembly does.
std::vector<std::string> changes(const TuneSource& tune, RuleSource& rule) {
  std::vector<std::string> all;
  for (const auto& [name, value] : tune.params)
    if (const auto param = rule.params.find(name); param != rule.params.end())
      all.push_back(change("params." + name, shown(value), shown(std::exchange(param->second, value))));
  if (tune.severity) {
    const auto before = shown(rule.severity.value_or(stream::Severity::warning), rule.severities);
    rule.severity = tune.severity, rule.severities = tune.severities;
    all.push_back(change("severity", shown(*tune.severity, tune.severities), before));
  }
  if (tune.mode) {
    const auto before = std::exchange(rule.mode, tune.mode).value_or(stream::Mode::live);
    all.push_back(change("mode", std::string{stream::name(*tune.mode)}, std::string{stream::name(before)}));
  }
  const auto persistence = [&](const char* what, const std::optional<stream::Persistence>& now,
                               std::optional<stream::Persistence>& rules) {
    if (now)
      all.push_back(
          change(what, dsl::shown(*now), dsl::shown(std::exchange(rules, now).value_or(stream::Persistence{}))));
  };
  const auto text = [&](const char* what, const std::optional<std::string>& now, std::optional<std::string>& rules) {
    if (now) all.push_back(change(what, shown(*now), shown(std::exchange(rules, now).value_or(""))));
  };
  text("runbook", tune.runbook, rule.runbook);
  text("owner", tune.owner, rule.owner);
  persistence("fire", tune.fire, rule.fire);
  persistence("clear", tune.clear, rule.clear);
  if (tune.jobs) all.push_back(change("jobs", shown(*tune.jobs), shown(std::exchange(rule.jobs, *tune.jobs))));
  return all;
}

std::vector<std::string> changes(const TuneSource& tune, stream::SignalDefinition& signal) {
  std::vector<std::string> all;
  if (tune.row) all.push_back(change("row", dsl::shown(*tune.row), dsl::shown(std::exchange(signal.row, *tune.row))));
  if (tune.lateness)
    all.push_back(
        change("lateness", dsl::shown(*tune.lateness), dsl::shown(std::exchange(signal.lateness, *tune.lateness))));
  return all;
}

}  // namespace

std::vector<Tuned> tuned(const PackFiles& files, const Budgets& budgets) {
  RuleFiles source{files, budgets};
  source.read();
  Collection& collection = source.collection;
  std::vector<Tuned> all;
  for (const TuneSource& tune : collection.tunes) {
    if (const auto rule = collection.rules.find(tune.name); rule != collection.rules.end())
      all.push_back({tune.name, tune.file, tune.line, changes(tune, rule->second)});
    else if (const auto signal = collection.signals.find(tune.name); signal != collection.signals.end())
      all.push_back({tune.name, tune.file, tune.line, changes(tune, signal->second)});
  }
  return all;
}

}  // namespace tocsin::dsl
