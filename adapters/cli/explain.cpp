#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/explained.h"
#include "adapters/cli/moment.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/printable.h"
#include "stream/rules/members.h"

namespace tocsin::adapters::cli {
namespace {

using stream::Level;
using stream::Time;
using Evaluation = stream::RuleEvaluation;

struct ExplainOptions {
  std::filesystem::path journal;
  std::vector<std::string> rules;
  std::string rule;
  std::optional<std::uint32_t> rank;
  std::string node, gpu;
  std::string at, from, until;      // moment_forms
  std::vector<std::string> values;  // of the table
  std::string subject;              // empty: any
  bool json = false, verbose = false;
};

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

// What a run showed of the rule.
struct Seen {
  std::string wrong;                                       // in the options
  bool rule = false, members = false;                      // it ran for the job, and for some member
  std::string_view level;                                  // of these
  std::set<std::string, std::less<>> rules, jobs, judged;  // judged: jobs for which the rule ran
  std::optional<Time> first;                               // tick
  Time last = stream::long_ago;
  std::string why_not;  // why the rule did not run for the job
  bool declared = false;
};

// One tick, or a span of time, as the options ask.
class Question {
 public:
  Question(const ExplainOptions& options, Moment at, Moment from, Moment until)
      : options_(&options), at_(at), from_(from), until_(until), table_(options.values) {}

  void see(const Evaluation& evaluation) {
    seen_.rules.insert(evaluation.rule.name);
    if (!seen_.jobs.contains(evaluation.subject)) seen_.jobs.emplace(evaluation.subject);
    if (!seen_.first) seen_.first = evaluation.tick;
    seen_.last = std::max(seen_.last, evaluation.tick);
    const bool of_job = options_->subject.empty() || evaluation.subject == options_->subject;
    if (evaluation.rule.name != options_->rule) {
      if (of_job && !seen_.declared) look_for_rule(evaluation);
      return;
    }
    if (!seen_.judged.contains(evaluation.subject)) seen_.judged.emplace(evaluation.subject);
    if (!of_job) return;
    seen_.rule = true;
    seen_.level = stream::name(evaluation.rule.per);
    for (stream::Slot slot = 0; slot < evaluation.outcomes.size(); ++slot)
      seen_.members = seen_.members || evaluation.topology.exists(evaluation.rule.per, slot);
    if (seen_.wrong.empty()) seen_.wrong = misfit(*options_, evaluation.rule);
    const auto slot = seen_.wrong.empty() ? member(*options_, evaluation) : std::nullopt;
    if (!slot) return;
    if (spans()) {
      const bool within = evaluation.tick >= (from_.last() ? *seen_.first : from_.in_log(*seen_.first)) &&
                          evaluation.tick <= until_.in_log(*seen_.first);
      if (within) seen_.wrong = table_.add(evaluation, *slot).value_or("");
    } else if (at_.last() || (!found_ && evaluation.tick >= at_.in_log(*seen_.first))) {
      found_ = explained(evaluation, *slot);
    }
  }
  [[nodiscard]] bool spans() const {
    return !options_->from.empty() || !options_->until.empty() || !options_->values.empty();
  }
  [[nodiscard]] const Seen& seen() const noexcept { return seen_; }
  // The option that names a time outside of the run; empty: none does.
  [[nodiscard]] std::string outside() const {
    constexpr stream::Duration grace = std::chrono::minutes{1};  // between the first record and the first evaluation
    const auto too_early = [&](const Moment& moment) {
      return seen_.first && !moment.last() && moment.in_log(*seen_.first) < *seen_.first - grace;
    };
    const auto too_late = [&](const Moment& moment) {
      return seen_.first && !moment.last() && moment.in_log(*seen_.first) > seen_.last;
    };
    if (too_early(at_) || too_late(at_)) return "--at " + options_->at;
    if (too_late(from_)) return "--from " + options_->from;
    return too_early(until_) ? "--until " + options_->until : "";
  }
  [[nodiscard]] bool reversed() const {
    return seen_.first && !from_.last() && !until_.last() && until_.in_log(*seen_.first) < from_.in_log(*seen_.first);
  }
  // Empty: nothing was found.
  [[nodiscard]] std::string answer() const {
    if (!table_.empty()) return options_->json ? table_.as_json() : table_.as_text();
    if (!found_) return "";
    return options_->json ? as_json(*found_) : as_text(*found_, options_->verbose);
  }

 private:
  void look_for_rule(const Evaluation& evaluation) {
    const auto& rules = evaluation.pack.rules;
    const auto rule = std::ranges::find(rules, options_->rule, &stream::Rule::name);
    seen_.declared = rule != rules.end();
    if (seen_.declared) seen_.why_not = why_not_run(evaluation.pack, *rule, evaluation.labels);
  }

