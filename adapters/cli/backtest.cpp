#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "adapters/cli/backtest_report.h"
#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/say.h"
#include "adapters/cli/terminal.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/alert_form.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::cli {
namespace {

namespace fs = std::filesystem;
using stream::Duration;

struct BacktestOptions {
  std::vector<fs::path> journals;  // or directories of journals; empty: all that `tocsin runs` lists
  std::vector<std::string> rules,
      against;  // directories that make one pack, as for check; `against` empty: nothing is compared
  bool json = false;
};

// Collects the reports of one recording.
class Collector {
 public:
  Collector(std::string recording, Judged& into) : recording_(std::move(recording)), into_(&into) {}

  void take(const stream::Report& report) {
    if (const auto* verdict = std::get_if<stream::Verdict>(&report)) {
      into_->jobs.emplace(recording_, verdict->subject);
      into_->verdicts[{recording_, verdict->subject, verdict->attempt}] = verdict->family;
      return;
    }
    const auto& transition = std::get<stream::AlertTransition>(report);
    into_->jobs.emplace(recording_, transition.subject);
    if (transition.severity == stream::Severity::none) return;
    if (transition.state == stream::AlertState::firing) {
      open_[transition.id] = into_->alerts.size();
      into_->alerts.push_back({recording_, transition.subject, transition.attempt, transition.rule,
                               formats::member_text(transition.member), formats::members_text(transition),
                               transition.severity, transition.mode, transition.since, transition.at, transition.at,
                               false});
    } else if (const auto found = open_.find(transition.id); found != open_.end()) {
      Fired& alert = into_->alerts[found->second];
      alert.until = std::max(alert.at, transition.at), alert.resolved = true;
      open_.erase(found);
    }
  }
  void end(const RunReport& report) {
    ++into_->recordings;
    if (report.first) into_->span += std::max(Duration{}, report.last - *report.first);
    for (const auto& [id, index] : open_) into_->alerts[index].until = std::max(into_->alerts[index].at, report.last);
    for (const auto& [rule, message] : report.counters.quarantine_messages) into_->failed.emplace(rule, message);
    for (const auto& [job, digest] : report.digests)
      if (job != stream::cluster_subject) into_->jobs.emplace(recording_, job);
  }

 private:
  std::string recording_;
  Judged* into_;
  std::map<std::uint64_t, std::size_t> open_;
};

bool is_journal(const fs::path& directory) {
  const auto segments = journal::segments(directory);
  return segments && !segments->empty();
}

// The journal that an argument names, or those in the directory that it names.
stream::Result<std::vector<fs::path>> journals_of(const fs::path& argument) {
  if (auto journals = journals_in(argument); journals.size() > 1) return journals;
  const auto named = recording_named(argument);
  if (!named) return named.error();
  if (is_journal(*named)) return std::vector{*named};
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*named, error))
    if (std::error_code gone; entry.is_directory(gone) && is_journal(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  if (found.empty())
    return stream::Error{stream::Errc::not_found,
                         "there is no journal in " + named->string() +
                             ": name a directory that `tocsin wrap` or `tocsin ingest` made, or one of such"};
  return found;
}

stream::Result<std::vector<fs::path>> journals_of(const std::vector<fs::path>& arguments) {
  if (arguments.empty()) {
    auto all = all_recordings();
    if (all.empty())
      return stream::Error{stream::Errc::not_found,
                           "there is no recording: name journals, or make one with tocsin wrap"};
    return all;
  }
  std::vector<fs::path> all;
  for (const fs::path& argument : arguments) {
    const auto found = journals_of(argument);
    if (!found) return found.error();
    all.insert(all.end(), found->begin(), found->end());
  }
  return all;
}

Judged judge(const std::vector<fs::path>& journals, const stream::LoadedPack& pack, const std::string& by) {
  Judged all;
  Terminal terminal{{}};
  for (std::size_t i = 0; i < journals.size(); ++i) {
    if (isatty(STDERR_FILENO))
      terminal.set_progress(fmt::format("{} of {}  {}  by {}", i + 1, journals.size(), journals[i].string(), by));
    RunOptions run;
    run.journal = journals[i], run.pack = pack;
    run.quiet = true;
    Judged one;
    Collector collector{journals[i].string(), one};
    Observers observers;
    observers.report = [&collector](const stream::Report& report) { collector.take(report); };
    const RunReport report = run_engine(run, observers);
    if (report.exit != 0) {
      ++all.unread;
      continue;
    }
    collector.end(report);
    all.alerts.insert(all.alerts.end(), one.alerts.begin(), one.alerts.end());
    all.verdicts.merge(one.verdicts), all.failed.merge(one.failed), all.jobs.merge(one.jobs);
    all.span += one.span, all.recordings += one.recordings;
  }
  terminal.end_progress();
  return all;
}

std::string places_of(const std::vector<std::string>& directories) {
  return directories.empty() ? rules_directory().string() : fmt::format("{}", fmt::join(directories, ", "));
}

// The exit status: 1 where a rule failed, 2 where a recording or the rules could not be read.
int backtest(const BacktestOptions& options) {
  const auto journals = journals_of(options.journals);
  if (!journals) return cannot("backtest", journals.error().message);
  const auto pack = load_pack_from(options.rules);
  if (!pack) return cannot("backtest", pack.error().message);
  std::optional<Judged> before;
  if (!options.against.empty()) {
    const auto other = load_pack_from(options.against);
    if (!other) return cannot("backtest", other.error().message);
    before = judge(*journals, *other, places_of(options.against));
  }
  const Judged now = judge(*journals, *pack, places_of(options.rules));
  const Judged* compared = before ? &*before : nullptr;
  if (options.json) print_backtest_json(now, compared);
  else print_backtest(now, compared, *pack->pack, places_of(options.rules), places_of(options.against));
  return now.unread > 0 ? 2 : now.failed.empty() ? 0 : 1;
}

}  // namespace

void add_backtest_command(CLI::App& app, int& status) {
  auto options = std::make_shared<BacktestOptions>();
  auto* command = app.add_subcommand(
      "backtest", "Judge recordings by other rules, and compare what they report with the rules of now");
  add_option(*command, "JOURNAL", options->journals, "",
             std::string{journal_text} + "; or a directory of journals (default: all that wrap made)");
  add_rules_option(*command, options->rules, several_rules_text)->option_text("DIR ...")->allow_extra_args();
  add_rules_option(*command, options->against, "Compare with these rules, which are named in the same way", "--against")
      ->option_text("DIR ...")
      ->allow_extra_args();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &status] { status = backtest(*options); });
}

}  // namespace tocsin::adapters::cli
