#include "adapters/cli/ingest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/ingest.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::cli {

namespace {

// 0: done; 1: done, but lines were left out (--strict); 2: could not.
int ingest(const IngestOptions& options) {
  const auto missing = [&](const char* what) {
    say("tocsin ingest: {}\nRun `tocsin ingest --help` to see what it takes\n", what);
    return bad_usage;
  };
  if (!options.tried.empty()) {
    if (options.config.empty()) return missing("--try needs --config FILE");
    return try_mapping(options);
  }
  if (options.files.empty()) return missing("FILE is required, or --try FILE");
  if (options.to.empty()) return missing("--to is required");
  const bool shows_progress = !options.quiet && isatty(STDERR_FILENO);
  std::uint64_t complaints = 0;
  int percent = -1;
  const auto wipe = [&] {
    if (percent >= 0) say("\r\033[K");
    percent = -1;
  };
  formats::IngestSettings settings;
  settings.job = options.job;
  settings.complain = [&](const std::string& line) {
    if (++complaints > options.most_complaints) return;
    wipe();
    say("{}\n", formats::printable(line));  // it quotes what the file holds
  };
  if (shows_progress)
    settings.progress = [&](double part) {
      const int now = static_cast<int>(100 * part);
      if (now == percent) return;
      percent = now;
      say("\ringest {:3} %", percent);
      std::fflush(stderr);
    };
  const auto summary = formats::ingest(options.files, options.to, settings);
  wipe();
  if (complaints > options.most_complaints)
    say("… and {} more lines were left out\n", complaints - options.most_complaints);
  if (!summary) {
    say("tocsin: {}\n", summary.error().message);
    return 2;
  }
  const auto& s = *summary;
  if (!options.quiet) {
    say("{} lines: {} samples, {} log lines, {} events, {} covered, {} controls; {} left out\n", s.lines, s.samples,
        s.log_lines, s.events, s.coverage, s.controls, s.bad_lines);
    say("{} entries over {:.0f} s in {}, {} beats and {} coverage records of them made here\n", s.entries,
        stream::seconds(s.last - s.first), options.to.string(), s.made_beats, s.made_coverage);
    if (s.clocks_off != 0) say("{} records with a clock more than a year off did not move the time\n", s.clocks_off);
    if (s.skipped_pauses != 0)
      say("{} pauses of more than 26 hours were shortened: no beats in the rest of them\n", s.skipped_pauses);
  }
  return options.strict && s.bad_lines != 0 ? 1 : 0;
}

}  // namespace

void add_ingest_command(CLI::App& app, int& status) {
  auto shared = std::make_shared<IngestOptions>();
  IngestOptions& options = *shared;
  auto& command = *app.add_subcommand(
      "ingest", "Make a journal from JSON lines, for replay and explain; or try a mapping of the service on a file");
  auto* files = add_option(command, "FILE", options.files, "",
                           "Files of JSON lines (docs/json-lines.md), merged by time; - is standard input");
  auto* to = add_option(command, "--to", options.to, "DIR", "The directory of the journal to make: new or empty");
  auto* tried = add_option(command, "--try", options.tried, "FILE",
                           "Show how a configuration maps this file of another program's messages, and make no journal")
                    ->excludes(files)
                    ->excludes(to);
  add_option(command, "--config", options.config, "FILE", "With --try: the configuration")->needs(tried);
  add_option(command, "--source", options.source, "NAME",
             "With --try: the source in the configuration (default: the only one)")
      ->needs(tried);
  add_option(command, "--job", options.job, "NAME", "The job of records that name none");
  add_option(command, "--errors", options.most_complaints, "N", "The most rejected lines to print (default: 20)");
  command.add_flag("--strict", options.strict, "Exit with status 1 if a line was rejected");
  command.add_flag("--quiet", options.quiet, "No progress and no summary");
  command.callback([shared, &status] { status = ingest(*shared); });
}

}  // namespace tocsin::adapters::cli
