#include "dsl/load/collection.h"

#include <algorithm>

#include "dsl/lua/durations.h"
#include "dsl/lua/problems.h"

namespace tocsin::dsl {
namespace {

using stream::Level;
using stream::SignalDefinition;
using stream::SignalKind;
using Kind = CaseValue::Kind;

std::vector<std::string> causes(const RuleSource& rule) {
  std::vector<std::string> names;
  for (const auto& [cause, text] : rule.causes) names.push_back(cause);
  return names;
}

// Whether `rank = { [3] = … }` and the like can hold a value of such an owner: rank i has GPU i.
bool holds(Level place, Level owner) {
  if (place == Level::none) return true;
  return place == Level::node ? owner == Level::node : owner == Level::rank || owner == Level::gpu;
}

struct Checks {
  const Collection& collection;
  const Case& of;

  void problem(std::string message) const { collection.problems->add(of.file, of.line, std::move(message)); }
  [[nodiscard]] std::uint32_t size(Level level) const {
    return level == Level::node ? (of.ranks + of.per_node - 1) / std::max(1u, of.per_node) : of.ranks;
  }

  // `place`: none where the values stand in the segment itself.
  void values(const CaseValues& given, Level place) const {
    for (const auto& [name, value] : given) {
      const auto* signal = collection.find_signal(name);
      if (!signal) collection.no_signal(of.file, of.line, name);
      else if (signal->kind == SignalKind::event)
        problem("'" + name + "' is an event, and has no value: write events = { { \"" + name + "\", at = \"10s\" } }");
      else if (!holds(place, signal->owner)) owned_elsewhere(*signal, place);
      else one_value(*signal, name, value);
    }
  }
  void owned_elsewhere(const SignalDefinition& signal, Level place) const {
    const std::string owner{stream::name(signal.owner)};
    problem("'" + signal.name + "' is a " + owner + "'s, and stands under " + std::string{stream::name(place)} +
            ": write " +
            (signal.owner == Level::job || signal.owner == Level::rack ? "it in the segment itself"
                                                                       : owner + " = { [0] = { … } }"));
  }
  void one_value(const SignalDefinition& signal, const std::string& name, const CaseValue& value) const {
    if (value.kind == Kind::silent) return;
    const bool text = value.kind == Kind::text;
    if (text != signal.textual())
      return problem(
          "'" + name + "' holds " +
          (text ? "numbers, and \"" + value.text + "\" is a text: write a number without quotes"
                : "texts, and this is a number: write " +
                      (signal.values.empty() ? std::string{"one in quotes"} : "one of " + listed(signal.values))));
    if (text && !signal.values.empty() &&
        std::find(signal.values.begin(), signal.values.end(), value.text) == signal.values.end())
      problem(name + " = \"" + value.text + "\" is not one of its values" + nearest(value.text, signal.values) + ": " +
              listed(signal.values));
    if (value.kind == Kind::steps && signal.name != "step")
      problem("steps(…) makes step, and '" + name + "' is another signal: write ramp(from, to)");
    if ((value.kind == Kind::ramp || value.kind == Kind::noise) && signal.name == "step")
      problem("step is made by steps(seconds, from), steps(0.5, 1); a plain number is a step at which it stands still");
  }

  void member(const std::optional<std::uint32_t>& number, Level level) const {
    if (number && *number >= size(level))
      problem(std::string{stream::name(level)} + " " + std::to_string(*number) + ": it has " +
              std::to_string(size(level)) + ", counted from 0");
  }
  void members(const std::map<std::uint32_t, CaseValues>& given, Level level) const {
    for (const auto& [number, inner] : given) {
      member(number, level);
      values(inner, level);
    }
  }
  void segment(const CaseSegment& part) const {
    if (of.cluster && (!part.rank.empty() || part.new_attempt || !part.ends.empty() || !part.labels.empty()))
      problem("the cluster has neither ranks nor attempts: rank, new_attempt, ends and labels are of a job");
    values(part.all, Level::none);
    members(part.rank, Level::rank);
    members(part.node, Level::node);
    members(part.gpu, Level::gpu);
    for (const CaseEvent& one : part.events) event(one, part.lasting);
    for (const CaseLines& one : part.lines) {
      member(one.rank, Level::rank);
      member(one.node, Level::node);
      in_segment("a line", one.at, part.lasting);
      if (of.cluster && (one.rank || !one.node))
        problem("a line in the cluster is of a node: { \"" + one.texts.front() + "\", node = 0 }");
    }
  }
  void in_segment(const std::string& what, stream::Duration at, stream::Duration lasting) const {
    if (at >= lasting && lasting.count() > 0)
      problem(what + " at = \"" + shown(stream::seconds(at)) + "s\" is behind the end of its segment, which lasts " +
              shown(stream::seconds(lasting)) + " s: at counts from the segment's begin");
  }

