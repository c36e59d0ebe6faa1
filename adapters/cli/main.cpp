#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "adapters/cli/check.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/explain.h"
#include "adapters/cli/ingest.h"
#include "adapters/cli/packs.h"
#include "adapters/wrap/wrap.h"
#include "dsl/reference.h"
#include "stream/kernels.h"

namespace {

using namespace tocsin::adapters;

void print_report(const cli::RunReport& report, bool digests, bool counters) {
  if (digests)
    for (const auto& [subject, digest] : report.digests)
      fmt::print("digest {:016x} rows {:016x} {}\n", digest, report.row_digests.at(subject), subject);
  if (!counters) return;
  const auto& c = report.counters;
  fmt::print("entries {} samples {} lines {} events {} heard {} beats {} ticks {} evaluations {} transitions {}\n", c.entries, c.samples,
             c.lines, c.events, c.heard, c.beats, c.ticks, c.evaluations, c.transitions);
  fmt::print(
      "late {} duplicates {} corrected_times {} unknown_signal {} unwanted {} rejected_blocks {} strays {} member_limit {} gaps {} "
      "benched {} over_limit {} packs_refused {} corrupt_frames {} undecodable {}\n",
      c.late, c.duplicates, c.corrected_times, c.unknown_signal, c.unwanted, c.rejected_blocks, c.strays, c.member_limit, c.gaps, c.benched,
      c.alerts_over_limit, c.packs_refused, report.corrupt_frames, report.undecodable);
  for (const auto& [rule, message] : c.bench_messages) fmt::print("benched {}: {}\n", rule, message);
}

int run_wrap(const wrap::WrapOptions& options, const std::filesystem::path& rules) {
  wrap::WrapOptions full = options;
  const auto record = [rules]() -> tocsin::stream::Result<wrap::PackRecord> {
    const auto files = tocsin::dsl::read_pack(cli::rules_directory(rules));
    if (!files) return files.error();
    std::string text = tocsin::dsl::pack_text(*files);
    return wrap::PackRecord{tocsin::dsl::pack_hash(text), std::move(text)};
  };
  full.first_pack = record;
  full.reload = [record, rules]() -> tocsin::stream::Result<wrap::PackRecord> {
    if (auto loads = cli::load_pack_from(cli::rules_directory(rules)); !loads) return loads.error();
    return record();
  };
  return wrap::wrap(full, [](const std::filesystem::path& journal, const wrap::EngineOptions& engine) {
    cli::RunOptions run;
    run.journal = journal;
    run.follow = true;
    run.resume = true;
    run.stop_when_readable = engine.parent;
    return cli::run_engine(run).exit;
  });
}

int run(int argc, char** argv) {
  CLI::App app{"tocsin: watches training jobs and says which rank is to blame, while they still run"};
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  std::string kernels;
  app.add_option("--kernels", kernels, "Loops to use: avx2 or baseline (default: the fastest this machine runs)");
  int status = 0;

  cli::RunOptions replay;
  bool digest = false, counters = false;
  std::string digest_kind, speed = "max";
  auto* replay_command = app.add_subcommand("replay", "Judge a journal again, as fast as it goes or at a speed");
  replay_command->add_option("JOURNAL", replay.journal, "The journal's directory")->required();
  replay_command->add_option("--rules", replay.rules, "A directory of rules, for the whole log (default: the packs in the log)");
  replay_command->add_option("--speed", speed, "max, or times real time (10 is ten times as fast)");
  replay_command->add_option("--alerts", replay.alerts, "Write alerts and verdicts as JSON lines to this file (- for standard output)");
  replay_command->add_flag("--quiet", replay.quiet, "Print no alerts");
  auto* digest_option =
      replay_command->add_option("--digest", digest_kind, "Print each subject's digest; --digest=columns takes every column in")
          ->expected(0, 1);
  replay_command->add_flag("--counters", counters, "Print what went through, and what did not, under a reason");
  replay_command->add_flag("--follow", replay.follow, "Wait for more until the journal is sealed");
  replay_command->add_flag("--resume", replay.resume, "Keep snapshots and the alert history beside the journal, and go on from them");
  replay_command->add_flag("--scripted", replay.force_scripted, "Run every rule as a script (slow; for comparison)");
  std::uint64_t kill_at = 0;
  auto* kill_option =
      replay_command->add_option("--kill-at", kill_at, "Die by SIGKILL before this entry (for tests of recovery)")->group("");
  replay_command->callback([&] {
    if (speed != "max") {
      try {
        replay.speed = std::stod(speed);
      } catch (const std::exception&) { throw CLI::ValidationError("--speed", "write max or a number, not '" + speed + "'"); }
    }
    digest = digest_option->count() > 0;
    replay.digest_columns = digest_kind == "columns";
    if (kill_option->count() > 0) replay.kill_at = kill_at;
    const auto report = cli::run_engine(replay);
    status = report.exit;
    if (status == 0) print_report(report, digest, counters);
  });

  std::filesystem::path check_rules;
  bool check_json = false;
  auto* check_command = app.add_subcommand("check", "Load rules and say what is wrong, where, and what to write instead");
  check_command->add_option("RULES", check_rules, "A directory of rules (default: the shipped pack)");
  check_command->add_flag("--json", check_json, "As JSON");
  check_command->callback([&] { status = cli::check(check_rules, check_json); });

  std::filesystem::path test_rules;
  std::string only;
  bool verbose = false;
  auto* test_command = app.add_subcommand("test", "Run the cases beside the rules");
  test_command->add_option("RULES", test_rules, "A directory of rules (default: the shipped pack)");
  test_command->add_option("--only", only, "Cases whose name holds this");
  test_command->add_flag("--verbose", verbose, "Name the cases that pass, too");
  test_command->callback([&] { status = cli::test(test_rules, only, verbose); });

  app.add_subcommand("reference", "Print every word of the rules' language with its meaning, as Markdown")->callback([] {
    fmt::print("{}", tocsin::dsl::reference());
  });
  app.add_subcommand("stubs", "Print the same words for editors: annotations that the Lua language server reads")->callback([] {
    fmt::print("{}", tocsin::dsl::editor_stubs());
  });

  cli::ExplainOptions explain;
  std::uint32_t rank = 0;
  auto* explain_command = app.add_subcommand("explain", "Print a rule's graph with the values at a member and tick");
  explain_command->add_option("JOURNAL", explain.journal, "The journal's directory")->required();
  explain_command->add_option("--rule", explain.rule, "The rule")->required();
  auto* rank_option = explain_command->add_option("--rank", rank, "The member, where the rule answers per rank");
  explain_command->add_option("--node", explain.node, "The member, where it answers per node");
  explain_command->add_option("--gpu", explain.gpu, "The member, where it answers per GPU");
  explain_command->add_option("--at", explain.at, "2026-11-21T02:14:43, +90s after the beginning, or last (default)");
  explain_command->add_option("--job", explain.subject, "The job, where the log has several");
  explain_command->add_option("--rules", explain.rules, "A directory of rules, for the whole log");
  explain_command->callback([&] {
    if (rank_option->count() > 0) explain.rank = rank;
    status = cli::explain(explain);
  });

  cli::IngestOptions ingest;
  auto* ingest_command = app.add_subcommand("ingest", "Make a journal of JSON lines");
  cli::add_ingest_options(*ingest_command, ingest);
  ingest_command->callback([&] { status = cli::ingest(ingest); });

  wrap::WrapOptions wrap_options;
  std::filesystem::path wrap_rules;
  auto* wrap_command = app.add_subcommand("wrap", "Run a command and watch its ranks: tocsin wrap -- torchrun train.py");
  wrap_command->add_option("--job", wrap_options.job, "The job's name (default: the command's and our pid)");
  wrap_command->add_option("--journal", wrap_options.journal, "Where the journal goes (default: the user's state directory)");
  std::uint64_t most_mib = wrap_options.journal_bytes >> 20;
  wrap_command->add_option("--cap", most_mib, "The most that the journal may take, in MiB: the oldest part goes first")
      ->check(CLI::Range(4, 1 << 20))
      ->capture_default_str();
  wrap_command->add_option("--rules", wrap_rules, "A directory of rules (default: the shipped pack)");
  wrap_command->add_option("COMMAND", wrap_options.command, "The command and its arguments, after --")->required();
  wrap_command->positionals_at_end();
  wrap_command->callback([&] {
    wrap_options.journal_bytes = most_mib << 20;
    status = run_wrap(wrap_options, wrap_rules);
  });

  app.parse_complete_callback([&] {
    if (!kernels.empty() && !tocsin::stream::choose_kernels(kernels))
      throw CLI::ValidationError("--kernels", "'" + kernels + "' is not known or does not run here: avx2, baseline");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error); }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tocsin: %s\n", error.what());
    return 2;
  }
}
