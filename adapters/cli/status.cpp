#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/moment.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/topic_journal.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/alerts.h"
#include "adapters/formats/printable.h"
#include "adapters/service/job_list.h"
#include "adapters/service/job_watch.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

using formats::printable_lines;
using prometheus::JobFigures;

struct StatusOptions {
  RunOptions run;
  TopicPart part;
  std::string at;
  bool json = false;
};

// "running, 4 ranks, step 112, loss 2.31, goodput 93 %"
std::string figures_text(const JobFigures& job) {
  std::vector<std::string> parts{job.state};
  if (job.ranks) parts.push_back(fmt::format("{} rank{}", *job.ranks, *job.ranks == 1 ? "" : "s"));
  if (job.step) parts.push_back(fmt::format("step {:.0f}", *job.step));
  if (job.step_time.count > 0) parts.push_back(stream::quantity_text(job.step_time.median, "seconds") + " a step");
  if (job.loss) parts.push_back(fmt::format("loss {:.4g}", *job.loss));
  if (job.goodput) parts.push_back(fmt::format("goodput {:.0f} %", 100 * *job.goodput));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Rules that miss the same signals share a line.
std::string undecided_text(const JobFigures& job) {
  std::map<std::vector<std::string>, std::vector<std::string>> by_missing;
  for (const auto& [rule, missing] : job.undecided) by_missing[missing].push_back(rule);
  std::string out;
  for (const auto& [missing, rules] : by_missing)
    out += fmt::format("    {}: {}\n",
                       missing.empty() ? "too few values, or too few peers, so far"
                                       : fmt::format("without {}", fmt::join(missing, ", ")),
                       fmt::join(rules, ", "));
  return out;
}

std::string text_of(const JobFigures& job) {
  std::string out = "the cluster\n";
  if (job.job != stream::cluster_subject)
    out = fmt::format("job {}, attempt {}: {}\n", job.job, job.attempt, figures_text(job));
  if (job.alerts.empty()) out += "  no alert is firing\n";
  for (const JobFigures::Alert& alert : job.alerts)
    out += fmt::format("  fires: {:<8}  {}  {}\n", stream::name(alert.severity), alert.rule, alert.who);
  if (!job.undecided.empty())
    out += fmt::format("  {} rule{} cannot decide:\n{}", job.undecided.size(), job.undecided.size() == 1 ? "" : "s",
                       undecided_text(job));
  return out;
}

// An attempt that has ended, by its verdict: families in the place of rules.
std::string text_of(const stream::Verdict& verdict) {
  const std::string nothing = verdict.end_reason == "failed" ? "no cause found" : "no fault found";
  const std::string reason =
      verdict.end_reason.empty() || verdict.end_reason == "unknown" ? "" : ", " + verdict.end_reason;
  std::string out = fmt::format(
      "job {}, attempt {}: ended {}{}: {}\n", verdict.subject, verdict.attempt, formats::time_text(verdict.ended),
      reason, verdict.family.empty() ? nothing : stream::with_words(verdict.family, verdict.family_words));
  for (const std::string& found : verdict.shows) out += fmt::format("  found {}\n", found);
  for (const std::string& doubt : verdict.cannot_decide) out += fmt::format("  could not decide {}\n", doubt);
  for (const stream::Verdict::Line& line : verdict.families)
    if (line.standing == stream::Standing::out)
      out += fmt::format("  ruled out {} (never yes: {})\n", stream::with_words(line.family, line.words),
                         fmt::join(line.rules, ", "));
  return out;
}

int show_status(StatusOptions& options) {
  const std::string& wanted = options.part.options.subject;  // empty: all
  if (options.run.until = parse_moment(options.at); !options.run.until)
    return cannot("status", "--at " + options.at + ": " + moment_forms);
  const auto copied = copy_of_part(options.part, options.run.journal);
  if (!copied) return cannot(copied.error());
  options.run.temporary = copied->has_value();
  if (!*copied && options.part.given_beside_job())
    throw CLI::ValidationError("--partition, --from and --until are for a cluster: tocsin status kafka://HOST:PORT …");
  prometheus::PublishedJobs jobs;
  options.run.quiet = true;
  std::map<std::string, stream::Verdict> verdicts;  // the last of each job
  Observers observers;
  observers.report = [&verdicts](const stream::Report& report) {
    if (const auto* verdict = std::get_if<stream::Verdict>(&report))
      verdicts.insert_or_assign(verdict->subject, *verdict);
  };
  observers.end = [&jobs](const stream::Shard& shard) {
    service::JobWatch watch;
    while (!jobs) jobs = watch.look(shard, std::chrono::steady_clock::now());
  };
  const RunReport report = run_engine(options.run, observers);
  if (report.exit != 0) return report.exit;
  std::vector<JobFigures> shown;
  std::set<std::string> names;
  for (const auto& [job, verdict] : verdicts) names.insert(job);
  for (const JobFigures& job : *jobs) {
    if (job.job == stream::cluster_subject) {
      if (!job.alerts.empty() && wanted.empty()) shown.push_back(job);
      continue;
    }
    names.insert(job.job);
    if (job.state != "ended" || !verdicts.contains(job.job)) verdicts.erase(job.job), shown.push_back(job);
  }
  if (!wanted.empty()) {
    std::erase_if(shown, [&](const JobFigures& job) { return job.job != wanted; });
    std::erase_if(verdicts, [&](const auto& one) { return one.first != wanted; });
  }
  if (shown.empty() && verdicts.empty() && !wanted.empty()) {
    say("tocsin status: there is no job '{}' here; there {} {}\n", formats::printable(wanted),
        names.size() == 1 ? "is" : "are",
        names.empty() ? "none" : formats::printable(fmt::format("{}", fmt::join(names, ", "))));
    return 1;
  }
  if (options.json) {
    std::string ended;
    for (const auto& [job, verdict] : verdicts) ended += (ended.empty() ? "" : ",") + formats::verdict_to_json(verdict);
    fmt::print("{{\"jobs\":{},\"ended\":[{}]}}\n", service::jobs_json(shown), ended);
    return 0;
  }
  fmt::print("as of {}\n", formats::time_text(report.last));
  for (const JobFigures& job : shown) fmt::print("{}", printable_lines(text_of(job)));
  for (const auto& [job, verdict] : verdicts) fmt::print("{}", printable_lines(text_of(verdict)));
  if (shown.empty() && verdicts.empty()) fmt::print("no job has a record yet\n");
  for (const auto& [rule, message] : report.counters.quarantine_messages)
    fmt::print("rule {} failed and is disabled: {}\n", rule, formats::printable(message));
  return 0;
}

}  // namespace

void add_status_command(CLI::App& app, int& status) {
  auto options = std::make_shared<StatusOptions>();
  auto* command = app.add_subcommand(
      "status",
      "Show the state of a log's jobs: figures, firing alerts, and the rules that cannot decide, with what they miss");
  add_needed(*command, "JOURNAL", options->run.journal, "", std::string{journal_text} + or_cluster_text);
  add_part_options(*command, options->part);
  command->get_option("--job")->description("This job alone; of a cluster, from the partition that has its records");
  add_option(*command, "--at", options->at, "TIME",
             "As of this time: 2026-11-21T02:14:43 (UTC), +90s or +5m from the beginning, or last (default)");
  add_rules_option(*command, options->run.rules, replay_rules_text);
  command->add_flag("--json", options->json,
                    "Print one JSON object: jobs as /api/v1/jobs has them, and the verdicts of those that have ended");
  command->callback([options, &status] { status = show_status(*options); });
}

}  // namespace tocsin::adapters::cli
