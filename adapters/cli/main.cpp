#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include "adapters/cli/backtest.h"
#include "adapters/cli/check.h"
#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/explain.h"
#include "adapters/cli/ingest.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/status.h"
#include "adapters/cli/topic_journal.h"
#include "adapters/cli/usage.h"
#include "adapters/cli/version.h"
#include "adapters/config/options.h"
#include "adapters/formats/printable.h"
#include "adapters/wrap/wrap.h"
#include "dsl/load/reference.h"
#include "stream/graph/kernels.h"
#include "stream/values/record.h"

namespace {

using namespace tocsin::adapters;

void print_report(const cli::RunReport& report, bool digests, bool counters) {
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
      "strays {} "
      "state_limit {} member_limit {} event_limit {} text_limit {} gaps {} quarantined {} over_limit {} packs_refused "
      "{} "
      "corrupt_frames {} undecodable "
      "{}\n",
      c.late, c.duplicates, c.corrected_times, c.unknown_signal, c.unwanted, c.rejected_blocks, c.unit_mismatch,
      c.strays, c.state_limit, c.member_limit, c.event_limit, c.text_limit, c.gaps, c.quarantined, c.alerts_over_limit,
      c.packs_refused, report.corrupt_frames, report.undecodable);
  for (const auto& [rule, message] : c.quarantine_messages)
    fmt::print("quarantined {}: {}\n", rule, formats::printable(message));
}

// Copies the part of a cluster's telemetry that `journal` names, and makes `journal` that copy. False: it could not;
// `status` says how.
bool copy_part(cli::TopicPart part, std::filesystem::path& journal, std::optional<cli::TemporaryJournal>& copied,
               int& status) {
  part.cluster = journal.string();
  auto copy = cli::TemporaryJournal::of(part);
  if (!copy) {
    cli::say("tocsin: {}\n", copy.error().message);
    status = copy.error().code == tocsin::stream::Errc::io ? 3 : 2;
    return false;
  }
  journal = copied.emplace(std::move(*copy)).directory();
  return true;
}

int run_wrap(const wrap::WrapOptions& options, const std::filesystem::path& rules, const std::string& to,
             bool verbose) {
  wrap::WrapOptions full = options;
  const auto record = [rules]() -> tocsin::stream::Result<wrap::PackRecord> {
    const auto files = tocsin::dsl::read_pack(cli::rules_directory(rules));
    if (!files) return files.error();
    std::string text = tocsin::dsl::pack_text(*files);
    return wrap::PackRecord{tocsin::dsl::pack_hash(text), std::move(text)};
  };
  full.modules = cli::python_directory();
  full.first_pack = record;
  full.reload = [record, rules]() -> tocsin::stream::Result<wrap::PackRecord> {
    if (auto loads = cli::load_pack_from({cli::rules_directory(rules).string()}); !loads) return loads.error();
    return record();
  };
  if (!to.empty()) {
    full.attempts = cli::attempts_of_this_run();
    return wrap::wrap(full, cli::forwarding_engine(to));
  }
  return wrap::wrap(full, [verbose](const std::filesystem::path& journal, const wrap::EngineOptions& engine) {
    cli::RunOptions run;
    run.journal = journal;
    run.follow = true;
    run.resume = true;
    run.verbose = verbose;
    run.wrapped = true;
    run.stop_when_readable = engine.parent;
    return cli::run_engine(run).exit;
  });
}

