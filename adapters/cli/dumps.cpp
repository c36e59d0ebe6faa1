#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/engine.h"
#include "adapters/cli/say.h"
#include "adapters/cli/topic_journal.h"
#include "adapters/cli/usage.h"
#include "adapters/evidence/dumped_job.h"
#include "adapters/evidence/flight_recorder.h"
#include "adapters/formats/ingest.h"
#include "adapters/formats/printable.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::cli {
namespace {

namespace fs = std::filesystem;

struct DumpsOptions {
  std::vector<fs::path> files;
  std::vector<std::string> rules;
  std::string job = "dumps";
  fs::path to;
};

int judge_dumps(const DumpsOptions& options) {
  const auto read = evidence::read_flight_dumps(options.files);
  for (const std::string& problem : read.problems) say("tocsin dumps: {}\n", formats::printable(problem));
  if (read.dumps.empty())
    return cannot("dumps",
                  "no dump of PyTorch's flight recorder was read: give the files that it wrote, "
                  "nccl_trace_rank_0 and so on, or their directory");
  const auto job = evidence::join_dumps(read.dumps);
  fmt::print("{} dumps{}\n", read.dumps.size(),
             job.world_size > read.dumps.size() ? fmt::format(", of {} ranks", job.world_size) : "");
  fmt::print("{}", formats::printable_lines(evidence::text_of(job)));
  if (job.unfinished.empty()) fmt::print("no rank waits in a collective\n");

  const auto temporary = TemporaryJournal::make();
  if (!temporary) return cannot("dumps", temporary.error().message);
  const fs::path lines = temporary->directory() / "lines.jsonl";
  const fs::path journal = options.to.empty() ? temporary->directory() / "journal" : options.to;
  if (auto written = journal::write_whole(lines, evidence::lines_of(job, options.job, std::chrono::minutes{3}));
      !written)
    return cannot("dumps", written.error().message);
  if (auto made = formats::ingest({lines}, journal, {}); !made) return cannot("dumps", made.error().message);
  RunOptions run;
  run.journal = journal;
  run.rules = options.rules;
  run.to_stdout = true;
  run.temporary = options.to.empty();
  return run_engine(run).exit;
}

}  // namespace

void add_dumps_command(CLI::App& app, int& status) {
  auto options = std::make_shared<DumpsOptions>();
  auto* command = app.add_subcommand(
      "dumps", "Judge dumps of PyTorch's flight recorder: which collective is unfinished, and which rank is missing");
  add_needed(*command, "FILE", options->files, "",
             "The dumps of one job, pickles or JSON, one file a rank with the rank in its name; or their directory");
  add_option(*command, "--job", options->job, "NAME", "The job's name in alerts (default: dumps)");
  add_option(*command, "--to", options->to, "DIR",
             "Keep the journal that is judged: a new or empty directory, for explain and replay");
  add_rules_option(*command, options->rules, rules_text);
  command->callback([options, &status] { status = judge_dumps(*options); });
}

}  // namespace tocsin::adapters::cli