  void event(const CaseEvent& event, stream::Duration lasting) const {
    const auto* signal = collection.find_signal(event.signal);
    if (!signal) collection.no_signal(of.file, of.line, event.signal);
    else if (signal->kind != SignalKind::event)
      problem("'" + event.signal + "' is of kind " + std::string{name(signal->kind)} +
              ", not an event: give it a value instead");
    member(event.rank, Level::rank);
    member(event.node, Level::node);
    member(event.gpu, Level::gpu);
    in_segment("'" + event.signal + "'", event.at, lasting);
    if (!event.job.empty() && !of.cluster)
      problem("job of an event is that on a node of the cluster: add scope = \"cluster\" to the case, or take it out");
    if (of.cluster && (event.rank || !(event.node || event.gpu)))
      problem("an event in the cluster is of a node or a GPU: { \"" + event.signal + "\", gpu = 0, … }");
    if (signal && signal->kind == SignalKind::event) fields(event, *signal);
  }
  void fields(const CaseEvent& event, const SignalDefinition& signal) const {
    std::vector<std::string> names;
    for (const auto& field : signal.fields) names.push_back(field.name);
    for (const auto& [field, value] : event.fields) {
      const auto known =
          std::find_if(signal.fields.begin(), signal.fields.end(), [&](const auto& one) { return one.name == field; });
      const bool text = std::holds_alternative<std::string>(value);
      if (known == signal.fields.end())
        problem("'" + event.signal + "' has no field '" + field + "'" + nearest(field, names) +
                (names.empty() ? ": it has none" : ": it has " + listed(names)));
      else if (text != (known->unit == "text"))
        problem("field '" + field + "' of '" + event.signal + "' holds " +
                (text ? "numbers: write one without quotes" : "text: write it in quotes"));
    }
  }

  void expectations(const std::vector<CaseExpectation>& expected, const char* what) const {
    for (const CaseExpectation& one : expected) {
      if (one.rule.empty()) {
        problem(std::string{what} + " names no rule" + rule_above() + ": { \"…\" } names it first");
        continue;
      }
      const auto rule = collection.rules.find(one.rule);
      if (rule == collection.rules.end()) collection.no_rule(of.file, of.line, one.rule);
      else if ((rule->second.scope == stream::Scope::cluster) != of.cluster)
        problem("'" + one.rule +
                (of.cluster ? "' is about a job: take scope out of the case"
                            : "' is of the cluster: add scope = \"cluster\" to the case"));
      else if (!one.cause.empty() && !rule->second.causes.contains(one.cause))
        problem("'" + one.rule + "' has no cause '" + one.cause + "'" + nearest(one.cause, causes(rule->second)));
      if (!one.missing.empty() && !collection.find_signal(one.missing))
        collection.no_signal(of.file, of.line, one.missing);
      member(one.rank, Level::rank);
      member(one.node, Level::node);
      member(one.gpu, Level::gpu);
    }
  }
  [[nodiscard]] std::string rule_above() const {
    const RuleSource* nearest_rule = nullptr;
    for (const auto& [name, rule] : collection.rules)
      if (rule.file == of.file && rule.line < of.line && (!nearest_rule || rule.line > nearest_rule->line))
        nearest_rule = &rule;
    return nearest_rule ? "; the rule above is '" + nearest_rule->name + "'" : "";
  }
};

}  // namespace

void check_cases(const Collection& collection) {
  std::map<std::string, const Case*> names;
  for (const Case& one : collection.cases) {
    if (const auto [first, added] = names.emplace(one.name, &one); !added)
      collection.problems->add(one.file, one.line,
                               "a second case '" + one.name + "': the first is at " + first->second->file + ":" +
                                   std::to_string(first->second->line) + "; give this one another name");
    const Checks checks{collection, one};
    collection.problems->about("case '" + one.name + "'");
    for (const CaseSegment& segment : one.segments) checks.segment(segment);
    checks.expectations(one.fires, "fires");
    checks.expectations(one.unknown, "unknown");
    checks.expectations(one.resolves, "resolves");
  }
  collection.problems->about("");
}

}  // namespace tocsin::dsl
