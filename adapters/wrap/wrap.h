#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/wrap/job_environment.h"
#include "stream/values/result.h"

namespace tocsin::adapters::wrap {

// This machine, as its records name it.
[[nodiscard]] std::string host();

// A pack in the form of a pack record.
struct PackRecord {
  std::string hash, text;
};

// What the engine process needs besides its journal.
struct EngineOptions {
  std::string job;
  int parent = -1;        // at end of file (readable): wrap is gone; read what is there, then stop
  unsigned restarts = 0;  // how often it was started before: continue from the snapshot
};

// The engine, in a process of its own: follows the journal until its seal, prints alerts and the outcome on stderr.
// 0: the seal was read. `engine_refused`: trying again cannot help (it has printed the reason). All else, and every
// signal: start it again.
using EngineEntry = std::function<int(const std::filesystem::path& journal, const EngineOptions&)>;
inline constexpr int engine_refused = 2;

struct WrapOptions {
  std::vector<std::string> command;  // found along PATH, as a shell would
  std::string job;                   // empty: the command's name and our pid
  std::filesystem::path journal;     // empty: <state directory>/tocsin/<time>-<pid>
  std::filesystem::path
      modules;  // where the command's Python programs find modules, behind their own PYTHONPATH; empty: nowhere
  std::map<std::string, std::string> labels;  // of the job
  std::optional<JobPart> part;                // none: this run alone reports the job
  std::string attempts;  // what the names of attempts begin with: where several runs of one job meet in one log
  std::uint64_t journal_bytes = 256u << 20;
  std::uint64_t state_bytes = 1u << 30;  // of all runs in the state directory: the oldest go first

  // The pack that holds from the start, as text: it is on the way to the command, so it must not take a millisecond.
  // None: the journal has no pack, and its reader brings one.
  std::function<stream::Result<PackRecord>()> first_pack;
  // Loads and validates the rules at a SIGHUP, in a process of its own. Without it SIGHUP goes to the command.
  std::function<stream::Result<PackRecord>()> reload;

  std::chrono::milliseconds lone_after{
      30000};          // no process calls itself a rank: so long after the start the command may be one
  bool quiet = false;  // no closing line about the journal
  std::chrono::milliseconds recorder_wait{5000};  // for the last records, after the command has ended
  std::chrono::milliseconds engine_wait{30000};   // for the outcome
};

// Runs the command: output, signals and exit status pass through unchanged, whatever happens to the recorder and the
// engine. Returns its exit code; if a signal ended it, this process ends by the same signal and wrap does not return.
// 2, before the command runs: the options cannot be used (one line on stderr has the reason). Called once, by a process
// without threads: it forks.
[[nodiscard]] int wrap(const WrapOptions& options, const EngineEntry& engine);

}  // namespace tocsin::adapters::wrap
