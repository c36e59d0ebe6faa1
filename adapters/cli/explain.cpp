#include "adapters/cli/explain.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <ctime>
#include <set>

#include "adapters/cli/engine.h"
#include "adapters/cli/terminal.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/explanation.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Time;
using Evaluation = stream::RuleEvaluation;

// The tick asked for: an absolute time, or a span after the first tick seen.
struct Moment {
  std::optional<Time> absolute;
  std::optional<stream::Duration> after;
  bool last = false;
};

std::optional<Moment> parse_moment(const std::string& text) {
  if (text.empty() || text == "last") return Moment{{}, {}, true};
  if (text[0] == '+') {
    char unit = 's';
    double number = 0;
    if (std::sscanf(text.c_str() + 1, "%lf%c", &number, &unit) < 1) return std::nullopt;
    const double factor = unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86400 : 1;
    return Moment{{}, stream::from_seconds(number * factor), false};
  }
  std::tm parts{};
  if (!strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts)) return std::nullopt;
  return Moment{stream::at_nanoseconds(std::int64_t{timegm(&parts)} * 1'000'000'000), {}, false};
}

std::string value_at(const Evaluation& evaluation, const stream::Graph& graph, NodeId id, stream::Slot slot) {
  const stream::Node& node = graph[id];
  const Level per = evaluation.rule.per;
  if (node.type.shape == stream::Shape::window || node.type.shape == stream::Shape::finding) return "";
  const auto shown = [&](NodeId of, Level level, stream::Slot at) -> std::string {
    if (node.type.shape == stream::Shape::mask) {
      constexpr std::array words{"no", "unknown", "yes"};
      return words[static_cast<std::size_t>(evaluation.values.truth_at(of, level, at))];
    }
    const double value = evaluation.values.number_at(of, level, at);
    return node.type.text() && stream::is_number(value) ? evaluation.text(value) : stream::format_number(value, 'g', 6);
  };
  if (node.type.level <= per) return shown(id, per, slot);
  std::string all;
  const stream::Groups& parts = evaluation.topology.groups(node.type.level, per);
  if (slot >= parts.count()) return "";
  std::size_t listed = 0;
  for (const stream::Slot part : parts.of(slot)) {
    if (++listed > 8) return all + " …";
    all += (all.empty() ? "" : " ") + shown(id, node.type.level, part);
  }
  return "[" + all + "]";
}

// The node as the graph describes it, with numbers in the place of what stands for them.
std::string described(const stream::Graph& graph, NodeId id) {
  std::string text = graph.describe(id);
  for (const NodeId argument : graph[id].arguments) {
    if (graph[argument].op != stream::Op::constant) continue;
    const std::string place = fmt::format("%{}", static_cast<std::uint32_t>(argument));
    for (std::size_t at = text.find(place, 1); at != std::string::npos; at = text.find(place, at + 1)) {
      if (at + place.size() < text.size() && std::isdigit(static_cast<unsigned char>(text[at + place.size()]))) continue;
      text.replace(at, place.size(), stream::format_number(graph[argument].attributes.number, 'g', 6));
    }
  }
  return text;
}

std::string render(const Evaluation& evaluation, const stream::Graph& graph, stream::Slot slot) {
  const stream::Rule& rule = evaluation.rule;
  constexpr std::array words{"no", "unknown", "yes"};
  std::string out = fmt::format("{} at {} for {}: {}\n", rule.name, clock_text(evaluation.tick),
                                stream::describe(stream::named_member(evaluation.topology, rule.per, slot)),
                                words[static_cast<std::size_t>(evaluation.outcomes[slot])]);
  std::set<NodeId> ids(rule.hot.begin(), rule.hot.end());
  ids.insert(rule.cold.begin(), rule.cold.end());
  for (const NodeId id : ids) {
    if (graph[id].op == stream::Op::constant) continue;
    std::string names;
    if (id == rule.answer) names = "ANSWER";
    for (const auto& output : rule.outputs)
      if (output.node == id) names += (names.empty() ? "" : ", ") + output.name;
    for (const auto& cause : rule.causes)
      if (cause.node == id && names.find(cause.name) == std::string::npos) names += (names.empty() ? "" : ", ") + cause.name;
    if (rule.who == id) names += names.empty() ? "who" : ", who";
    out += fmt::format("  {:<72} {:<24} {}\n", described(graph, id), value_at(evaluation, graph, id, slot), names);
  }
  return out;
}

std::optional<stream::Slot> member(const ExplainOptions& options, const Evaluation& evaluation) {
  const stream::Topology& topology = evaluation.topology;
  const Level per = evaluation.rule.per;
  for (stream::Slot slot = 0; slot < topology.size(per); ++slot) {
    if (!topology.exists(per, slot)) continue;
    const auto named = stream::named_member(topology, per, slot);
    const bool wanted = (!options.rank || named.rank == options.rank || per != Level::rank) &&
                        (options.node.empty() || named.node == options.node || per < Level::node) &&
                        (options.gpu.empty() || named.gpu == options.gpu || per != Level::gpu);
    if (wanted) return slot;
  }
  return std::nullopt;
}

}  // namespace

int explain(const ExplainOptions& options) {
  const auto moment = parse_moment(options.at);
  if (!moment) {
    fmt::print(stderr, "tocsin explain: --at {}: write a time (2026-11-21T02:14:43), a span after the beginning (+90s, +5m), or last\n",
               options.at);
    return 2;
  }
  std::string text;
  bool found = false, rule_seen = false;
  std::optional<Time> first;
  std::set<std::string> rules;
  RunOptions run;
  run.journal = options.journal;
  run.rules = options.rules;
  run.quiet = true;
  const RunReport report = run_engine(run, [&](const Evaluation& evaluation) {
    rules.insert(evaluation.rule.name);
    if (!first) first = evaluation.tick;
    if (evaluation.rule.name != options.rule) return;
    if (!options.subject.empty() && evaluation.subject != options.subject) return;
    rule_seen = true;
    if (found && !moment->last) return;
    if (moment->absolute && evaluation.tick < *moment->absolute) return;
    if (moment->after && evaluation.tick < *first + *moment->after) return;
    const auto slot = member(options, evaluation);
    if (!slot) return;
    text = render(evaluation, evaluation.values.graph(), *slot);
    found = true;
  });
  if (report.exit != 0) return report.exit;
  if (found) {
    fmt::print("{}", text);
    return 0;
  }
  if (rule_seen) {
    fmt::print(stderr, "tocsin explain: rule '{}' ran, but not for that member at or after that time\n", options.rule);
  } else {
    std::string names;
    for (const auto& name : rules) names += (names.empty() ? "" : " ") + name;
    fmt::print(stderr, "tocsin explain: no rule '{}' ran in this log. These did: {}\n", options.rule, names);
  }
  return 1;
}

}  // namespace tocsin::adapters::cli
