#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/job_ranks.h"
#include "adapters/cli/recordings.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/evidence/bundle.h"
#include "adapters/evidence/groups.h"
#include "adapters/evidence/run_ranks.h"
#include "adapters/evidence/stack_taker.h"
#include "adapters/formats/printable.h"
#include "adapters/wrap/run_directory.h"

namespace tocsin::adapters::cli {
namespace {

namespace fs = std::filesystem;
using evidence::BundleReport;
using evidence::StackTarget;
using stream::Errc;
using stream::Error;
using stream::Result;

struct StacksOptions {
  std::vector<pid_t> pids;
  std::string job;
  bool json = false, without_gdb = false;
};

struct BundleOptions {
  std::string run = "last";
  bool take = false, json = false;
};

// What works beside us, until it is done.
template <class Work>
auto wait_for(Work& work) {
  for (;;) {
    pollfd at{work.descriptor(), POLLIN, 0};
    ::poll(&at, 1, 1000);
    if (auto answer = work.poll()) return *answer;
  }
}

// The processes of a run that goes on.
Result<std::vector<StackTarget>> processes_of(const fs::path& run) {
  if (auto running = still_running(run); !running)
    return Error{Errc::not_found,
                 running.error().message + "; `tocsin bundle`, without --take, shows what was gathered"};
  return evidence::ranks_of(run);
}

int show_stacks(const StacksOptions& options) {
  std::vector<StackTarget> targets;
  for (const pid_t pid : options.pids) targets.push_back({pid});
  if (!options.job.empty()) {
    auto found = ranks_of_job(options.job);
    if (!found) return cannot("stacks", found.error().message);
    targets = std::move(*found);
  }
  if (targets.empty()) {
    say("tocsin stacks: --pid PID or --job NAME is required\nRun `tocsin stacks --help` to see what it takes\n");
    return bad_usage;
  }
  evidence::StackSettings settings;
  settings.gdb = !options.without_gdb;
  evidence::StackTaker taker;
  taker.start(targets, settings);
  const auto stacks = wait_for(taker);
  if (options.json) {
    fmt::print("{}\n", formats::dump(evidence::stacks_json(stacks)));
  } else {
    fmt::print("{}\n", formats::printable(evidence::text_of(evidence::groups_of(stacks))));
    for (const auto& stack : stacks) fmt::print("\n{}", formats::printable_lines(evidence::text_of(stack)));
  }
  const auto taken = [](const evidence::ProcessStack& stack) { return stack.way != evidence::Way::none; };
  return std::any_of(stacks.begin(), stacks.end(), taken) ? 0 : 2;
}

void print(const BundleReport& report, const fs::path& run) {
  fmt::print("{}{}, in {}\n", report.begun, report.complete ? "" : ", not complete",
             formats::printable((run / report.name).string()));
  if (!report.groups.empty()) fmt::print("  {}\n", formats::printable(report.groups));
  for (const evidence::BundlePart& part : report.parts) {
    if (part.missing.empty())
      fmt::print("  {:<28} {:>9} bytes{}\n", formats::printable(part.name), part.bytes, part.cut ? ", cut" : "");
    else fmt::print("  {:<28} not there: {}\n", formats::printable(part.name), formats::printable(part.missing));
  }
}

int show_bundles(const BundleOptions& options) {
  const auto run = recording_named(options.run);
  if (!run) return cannot("bundle", run.error().message);
  if (!fs::is_directory(*run))
    return cannot("bundle", "there is no journal in " + run->string() + ": `tocsin runs` lists the recordings");
  if (options.take) {
    auto targets = processes_of(*run);
    if (!targets) return cannot("bundle", targets.error().message);
    evidence::BundleRequest request;
    request.run = *run;
    request.now = std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now());
    request.targets = std::move(*targets);
    request.gdb = true;
    request.limits.apart = {};
    evidence::Bundle bundle;
    if (auto begun = bundle.begin(std::move(request)); !begun) return cannot("bundle", begun.error().message);
    (void)wait_for(bundle);
  }
  const auto reports = evidence::bundles_of(*run);
  if (options.json) {
    formats::Json out = formats::Json::array();
    for (const BundleReport& report : reports) out.push_back(evidence::to_json(report));
    fmt::print("{}\n", formats::dump(out));
  } else {
    for (const BundleReport& report : reports) print(report, *run);
    if (reports.empty())
      fmt::print("nothing was gathered in {}: no hang was suspected; --take gathers while the run goes on\n",
                 formats::printable(run->string()));
  }
  return reports.empty() ? 1 : 0;
}

}  // namespace

void add_evidence_commands(CLI::App& app, int& status) {
  auto stacks = std::make_shared<StacksOptions>();
  auto* command = app.add_subcommand("stacks", "Take the stacks of running processes now, and group equal ones");
  auto* pid = add_option(*command, "--pid", stacks->pids, "PID", "A process; once for each")
                  ->check(CLI::Range(1, 1 << 22))
                  ->allow_extra_args(false);
  add_option(*command, "--job", stacks->job, "NAME", job_ranks_text)->excludes(pid);
  command->add_flag("--no-gdb", stacks->without_gdb,
                    "Do not use gdb where py-spy does not work: it stops the process for seconds");
  command->add_flag("--json", stacks->json, "Print one JSON object");
  command->callback([stacks, &status] { status = show_stacks(*stacks); });

  auto bundle = std::make_shared<BundleOptions>();
  command =
      app.add_subcommand("bundle", "Show what was gathered from the processes of a run when a hang was suspected");
  add_option(*command, "RUN", bundle->run, "", std::string{journal_text} + " (default)");
  command->add_flag("--take", bundle->take, "Gather now, while the run goes on");
  command->add_flag("--json", bundle->json, "Print a JSON array, an object a bundle, as its manifest.json has it");
  command->callback([bundle, &status] { status = show_bundles(*bundle); });
}

}  // namespace tocsin::adapters::cli
