#include "adapters/cli/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/disk_log/disk_log.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/json_lines.h"
#include "adapters/formats/printable.h"
#include "adapters/journal/directory.h"
#include "adapters/journal/follow.h"
#include "adapters/wrap/run_directory.h"
#include "stream/job/murmur2.h"
#include "stream/values/units.h"

namespace tocsin::adapters::cli {
namespace {

namespace fs = std::filesystem;
using stream::Errc;
using stream::Error;
using stream::Result;

struct Recording {
  std::string name, job, outcome;
  stream::Time begin{};
  std::uint64_t bytes = 0;
};

// How the command ended, by the last segment of the journal: "exit status 3", "signal 9"; empty where nothing says it.
std::string ended_with(const fs::path& directory) {
  const auto segments = journal::segments(directory);
  auto reader = journal::Reader::open(directory);
  if (!reader || !segments || segments->empty()) return {};
  journal::Follower log{std::move(*reader)};
  if (!log.seek(stream::Position{segments->back().position})) return {};
  std::string how;
  for (auto entry = log.next(); entry && *entry != nullptr; entry = log.next())
    for (const stream::EventRecord& event : (*entry)->events) {
      if (event.name != "end") continue;
      for (const auto& field : event.fields)
        if (const auto* number = std::get_if<double>(&field.value);
            number != nullptr && (field.name == "code" || field.name == "signal"))
          how = fmt::format("{} {:.0f}", field.name == "code" ? "exit status" : "signal", *number);
    }
  return how;
}

// What the history beside the journal says at its end: the verdict, or how many alerts.
std::string outcome_of(const fs::path& directory) {
  std::string verdict;
  std::size_t alerts = 0;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with("alerts") && entry.path().extension() == ".jsonl")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    const auto text = journal::read_whole(path);
    std::istringstream lines{text ? *text : ""};
    for (std::string line; std::getline(lines, line);) {
      const auto report = formats::Json::parse(line, nullptr, false);
      if (!report.is_object()) continue;
      if (!report.contains("verdict")) {
        alerts += report.value("state", "") == "firing" ? 1 : 0;
        continue;
      }
      const auto& v = report["verdict"];
      const std::string family = v.value("family", "");
      const std::string reason = v.value("end_reason", "unknown");
      const std::string how = reason == "failed" ? ended_with(directory) : std::string{};
      const std::string nothing = reason == "failed" ? "no cause found" : "no fault found";
      verdict =
          fmt::format("{} ({}{}{})", family.empty() ? nothing : stream::with_words(family, v.value("family_words", "")),
                      reason, how.empty() ? "" : ", ", how);
    }
  }
  if (wrap::is_running(directory)) verdict = "running";
  if (verdict.empty()) verdict = "no verdict";
  return alerts == 0 ? verdict : fmt::format("{}, {} alert{}", verdict, alerts, alerts == 1 ? "" : "s");
}

Recording look_at(const fs::path& directory) {
  Recording one;
  one.name = directory.filename().string();
  one.bytes = wrap::bytes_in(directory);
  one.outcome = outcome_of(directory);
  auto reader = journal::Reader::open(directory);
  if (!reader) return one;
  journal::Follower log{std::move(*reader)};
  for (int i = 0; i < 100 && one.job.empty(); ++i) {
    const auto entry = log.next();
    if (!entry || *entry == nullptr) break;
    if (i == 0) one.begin = (*entry)->appended;
    one.job = (*entry)->subject;
  }
  return one;
}

}  // namespace

std::vector<fs::path> all_recordings() {
  std::vector<fs::path> found;
  std::error_code error;
  for (auto at = fs::directory_iterator(wrap::state_directory(), error); !error && at != fs::directory_iterator{};
       at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone) && wrap::names_a_run(at->path().filename().string())) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> journals_in(const fs::path& directory) {
  const auto partitions = disk_log::partitions_in(directory);
  if (!partitions) return {directory};
  std::vector<fs::path> all;
  for (int partition = 0; partition < *partitions; ++partition)
    all.push_back(disk_log::partition_directory(directory, partition));
  return all;
}