int run(int argc, char** argv) {
  CLI::App app{"Watches GPU training jobs and says, while they run, what is wrong and which rank is to blame",
               "tocsin"};
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.set_version_flag("--version", cli::version, "Print the version, the commit, and the formats that are written");
  app.footer(
      "A first look: scripts/demo. A job of your own: tocsin wrap -- python train.py. Exit status: 0 done, 1 what was "
      "checked or\n"
      "asked for does not hold, 2 it could not be done; of wrap: the command's own.");
  const std::string rules_text = "A directory of rules (default: $TOCSIN_RULES, else the shipped rules)";
  const std::string replay_rules_text =
      "Judge by the rules of this directory (default: those that the run was judged by)";
  const std::string journal_text =
      "The directory of a journal, as wrap or ingest made it; a name that `tocsin runs` lists; or last";
  const CLI::Validator no_dash{
      [](const std::string& value) { return value.starts_with("-") ? "a value is missing before " + value : ""; }, ""};
  const CLI::Validator no_cluster{[](const std::string& name) {
                                    return name == tocsin::stream::cluster_subject
                                               ? "no job can be called cluster: that is the subject of all nodes"
                                               : "";
                                  },
                                  ""};
  std::string kernels;
  cli::add_option(app, "--kernels", kernels, "NAME",
                  "Compute with avx2 or baseline instructions (default: the fastest that this machine has)");
  int status = 0;

  cli::RunOptions replay;
  bool digest = false, counters = false;
  std::string digest_kind, speed = "max", state_size;
  auto* replay_command =
      app.add_subcommand("replay", "Judge a recorded run again, as fast as it goes or at a given speed");
  cli::TopicPart replayed;
  cli::add_needed(*replay_command, "JOURNAL", replay.journal, "",
                  journal_text + "; or a cluster's telemetry, kafka://HOST:PORT[/PREFIX] or FILE.yml");
  cli::add_part_options(*replay_command, replayed);
  cli::add_option(*replay_command, "--rules", replay.rules, "DIR", replay_rules_text);
  cli::add_option(*replay_command, "--speed", speed, "TIMES",
                  "How many times as fast as it was: 10, 0.5, or max (default: max)");
  cli::add_option(
      *replay_command, "--state-size", state_size, "SIZE",
      "Refuse new jobs where the others take so much state, as `tocsin run` does at limits.state_size: 4GiB "
      "(default: no limit)");
  cli::add_option(*replay_command, "--alerts", replay.alerts, "FILE",
                  "Write alerts and verdicts as JSON lines to this file (- is standard output)");
  replay_command->add_flag("--quiet", replay.quiet, "Print no alerts on the terminal");
  replay_command->add_flag("--verbose", replay.verbose, "Print every cause, doubt and value of an alert");
  auto* digest_option = cli::add_option(*replay_command, "--digest", digest_kind, "[=columns]",
                                        "Print a checksum of all that each job came to; =columns: of every value too")
                            ->check(CLI::IsMember({"columns"}))
                            ->expected(0, 1);
  replay_command->add_flag("--counters", counters,
                           "Print how many records were read, and how many were left out, by reason");
  replay_command->add_flag("--follow", replay.follow, "Go on reading while it is written, until the run has ended");
  replay_command->add_flag("--resume", replay.resume,
                           "Keep state and alerts in the journal's directory, and go on from them the next time");
  replay_command->add_flag("--scripted", replay.force_scripted, "Run every rule as a script (slow; to compare)");
  std::uint64_t kill_at = 0;
  auto* kill_option =
      replay_command->add_option("--kill-at", kill_at, "Die by SIGKILL before this entry (for tests of recovery)")
          ->group("");
  replay_command->callback([&] {
    if (speed != "max") {
      const auto [end, wrong] = std::from_chars(speed.data(), speed.data() + speed.size(), replay.speed);
      if (wrong != std::errc{} || end != speed.data() + speed.size() || !(replay.speed > 0))
        throw CLI::ValidationError("--speed", "write max, or a number above 0, not '" + speed + "'");
    }
    if (!state_size.empty()) {
      const auto size = tocsin::adapters::config::parse_size(state_size);
      if (!size) throw CLI::ValidationError("--state-size", size.error().message);
      replay.state_size = static_cast<std::size_t>(*size);
    }
    digest = digest_option->count() > 0;
    replay.digest_columns = digest_kind == "columns";
    if (kill_option->count() > 0) replay.kill_at = kill_at;
    replay.to_stdout = true;
    std::optional<cli::TemporaryJournal> copied;
    if (cli::names_a_cluster(replay.journal.string())) {
      if (replay.follow || replay.resume) throw CLI::ValidationError("--follow and --resume are for a journal on disk");
      if (!copy_part(replayed, replay.journal, copied, status)) return;
      replay.temporary = true;
    } else if (!replayed.from.empty() || !replayed.until.empty() || replayed.options.partition >= 0 ||
               !replayed.options.subject.empty()) {
      throw CLI::ValidationError(
          "--partition, --job, --from and --until are for a cluster: tocsin replay kafka://HOST:PORT …");
    }
    const auto report = cli::run_engine(replay);
    status = report.exit;
    if (status == 0) print_report(report, digest, counters);
  });

  const std::string several_text =
      "Directories of rules that make one pack; shipped is the program's own (default: $TOCSIN_RULES, else those)";
  std::vector<std::string> check_rules;
  bool check_json = false;
  auto* check_command =
      app.add_subcommand("check", "Load rules, and say what is wrong, where, and what to write instead");
  cli::add_option(*check_command, "RULES", check_rules, "", several_text);
  check_command->add_flag("--json", check_json, "Print one JSON object: ok, problems, rules");
  check_command->callback([&] { status = cli::check(check_rules, check_json); });

  std::vector<std::string> test_rules;
  std::string only;
  bool verbose = false;
  auto* test_command = app.add_subcommand(
      "test", "Run the cases that stand beside the rules: does each fire where it must, and only there?");
  cli::add_option(*test_command, "RULES", test_rules, "", several_text);
  cli::add_option(*test_command, "--only", only, "TEXT", "Only cases whose name holds this text");
  test_command->add_flag("--verbose", verbose, "Name the cases that pass as well");
  test_command->callback([&] { status = cli::test(test_rules, only, verbose); });

  cli::BacktestOptions backtest;
  auto* backtest_command = app.add_subcommand(
      "backtest", "Judge recordings by other rules: what each would have reported, and what differs from those of now");
  cli::add_option(*backtest_command, "JOURNAL", backtest.journals, "",
                  journal_text + "; or a directory of journals (default: all that wrap made)");
  cli::add_option(*backtest_command, "--rules", backtest.rules, "DIR ...", several_text);
  cli::add_option(*backtest_command, "--against", backtest.against, "DIR ...",
                  "Compare with these rules, which are named in the same way");
  backtest_command->add_flag("--json", backtest.json, "Print one JSON object");
  backtest_command->callback([&] { status = cli::backtest(backtest); });

  cli::add_config_command(app, status);

  app.add_subcommand("reference", "Print every word of the rules' language with its meaning, as Markdown")
      ->callback([] { fmt::print("{}", tocsin::dsl::reference()); });
  app.add_subcommand("stubs", "Print the same words for editors, as the Lua language server reads them")->callback([] {
    fmt::print("{}", tocsin::dsl::editor_stubs());
  });

  cli::ExplainOptions explain;
  std::uint32_t rank = 0;
  auto* explain_command =
      app.add_subcommand("explain", "Show why a rule fired or did not: every value in it, for one rank and moment");
  cli::add_needed(*explain_command, "JOURNAL", explain.journal, "", journal_text);
  cli::add_needed(*explain_command, "--rule", explain.rule, "NAME", "The name of the rule");
  auto* rank_option = cli::add_option(*explain_command, "--rank", rank, "N",
                                      "Which rank, where the rule answers per rank (default: the first)");
  cli::add_option(*explain_command, "--node", explain.node, "NAME", "Which node, where it answers per node");
  cli::add_option(*explain_command, "--gpu", explain.gpu, "NAME",
                  "Which GPU, as alerts name it, where it answers per GPU");
  cli::add_option(*explain_command, "--at", explain.at, "TIME",
                  "When: 2026-11-21T02:14:43 (UTC), +90s or +5m from the beginning, or last (default)");
  cli::add_option(*explain_command, "--job", explain.subject, "NAME", "Which job, where the journal has several");
  explain_command->add_flag("--json", explain.json, "Print one JSON object");
  cli::add_option(*explain_command, "--rules", explain.rules, "DIR", replay_rules_text);
  explain_command->callback([&] {
    if (rank_option->count() > 0) explain.rank = rank;
    status = cli::explain(explain);
  });

  cli::StatusOptions asked;
  auto* status_command = app.add_subcommand(
      "status",
      "Show how the jobs of a log stand: figures, alerts that fire, rules that cannot decide, and what they miss");
  cli::TopicPart looked_at;
  cli::add_needed(*status_command, "JOURNAL", asked.journal, "",
                  journal_text + "; or a cluster's telemetry, kafka://HOST:PORT[/PREFIX] or FILE.yml");
  cli::add_part_options(*status_command, looked_at);
  status_command->get_option("--job")->description(
      "This job alone; of a cluster, from the partition that has its records");
  cli::add_option(*status_command, "--rules", asked.rules, "DIR", replay_rules_text);
  status_command->add_flag(
      "--json", asked.json,
      "Print one JSON object: jobs as /api/v1/jobs has them, and the verdicts of those that have ended");
  status_command->callback([&] {
    std::optional<cli::TemporaryJournal> copied;
    asked.job = looked_at.options.subject;
    if (cli::names_a_cluster(asked.journal.string())) {
      if (!copy_part(looked_at, asked.journal, copied, status)) return;
      asked.temporary = true;
    } else if (!looked_at.from.empty() || !looked_at.until.empty() || looked_at.options.partition >= 0) {
      throw CLI::ValidationError(
          "--partition, --from and --until are for a cluster: tocsin status kafka://HOST:PORT …");
    }
    status = cli::status(asked);
  });

  cli::IngestOptions ingest;
  auto* ingest_command = app.add_subcommand(
      "ingest", "Make a journal of JSON lines, for replay and explain; or try a mapping of the service on a file");
  cli::add_ingest_options(*ingest_command, ingest);
  ingest_command->callback([&] { status = cli::ingest(ingest); });

  wrap::WrapOptions wrap_options;
  std::filesystem::path wrap_rules;
  auto* wrap_command = app.add_subcommand(
      "wrap", "Run a command, record it, and print alerts while it runs: tocsin wrap -- torchrun train.py");
  cli::add_option(*wrap_command, "--job", wrap_options.job, "NAME",
                  "The job's name in alerts (default: the command's name and a process id)")
      ->check(no_dash)
      ->check(no_cluster);
  cli::add_option(*wrap_command, "--journal", wrap_options.journal, "DIR",
                  "Where the recording goes: a new or empty directory (default: one in $XDG_STATE_HOME/tocsin, else "
                  "~/.local/state/tocsin)")
      ->check(no_dash);
  std::uint64_t most_mib = wrap_options.journal_bytes >> 20;
  cli::add_option(
      *wrap_command, "--cap", most_mib, "MIB",
      "The most disk that the recording may take, in MiB, 4 to 1048576: the oldest part goes first (default: 256)")
      ->check(CLI::Range(4, 1 << 20));
  std::string wrap_to;
  cli::add_option(*wrap_command, "--to", wrap_to, "ADDRESS",
                  "Send the records to a Kafka cluster, kafka://HOST:PORT[/PREFIX] or a configuration, FILE.yml, where "
                  "`tocsin run` judges them; the journal keeps what is not sent yet")
      ->check(cli::is_kafka_address());
  bool wrap_verbose = false;
  wrap_command->add_flag("--verbose", wrap_verbose, "Print every cause, doubt and value of an alert");
  cli::add_option(*wrap_command, "--rules", wrap_rules, "DIR", rules_text)->check(CLI::ExistingDirectory);
  cli::add_option(*wrap_command, "COMMAND", wrap_options.command, "",
                  "The command and its arguments; what is of wrap stands before --")
      ->required();
  wrap_command->positionals_at_end();
  wrap_command->callback([&] {
    wrap_options.journal_bytes = most_mib << 20;
    status = run_wrap(wrap_options, wrap_rules, wrap_to, wrap_verbose);
  });

  cli::add_service_commands(app, status);
  cli::add_pack_commands(app, status);

  bool runs_json = false;
  auto* runs_command =
      app.add_subcommand("runs", "List the recordings that wrap made, the newest last; `last` names it everywhere");
  runs_command->add_flag("--json", runs_json, "Print one JSON list");
  runs_command->callback([&] { status = cli::runs(runs_json); });

  std::filesystem::path export_from, export_to;
  auto* export_command = app.add_subcommand("export", "Write a journal as the JSON lines that ingest reads");
  cli::add_needed(*export_command, "JOURNAL", export_from, "", journal_text);
  cli::add_option(*export_command, "--to", export_to, "FILE", "A new file (default: standard output)");
  export_command->callback([&] { status = cli::export_journal(export_from, export_to); });

  cli::add_manual_commands(app, status);

  cli::trim_help(app);
  app.parse_complete_callback([&] {
    if (!kernels.empty() && !tocsin::stream::choose_kernels(kernels))
      throw CLI::ValidationError("--kernels", "'" + kernels + "' is not known or does not run here: avx2, baseline");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return cli::answer(app, error); }
  if (app.get_subcommands().empty()) {
    cli::say("{}", app.help());
    return cli::bad_usage;
  }
  return status;
}

// One that is closed would become that of the next file or pipe: what is printed would go into a journal, and wrap
// would wait for itself.
void open_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      // The lowest that is free, which is this one.
      if (::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY) != descriptor) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  try {
    const int status = run(argc, argv);
    if (std::fflush(stdout); status == 0 && std::ferror(stdout)) throw std::runtime_error("cannot write to stdout");
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tocsin: %s\n", error.what());
    return 2;
  }
}
