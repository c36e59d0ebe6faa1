#pragma once

#include <filesystem>
#include <optional>

#include "adapters/node/job_description.h"
#include "adapters/node/node_jobs.h"
#include "adapters/wrap/rank_watch.h"
#include "adapters/wrap/recording.h"

namespace tocsin::adapters::node {

struct NodeRecorderSetup {
  std::filesystem::path run;  // the directory of the journal
  JobDescription job;
  std::uint64_t journal_bytes = 64u << 20;
  stream::Duration gone_after = std::chrono::seconds{20};  // the job has no process for so long: it has ended
  std::uint32_t epoch = 0;                                 // how often it was started before
  wrap::RunClock clock{};
  wrap::Legacy* legacy = nullptr;
  int stop = -1;  // readable: end, to go on later
};

// Records what is seen from outside of a job that somebody else started. It reads no lines and learns no exit status: a
// job whose processes have gone has ended, for a reason that is not known here. Alone writes its journal. Runs in a
// process of its own, owned by it.
class NodeRecorder {
 public:
  explicit NodeRecorder(const NodeRecorderSetup& setup);
  // True: the job has ended and the journal is sealed.
  [[nodiscard]] bool run();

 private:
  void begin();
  void second(stream::Time now);
  void finish();

  NodeRecorderSetup setup_;
  wrap::Recording recording_;
  wrap::JobReport report_;
  JobKin kin_;
  wrap::ProcessTree tree_;
  std::optional<wrap::RankWatch> watch_;
  stream::Time next_second_, last_seen_;
};

}  // namespace tocsin::adapters::node