Result<fs::path> recording_named(const fs::path& argument, const std::string& job) {
  std::error_code error;
  if (fs::exists(argument, error)) {
    const auto journals = journals_in(argument);
    if (journals.size() == 1) return journals.front();
    if (!job.empty()) return journals[stream::murmur2(job) % journals.size()];
    return Error{Errc::refused, fmt::format("{} is the log of a service: name a job with --job, or one of its {} "
                                            "partitions, as {}",
                                            argument.string(), journals.size(), journals.front().string())};
  }
  const fs::path state = wrap::state_directory();
  if (argument == "last") {
    const auto all = all_recordings();
    if (all.empty())
      return Error{Errc::not_found,
                   "there is no recording in " + state.string() + ": tocsin wrap makes one, or name a directory"};
    return all.back();
  }
  if (!argument.has_parent_path() && fs::exists(state / argument, error)) return state / argument;
  return argument;
}

Result<void> still_running(const fs::path& run) {
  std::error_code error;
  const std::string name = fs::absolute(run, error).lexically_normal().string();
  if (!fs::is_directory(run, error))
    return Error{Errc::not_found, "there is no run " + name + ": `tocsin runs` lists them"};
  if (!wrap::is_running(run)) return Error{Errc::not_found, name + " has ended, and its processes with it"};
  return {};
}

namespace {

// Lists the recordings that wrap made, the newest last: name, begin, job, size, and what became of it.
int runs(bool json) {
  const auto all = all_recordings();
  formats::Json list = formats::Json::array();
  for (const fs::path& directory : all) {
    const Recording one = look_at(directory);
    if (json) {
      list.push_back({{"name", one.name},
                      {"directory", directory.string()},
                      {"begin", formats::typed_time(one.begin)},
                      {"job", one.job},
                      {"bytes", one.bytes},
                      {"outcome", one.outcome}});
      continue;
    }
    fmt::print("{:<26} {}  {:>8}  {}  {}\n", one.name, formats::time_text(one.begin),
               stream::quantity_text(static_cast<double>(one.bytes), "bytes"), formats::printable(one.job),
               formats::printable(one.outcome));
  }
  if (json) fmt::print("{}\n", formats::dump(list));
  else if (all.empty())
    say("tocsin runs: there is no recording in {}: tocsin wrap makes one\n", wrap::state_directory().string());
  return 0;
}

// `to` empty: standard output.
int export_journal(const fs::path& argument, const fs::path& to) {
  const auto directory = recording_named(argument);
  if (!directory) return cannot("export", directory.error().message);
  auto reader = journal::Reader::open(*directory);
  if (!reader) return cannot("export", reader.error().message);
  journal::Follower log{std::move(*reader)};
  std::ofstream file;
  if (!to.empty()) {
    std::error_code error;
    if (fs::exists(to, error))
      return cannot("export", to.string() + " is there already: name a new file, or remove it");
    file.open(to);
    if (!file) return cannot("export", "cannot write " + to.string());
  }
  std::ostream& out = to.empty() ? std::cout : file;
  std::uint64_t entries = 0;
  for (;; ++entries) {
    const auto entry = log.next();
    if (!entry) return cannot("export", entry.error().message);
    if (*entry == nullptr) break;
    out << formats::to_json(**entry);
  }
  if (entries == 0)
    return cannot("export", "there is no journal in " + directory->string() +
                                ": name a directory that `tocsin wrap` or `tocsin ingest` made");
  if (!out.flush())
    return cannot("export", "cannot write " + (to.empty() ? std::string{"to standard output"} : to.string()));
  return 0;
}

}  // namespace

void add_recording_commands(CLI::App& app, int& status) {
  const auto json = std::make_shared<bool>(false);
  auto* runs_command = app.add_subcommand(
      "runs", "List the recordings of wrap, the newest last; every command accepts its name or `last`");
  runs_command->add_flag("--json", *json, "Print one JSON list");
  runs_command->callback([json, &status] { status = runs(*json); });

  const auto from = std::make_shared<fs::path>(), to = std::make_shared<fs::path>();
  auto* export_command = app.add_subcommand("export", "Write a journal as the JSON lines that ingest reads");
  add_needed(*export_command, "JOURNAL", *from, "", journal_text);
  add_option(*export_command, "--to", *to, "FILE", "A new file (default: standard output)");
  export_command->callback([from, to, &status] { status = export_journal(*from, *to); });
}

}  // namespace tocsin::adapters::cli
