#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/cli/moment.h"
#include "stream/job/shard.h"

namespace tocsin::adapters::cli {

struct RunOptions {
  std::filesystem::path journal;
  // Directories; given: their pack holds for the whole log; empty: the log's own packs, else the shipped ones.
  std::vector<std::string> rules;
  std::optional<stream::LoadedPack> pack;  // the same, compiled already
  std::filesystem::path alerts;            // JSON lines, a transition or verdict each; "-": standard output
  double speed = 0;                        // times real time; 0: as fast as it goes
  bool follow = false;                     // wait for more until the seal
  bool resume = false;     // keep snapshots and the alert history beside the journal, and go on from them
  bool quiet = false;      // nothing on the terminal
  bool to_stdout = false;  // alerts and verdicts as text: else on stderr
  bool verbose = false;    // with every cause, doubt and value
  bool wrapped = false;    // of a command that is no training only its exit is reported, and the last error
  bool digest_columns = false;
  std::size_t state_size = stream::ShardOptions{}.most_state;
  std::optional<Moment> until;           // records after it are not read
  int stop_when_readable = -1;           // at end of file there, stop at the journal's end (wrap's parent is gone)
  std::optional<std::uint64_t> kill_at;  // tests of recovery: dies by SIGKILL before the entry with this index
  bool force_scripted = false;
  bool temporary = false;  // the journal is gone afterwards: alerts name no command that would read it
};

struct RunReport {
  int exit = 0;
  std::optional<stream::Time> first;  // append time of the first entry; none: there was no entry
  stream::Time last{};                // the log's clock at the end
  std::map<std::string, std::uint64_t> digests, row_digests;
  stream::Counters counters;
  std::uint64_t corrupt_frames = 0, undecodable = 0;
};

// What a command looks at while a journal is judged. Each may be empty.
struct Observers {
  std::function<void(const stream::RuleEvaluation&)> evaluation;  // once the alerts of its tick have settled
  std::function<void(const stream::Report&)> report;
  std::function<void(const stream::Entry&)> entry;  // of the log, before it is judged
  std::function<void(const stream::Shard&)> end;    // everything was judged
};

// Reads a journal through a shard: replay, and the engine process of wrap. One line on stderr says why it could not.
[[nodiscard]] RunReport run_engine(const RunOptions& options, const Observers& observers = {});

}  // namespace tocsin::adapters::cli
