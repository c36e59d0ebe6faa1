#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "adapters/node/job_description.h"
#include "adapters/wrap/run_clock.h"
#include "adapters/wrap/run_state.h"
#include "adapters/wrap/signals.h"
#include "adapters/wrap/supervisor.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::node {

// One job that the agent records: its directory with the journal, what a next agent needs to go on, and the two
// processes that write the journal and send it. Owned by the agent.
class RecordedJob {
 public:
  // In a directory that is new, or that an earlier agent left. `stop`: readable when the agent ends.
  RecordedJob(std::filesystem::path run, JobDescription job, std::uint64_t journal_bytes, const wrap::RunClock& clock,
              int stop, const wrap::EngineEntry& send);
  ~RecordedJob();
  RecordedJob(const RecordedJob&) = delete;
  RecordedJob& operator=(const RecordedJob&) = delete;

  // Makes the directory and what is beside the journal; before the rest.
  [[nodiscard]] static stream::Result<void> prepare(const std::filesystem::path& run, const JobDescription& job);
  // Of a directory in which a job is not recorded and sent to its end; nothing: it is, or was never begun.
  [[nodiscard]] static stream::Result<std::optional<JobDescription>> unfinished_in(const std::filesystem::path& run);

  void start(const wrap::Signals& signals, stream::Time now);
  void poll(const wrap::Signals& signals, stream::Time now);
  bool ended(pid_t pid, int status, stream::Time now);
  [[nodiscard]] bool recording() const noexcept { return !recorder_.done(); }
  [[nodiscard]] bool done() const noexcept { return recorder_.done() && sender_.done(); }
  [[nodiscard]] bool running() const noexcept { return recorder_.running() || sender_.running(); }
  void finished();  // nothing is left to do for its directory
  [[nodiscard]] const JobPlace& place() const noexcept { return job_.place; }
  [[nodiscard]] const std::string& name() const noexcept { return job_.reported.job; }  // in its records

 private:
  struct Kept {
    std::uint64_t form = 0;    // of this structure
    std::uint32_t epochs = 0;  // how many recorders there were
    bool sealed = false;       // the job has ended
    wrap::Legacy legacy;
  };
  [[nodiscard]] static Kept* map_kept(const std::filesystem::path& run);

  std::filesystem::path run_;
  JobDescription job_;
  Kept* kept_;
  wrap::Supervisor recorder_, sender_;
};

}  // namespace tocsin::adapters::node