  const ExplainOptions* options_;
  Moment at_, from_, until_;
  ValueTable table_;
  std::optional<Explained> found_;
  Seen seen_;
};

int explain(const ExplainOptions& options) {
  const auto at = parse_moment(options.at), from = parse_moment(options.from), until = parse_moment(options.until);
  for (const auto& [name, text, moment] :
       {std::tuple{"--at ", &options.at, &at}, std::tuple{"--from ", &options.from, &from},
        std::tuple{"--until ", &options.until, &until}})
    if (!*moment) return cannot("explain", name + *text + ": " + moment_forms);
  const auto journal = recording_named(options.journal, options.subject);
  if (!journal) return cannot("explain", journal.error().message);
  Question question{options, *at, *from, *until};
  if (question.spans() && !options.at.empty())
    return cannot("explain", "--at is one moment, and --from, --until and --values ask for a table: leave one out");
  RunOptions run;
  run.journal = *journal;
  run.rules = options.rules;
  run.quiet = true;
  Observers observers;
  observers.evaluation = [&](const Evaluation& evaluation) { question.see(evaluation); };
  const RunReport report = run_engine(run, observers);
  if (report.exit != 0) return report.exit;
  const Seen& seen = question.seen();
  if (!seen.wrong.empty()) return cannot("explain", seen.wrong);
  auto jobs = seen.jobs;
  for (const auto& [job, digest] : report.digests) jobs.insert(job);
  const auto list = [](const auto& names) { return formats::printable(fmt::format("{}", fmt::join(names, " "))); };
  if (!options.subject.empty() && !jobs.contains(options.subject)) {
    say("tocsin explain: there is no job '{}' in this log. There are: {}\n", formats::printable(options.subject),
        list(jobs));
    return 1;
  }
  if (const std::string outside = question.outside(); seen.rule && !outside.empty())
    return cannot("explain", outside + " is outside of the run, which was judged from " +
                                 formats::time_text(*seen.first) + " to " + formats::time_text(seen.last));
  if (question.spans() && options.subject.empty() && seen.judged.size() > 1)
    return cannot("explain", "the rule ran for several jobs, and a table is of one: name it with --job. There are: " +
                                 list(seen.judged));
  if (question.reversed()) return cannot("explain", "--until is before --from: exchange the two times");
  if (const std::string answer = question.answer(); !answer.empty()) {
    fmt::print("{}", answer);
    return 0;
  }
  const std::string rule = formats::printable(options.rule);
  if (seen.rule) {
    say("tocsin explain: rule '{}' ran, but not for that {} at or after that time{}\n", rule, seen.level,
        seen.members ? "" : ": the log names none");
  } else if (seen.declared) {
    say("tocsin explain: rule '{}' did not run{}: {}{}\n", rule,
        options.subject.empty() ? "" : formats::printable(" for job '" + options.subject + "'"),
        formats::printable(seen.why_not), seen.judged.empty() ? "" : ". It ran for: " + list(seen.judged));
  } else {
    say("tocsin explain: no rule '{}' ran in this log. These did: {}\n", rule, list(seen.rules));
  }
  return 1;
}

}  // namespace

void add_explain_command(CLI::App& app, int& status) {
  auto options = std::make_shared<ExplainOptions>();
  auto* command = app.add_subcommand(
      "explain", "Show why a rule fired or did not: its values for one rank, at one moment or over time");
  add_needed(*command, "JOURNAL", options->journal, "", journal_text);
  add_needed(*command, "--rule", options->rule, "NAME", "The name of the rule");
  add_option(*command, "--rank", options->rank, "N",
             "Which rank, where the rule answers per rank (default: the first)");
  add_option(*command, "--node", options->node, "NAME", "Which node, where it answers per node");
  add_option(*command, "--gpu", options->gpu, "NAME", "Which GPU, as alerts name it, where it answers per GPU");
  add_option(*command, "--at", options->at, "TIME",
             "When: 2026-11-21T02:14:43 (UTC), +90s or +5m from the beginning, or last (default)");
  add_option(*command, "--from", options->from, "TIME", "Print a table instead: its values over time, from here on");
  add_option(*command, "--until", options->until, "TIME", "The end of the table (default: the last)");
  add_option(*command, "--values", options->values, "NAMES",
             "The values in the table, by their names in the rule: age,limit (default: those that evaluate returns)")
      ->delimiter(',');
  add_option(*command, "--job", options->subject, "NAME", "Which job, where the journal has several");
  command->add_flag("--verbose", options->verbose, "Print the values that have no name in the rule, too");
  command->add_flag("--json", options->json, "Print one JSON object");
  add_rules_option(*command, options->rules, replay_rules_text);
  command->callback([options, &status] { status = explain(*options); });
}

}  // namespace tocsin::adapters::cli
