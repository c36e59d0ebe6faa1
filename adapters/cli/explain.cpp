#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/rule_values.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/parse_time.h"
#include "adapters/formats/printable.h"
#include "stream/graph/evaluator.h"
#include "stream/rules/explanation.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Level;
using stream::NodeId;
using stream::Time;
using Evaluation = stream::RuleEvaluation;

struct ExplainOptions {
  std::filesystem::path journal;
  std::vector<std::string> rules;
  std::string rule;
  std::optional<std::uint32_t> rank;
  std::string node, gpu;
  std::string at;       // RFC 3339, +90s after the log's beginning, or "last"
  std::string subject;  // empty: any
  bool json = false;
};

// The tick asked for: an absolute time, or a span after the first tick seen.
struct Moment {
  std::optional<Time> absolute;
  std::optional<stream::Duration> after;
  bool last = false;
};

// 2026-11-21T02:14:43.5Z, and the same as alerts print it: with a blank between date and time, and UTC or nothing
// behind.
std::optional<Time> parse_absolute(std::string text) {
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  for (const std::string_view zone : {" UTC", "UTC"})
    if (text.ends_with(zone)) text.replace(text.size() - zone.size(), zone.size(), "Z");
  if (auto time = formats::parse_time(text)) return time;
  return formats::parse_time(text + "Z");
}

std::optional<Moment> parse_moment(const std::string& text) {
  if (text.empty() || text == "last") return Moment{{}, {}, true};
  if (text[0] == '+') {
    double number = 0;
    const auto [end, wrong] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    const double factor = unit.empty() || unit == "s" ? 1
                          : unit == "m"               ? 60
                          : unit == "h"               ? 3600
                          : unit == "d"               ? 86400
                                                      : 0;
    if (wrong != std::errc{} || factor == 0 || !(number >= 0 && number < 1e9)) return std::nullopt;
    return Moment{{}, stream::from_seconds(number * factor), false};
  }
  const auto time = parse_absolute(text);
  if (!time) return std::nullopt;
  return Moment{*time, {}, false};
}

struct Row {
  std::string expression, value, name;
};
struct Explained {
  std::string rule, member, outcome, subject;
  Time tick{};
  std::vector<Row> rows;
};

Explained explained(const Evaluation& evaluation, const stream::Graph& graph, stream::Slot slot) {
  const stream::Rule& rule = evaluation.rule;
  constexpr std::array words{"no", "unknown", "yes"};
  Explained all{rule.name,
                stream::describe(stream::named_member(evaluation.topology, rule.per, slot)),
                words[static_cast<std::size_t>(evaluation.outcomes[slot])],
                std::string{evaluation.subject},
                evaluation.tick,
                {}};
  std::set<NodeId> ids(rule.hot.begin(), rule.hot.end());
  ids.insert(rule.cold.begin(), rule.cold.end());
  const auto known = names_of(rule);
  for (const NodeId id : ids) {
    if (graph[id].op == stream::Op::constant) continue;
    std::string names;
    if (id == rule.answer) names = "ANSWER";
    for (const auto& output : rule.outputs)
      if (output.node == id) names += (names.empty() ? "" : ", ") + output.name;
    for (const auto& cause : rule.causes)
      if (cause.node == id && names.find(cause.name) == std::string::npos)
        names += (names.empty() ? "" : ", ") + cause.name;
    if (rule.who == id) names += names.empty() ? "who" : ", who";
    all.rows.push_back({described(graph, id, known), value_text(evaluation, id, slot), names});
  }
  return all;
}

std::string as_text(const Explained& all) {
  std::string out = fmt::format("{} at {} for {}: {}\n", formats::printable(all.rule), formats::time_text(all.tick),
                                formats::printable(all.member), all.outcome);
  for (const Row& row : all.rows)
    out += fmt::format("  {:<72} {:<24} {}\n", formats::printable(row.expression), formats::printable(row.value),
                       formats::printable(row.name));
  return out;
}

std::string as_json(const Explained& all) {
  formats::Json rows = formats::Json::array();
  for (const Row& row : all.rows)
    rows.push_back({{"expression", row.expression}, {"value", row.value}, {"name", row.name}});
  return formats::dump({{"rule", all.rule},
                        {"job", all.subject},
                        {"member", all.member},
                        {"outcome", all.outcome},
                        {"at", formats::typed_time(all.tick)},
                        {"values", rows}}) +
         "\n";
}

