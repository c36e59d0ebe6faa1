#include "adapters/cli/explained.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "adapters/cli/rule_values.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/members.h"

namespace tocsin::adapters::cli {
namespace {

using formats::printable;
using stream::NodeId;
using Evaluation = stream::RuleEvaluation;

std::string outcome_of(const Evaluation& evaluation, stream::Slot slot) {
  return std::string{stream::name(evaluation.outcomes[slot])};
}

const stream::Life* life_of(const Evaluation& evaluation, stream::Slot slot) {
  const auto found = evaluation.run.lives().find(slot);
  return found == evaluation.run.lives().end() ? nullptr : &found->second;
}

// How often the rule was yes lately, where once is not enough.
std::string fire_text(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Persistence& fire = evaluation.rule.fire;
  const stream::Life* life = life_of(evaluation, slot);
  std::vector<std::string> all;
  if (fire.n > 1)
    all.push_back(fmt::format("yes in {} of the last {} evaluations; it fires at {}",
                              life ? life->streak.yes_among_last(fire.n) : 0, fire.n, fire.k));
  if (fire.timed) {
    const stream::Time since = life ? life->streak.yes_since() : stream::never;
    const bool now = since != stream::never;
    all.push_back(fmt::format("{}; it fires after {}",
                              now ? "yes for " + formats::duration_text(evaluation.tick - since) : "not yes now",
                              formats::duration_text(fire.span)));
  }
  return fmt::format("{}", fmt::join(all, ", and "));
}

std::string alert_text(const Evaluation& evaluation, stream::Slot slot) {
  const stream::RuleRun& run = evaluation.run;
  const stream::Rule& rule = evaluation.rule;
  const stream::RuleRun::Seldom& seldom = run.seldom();
  if (seldom.quarantined_until && evaluation.tick < *seldom.quarantined_until)
    return fmt::format("the rule failed and is disabled until {}: {}", formats::time_text(*seldom.quarantined_until),
                       seldom.failure);
  const stream::Life* life = life_of(evaluation, slot);
  const std::string waits = evaluation.waits_for(slot);
  const std::string since = life && life->first != stream::never ? formats::time_text(life->first) : "";
  std::string text = "none";
  if (life == nullptr) text = "none";
  else if (life->published) text = "firing since " + since;
  else if (!life->explained_by.empty()) text = "none: explained by '" + life->explained_by + "'";
  else if (life->on && !waits.empty()) text = "none yet: it waits for '" + waits + "', which is pending";
  else if (life->withheld != stream::never)
    text = fmt::format("withheld: the limit is {} alerts of a severity", evaluation.pack.alert_limit);
  else if (life->on && rule.severity == stream::Severity::none) text = "none: severity is none; yes since " + since;
  else if (life->on) text = "none yet: it fires when the rule says yes again";
  else if (!since.empty()) text = "pending since " + since;
  if (rule.mode == stream::Mode::shadow) text += "  (shadow: not posted)";
  return text;
}

// Every name that the author gave to a value: those that evaluate returns, and its local variables.
std::map<std::string, NodeId> named_values(const stream::Rule& rule) {
  std::map<std::string, NodeId> all;
  for (const auto& local : rule.locals) all[local.name] = local.node;
  for (const auto& output : rule.outputs) all[output.name] = output.node;
  return all;
}

}  // namespace

Explained explained(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Rule& rule = evaluation.rule;
  const stream::Graph& graph = evaluation.values.graph();
  Explained all{rule.name,
                std::string{evaluation.subject},
                stream::describe(stream::named_member(evaluation.topology, rule.per, slot)),
                outcome_of(evaluation, slot),
                evaluation.tick,
                fire_text(evaluation, slot),
                alert_text(evaluation, slot),
                deciding_values(evaluation, slot),
                {}};
  const auto names = names_of(evaluation);
  std::set<NodeId> ids(rule.hot.begin(), rule.hot.end());
  ids.insert(rule.cold.begin(), rule.cold.end());
  for (const NodeId id : ids) {
    const stream::Node& node = graph[id];
    if (node.op == stream::Op::constant || node.op == stream::Op::spread || node.type.shape == stream::Shape::window ||
        node.type.shape == stream::Shape::finding)
      continue;
    std::set<std::string> called;
    if (id == rule.answer) called.insert("answer");
    for (const auto& [name, named] : named_values(rule))
      if (named == id) called.insert(name);
    for (const auto& cause : rule.causes)
      if (cause.node == id) called.insert(cause.name);
    if (rule.who == id) called.insert("who");
    all.values.push_back({fmt::format("{}", fmt::join(called, ", ")), expression(graph, id, names),
                          value_text(evaluation, id, slot), why_unknown(evaluation, id, slot)});
  }
  return all;
}

std::string as_text(const Explained& all, bool verbose) {
  std::string out = fmt::format("{} at {} for {}: {}\n", printable(all.rule), formats::time_text(all.tick),
                                printable(all.member), all.outcome);
  if (!all.fire.empty()) out += "fire: " + all.fire + "\n";
  out += "alert: " + printable(all.alert) + "\n";
  if (!all.deciding.empty()) out += "because:\n" + all.deciding;
  const bool named = std::ranges::any_of(all.values, [](const auto& value) { return !value.name.empty(); });
  out += "values:\n";
  for (const auto& [name, written, value, missing] : all.values) {
    if (!verbose && named && name.empty()) continue;
    out += fmt::format("  {:<16} {:<24} {}\n", printable(name), printable(value), printable(written));
    if (!missing.empty()) out += fmt::format("  {:<16} missing {}\n", "", printable(missing));
  }
  return out;
}

std::string as_json(const Explained& all) {
  formats::Json rows = formats::Json::array();
  for (const auto& [name, written, value, missing] : all.values)
    rows.push_back({{"expression", written}, {"value", value}, {"name", name}, {"missing", missing}});
  return formats::dump({{"rule", all.rule},
                        {"job", all.job},
                        {"member", all.member},
                        {"outcome", all.outcome},
                        {"fire", all.fire},
                        {"alert", all.alert},
                        {"at", formats::typed_time(all.tick)},
                        {"values", rows}}) +
         "\n";
}

std::optional<std::string> ValueTable::add(const Evaluation& evaluation, stream::Slot slot) {
  const stream::Rule& rule = evaluation.rule;
  const auto known = named_values(rule);
  rule_ = rule.name, job_ = evaluation.subject;
  member_ = stream::describe(stream::named_member(evaluation.topology, rule.per, slot));
  if (names_.empty())
    for (const auto& output : rule.outputs) names_.push_back(output.name);
  if (names_.empty())
    for (const auto& [name, node] : known) names_.push_back(name);
  Line line{evaluation.tick, {outcome_of(evaluation, slot)}};
  for (const std::string& name : names_) {
    const auto found = known.find(name);
    if (found == known.end()) {
      std::vector<std::string> all;
      for (const auto& [one, node] : known) all.push_back(one);
      return fmt::format("rule '{}' has no value '{}'. It has: {}", rule.name, name, fmt::join(all, ", "));
    }
    line.cells.push_back(value_text(evaluation, found->second, slot));
  }
  if (lines_.empty() || lines_.back().cells != line.cells) lines_.push_back(std::move(line));
  return std::nullopt;
}

std::string ValueTable::as_text() const {
  std::vector<std::string> titles{"answer"};
  titles.insert(titles.end(), names_.begin(), names_.end());
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    widths.push_back(titles[i].size());
    for (const Line& line : lines_) widths.back() = std::max(widths.back(), printable(line.cells[i]).size());
  }
  const auto row = [&](const std::string& first, const std::vector<std::string>& cells) {
    std::string out = fmt::format("  {:<23}", first);
    for (std::size_t i = 0; i < cells.size(); ++i) out += fmt::format("  {:<{}}", printable(cells[i]), widths[i]);
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = fmt::format("{} for {}, where a value changes\n", printable(rule_), printable(member_));
  out += row("at", titles);
  for (const Line& line : lines_) out += row(formats::time_text(line.tick), line.cells);
  return out;
}

std::string ValueTable::as_json() const {
  formats::Json lines = formats::Json::array();
  for (const Line& line : lines_) {
    formats::Json values = formats::Json::object();
    for (std::size_t i = 0; i < names_.size(); ++i) values[names_[i]] = line.cells[i + 1];
    lines.push_back({{"at", formats::typed_time(line.tick)}, {"outcome", line.cells[0]}, {"values", values}});
  }
  return formats::dump({{"rule", rule_}, {"job", job_}, {"member", member_}, {"changes", lines}}) + "\n";
}

std::string why_not_run(const stream::Pack& pack, const stream::Rule& rule,
                        const std::map<std::string, std::string>& labels) {
  for (const auto& [label, wanted] : rule.jobs) {
    const auto found = labels.find(label);
    if (stream::allows(wanted, found == labels.end() ? nullptr : &found->second)) continue;
    return fmt::format("its `jobs` wants {} = {}, and the job has {}", label, fmt::join(wanted, " or "),
                       found == labels.end() ? "no such label" : "'" + found->second + "'");
  }
  if (rule.scope == stream::Scope::cluster) return "it is about the cluster: --job cluster";
  std::vector<std::string> when;
  for (const stream::Trigger& trigger : rule.every)
    if (trigger.kind == stream::Trigger::Kind::end) when.push_back("at the end of an attempt");
    else if (trigger.kind == stream::Trigger::Kind::record)
      when.push_back("when " + pack.signals[trigger.signal].name + " comes");
    else when.push_back("every " + formats::duration_text(trigger.period));
  return fmt::format("it runs {}, and was never due", fmt::join(when, " and "));
}

}  // namespace tocsin::adapters::cli
