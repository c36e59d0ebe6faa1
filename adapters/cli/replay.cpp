#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/topic_journal.h"
#include "adapters/cli/usage.h"
#include "adapters/config/options.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {
namespace {

struct ReplayOptions {
  RunOptions run;
  TopicPart part;
  bool digest = false, counters = false;
  std::string digest_kind, speed = "max", state_size;
};

void print_report(const RunReport& report, bool digests, bool counters) {
  if (digests)
    for (const auto& [subject, digest] : report.digests)
      fmt::print("digest {:016x} rows {:016x} {}\n", digest, report.row_digests.at(subject),
                 formats::printable(subject));
  if (!counters) return;
  const auto& c = report.counters;
  fmt::print("entries {} samples {} lines {} events {} covered {} beats {} ticks {} evaluations {} transitions {}\n",
             c.entries, c.samples, c.lines, c.events, c.coverage, c.beats, c.ticks, c.evaluations, c.transitions);
  fmt::print(
      "late {} duplicates {} corrected_times {} unknown_signal {} unwanted {} rejected_blocks {} unit_mismatch {} "
      "strays {} state_limit {} member_limit {} event_limit {} text_limit {} gaps {} quarantined {} over_limit {} "
      "packs_refused {} corrupt_frames {} undecodable {}\n",
      c.late, c.duplicates, c.corrected_times, c.unknown_signal, c.unwanted, c.rejected_blocks, c.unit_mismatch,
      c.strays, c.state_limit, c.member_limit, c.event_limit, c.text_limit, c.gaps, c.quarantined, c.alerts_over_limit,
      c.packs_refused, report.corrupt_frames, report.undecodable);
  for (const auto& [rule, message] : c.quarantine_messages)
    fmt::print("quarantined {}: {}\n", rule, formats::printable(message));
}

int replay(ReplayOptions& options) {
  RunOptions& run = options.run;
  if (const std::string& speed = options.speed; speed != "max") {
    const auto [end, wrong] = std::from_chars(speed.data(), speed.data() + speed.size(), run.speed);
    if (wrong != std::errc{} || end != speed.data() + speed.size() || !(run.speed > 0))
      throw CLI::ValidationError("--speed", "write max, or a number above 0, not '" + speed + "'");
  }
  if (!options.state_size.empty()) {
    const auto size = config::parse_size(options.state_size);
    if (!size) throw CLI::ValidationError("--state-size", size.error().message);
    run.state_size = static_cast<std::size_t>(*size);
  }
  if (names_a_cluster(run.journal.string()) && (run.follow || run.resume))
    throw CLI::ValidationError("--follow and --resume are for a journal on disk");
  const auto copied = copy_of_part(options.part, run.journal);
  if (!copied) return cannot(copied.error());
  run.temporary = copied->has_value();
  if (!run.temporary && options.part.given())
    throw CLI::ValidationError(
        "--partition, --job, --from and --until are for a cluster: tocsin replay kafka://HOST:PORT …");
  run.digest_columns = options.digest_kind == "columns";
  run.to_stdout = true;
  const RunReport report = run_engine(run);
  if (report.exit == 0) print_report(report, options.digest, options.counters);
  return report.exit;
}

}  // namespace

void add_replay_command(CLI::App& app, int& status) {
  auto options = std::make_shared<ReplayOptions>();
  RunOptions& run = options->run;
  auto* command = app.add_subcommand("replay", "Judge a recorded run again, at full or at a given speed");
  add_needed(*command, "JOURNAL", run.journal, "", std::string{journal_text} + or_cluster_text);
  add_part_options(*command, options->part);
  add_rules_option(*command, run.rules, replay_rules_text);
  add_option(*command, "--speed", options->speed, "TIMES",
             "How many times as fast as it was: 10, 0.5, or max (default: max)");
  add_option(*command, "--state-size", options->state_size, "SIZE",
             "Refuse new jobs once the others use this much state, as limits.state_size does in `tocsin run`: 4GiB "
             "(default: no limit)");
  add_option(*command, "--alerts", run.alerts, "FILE",
             "Write alerts and verdicts as JSON lines to this file (- is standard output)");
  command->add_flag("--quiet", run.quiet, "Print no alerts on the terminal");
  command->add_flag("--verbose", run.verbose, "Print every cause, doubt and value of an alert");
  auto* digest = add_option(*command, "--digest", options->digest_kind, "[=columns]",
                            "Print a checksum of each job's results; =columns: of every value, too")
                     ->check(CLI::IsMember({"columns"}))
                     ->expected(0, 1);
  command->add_flag("--counters", options->counters, "Print how many records were read and rejected, by reason");
  command->add_flag("--follow", run.follow, "Keep reading until the run has ended");
  command->add_flag("--resume", run.resume,
                    "Save state and alerts in the journal's directory, and continue from them next time");
  command->add_flag("--scripted", run.force_scripted, "Run every rule as a script (slow; to compare)");
  command->add_option("--kill-at", run.kill_at, "Die by SIGKILL before this entry (for tests of recovery)")->group("");
  command->callback([options, digest, &status] {
    options->digest = digest->count() > 0;
    status = replay(*options);
  });
}

}  // namespace tocsin::adapters::cli