// What is asked for in a way that the rule cannot answer; empty: nothing.
std::string misfit(const ExplainOptions& options, const stream::Rule& rule) {
  const Level per = rule.per;
  const std::string level{stream::name(per)};
  if (options.rank && per != Level::rank) return "--rank does not fit: '" + rule.name + "' answers per " + level;
  if (!options.gpu.empty() && per != Level::gpu) return "--gpu does not fit: '" + rule.name + "' answers per " + level;
  if (!options.node.empty() && per < Level::node)
    return "--node does not fit: '" + rule.name + "' answers per " + level;
  return "";
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

int explain(const ExplainOptions& options) {
  const auto moment = parse_moment(options.at);
  if (!moment)
    return cannot("explain",
                  "--at " + options.at +
                      ": write a time (2026-11-21T02:14:43Z), a span after the beginning (+90s, +5m), or last");
  const auto journal = recording_named(options.journal);
  if (!journal) return cannot("explain", journal.error().message);
  std::optional<Explained> found;
  std::string wrong;
  bool rule_seen = false, labelled = false;
  std::optional<Time> first;
  Time last = stream::long_ago;
  std::set<std::string, std::less<>> rules, jobs, judged;  // judged: jobs for which the rule ran
  RunOptions run;
  run.journal = *journal;
  run.rules = options.rules;
  run.quiet = true;
  Observers observers;
  observers.evaluation = [&](const Evaluation& evaluation) {
    rules.insert(evaluation.rule.name);
    if (!jobs.contains(evaluation.subject)) jobs.emplace(evaluation.subject);
    if (!first) first = evaluation.tick;
    last = std::max(last, evaluation.tick);
    if (evaluation.rule.name != options.rule) return;
    labelled = !evaluation.rule.jobs.empty();
    if (!judged.contains(evaluation.subject)) judged.emplace(evaluation.subject);
    if (!options.subject.empty() && evaluation.subject != options.subject) return;
    rule_seen = true;
    if (wrong.empty()) wrong = misfit(options, evaluation.rule);
    if ((found && !moment->last) || !wrong.empty()) return;
    if (moment->absolute && evaluation.tick < *moment->absolute) return;
    if (moment->after && evaluation.tick < *first + *moment->after) return;
    const auto slot = member(options, evaluation);
    if (slot) found = explained(evaluation, evaluation.values.graph(), *slot);
  };
  const RunReport report = run_engine(run, observers);
  if (report.exit != 0) return report.exit;
  if (!wrong.empty()) return cannot("explain", wrong);
  for (const auto& [job, digest] : report.digests) jobs.insert(job);
  const auto list = [](const auto& names) { return formats::printable(fmt::format("{}", fmt::join(names, " "))); };
  if (!options.subject.empty() && !jobs.contains(options.subject)) {
    say("tocsin explain: there is no job '{}' in this log. There are: {}\n", formats::printable(options.subject),
        list(jobs));
    return 1;
  }
  constexpr stream::Duration grace = std::chrono::minutes{1};  // between the first record and the first evaluation
  const bool outside =
      first && ((moment->absolute && (*moment->absolute < *first - grace || *moment->absolute > last)) ||
                (moment->after && *first + *moment->after > last));
  if (outside && rule_seen)
    return cannot("explain", "--at " + options.at + " is outside of the run, which was judged from " +
                                 formats::time_text(*first) + " to " + formats::time_text(last));
  if (found) {
    fmt::print("{}", options.json ? as_json(*found) : as_text(*found));
    return 0;
  }
  if (rule_seen) {
    say("tocsin explain: rule '{}' ran, but not for that member at or after that time\n",
        formats::printable(options.rule));
  } else if (!judged.empty()) {
    say("tocsin explain: rule '{}' did not run for job '{}'{}. It ran for: {}\n", formats::printable(options.rule),
        formats::printable(options.subject), labelled ? ": its `jobs` leaves the job out" : "", list(judged));
  } else {
    say("tocsin explain: no rule '{}' ran in this log. These did: {}\n", formats::printable(options.rule), list(rules));
  }
  return 1;
}

}  // namespace

void add_explain_command(CLI::App& app, int& status) {
  auto options = std::make_shared<ExplainOptions>();
  auto* command =
      app.add_subcommand("explain", "Show why a rule fired or did not: every value in it, for one rank and moment");
  add_needed(*command, "JOURNAL", options->journal, "", journal_text);
  add_needed(*command, "--rule", options->rule, "NAME", "The name of the rule");
  add_option(*command, "--rank", options->rank, "N",
             "Which rank, where the rule answers per rank (default: the first)");
  add_option(*command, "--node", options->node, "NAME", "Which node, where it answers per node");
  add_option(*command, "--gpu", options->gpu, "NAME", "Which GPU, as alerts name it, where it answers per GPU");
  add_option(*command, "--at", options->at, "TIME",
             "When: 2026-11-21T02:14:43 (UTC), +90s or +5m from the beginning, or last (default)");
  add_option(*command, "--job", options->subject, "NAME", "Which job, where the journal has several");
  command->add_flag("--json", options->json, "Print one JSON object");
  add_rules_option(*command, options->rules, replay_rules_text);
  command->callback([options, &status] { status = explain(*options); });
}

}  // namespace tocsin::adapters::cli
