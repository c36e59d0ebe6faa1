#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/wrap/collective_watch.h"
#include "adapters/wrap/gpu_watch.h"
#include "adapters/wrap/job_report.h"
#include "adapters/wrap/proc_sampler.h"
#include "adapters/wrap/process_tree.h"
#include "adapters/wrap/rank_finder.h"
#include "adapters/wrap/run_clock.h"
#include "adapters/wrap/stack_watch.h"

namespace tocsin::adapters::wrap {

// What of a job's ranks on this node is seen from outside, whoever started them: their processes once a second, their
// collectives, their stacks in a hang, their GPUs. Owned by a recorder, which calls it in its loop.
class RankWatch {
 public:
  struct Rank {
    std::uint32_t rank = 0;
    pid_t pid = 0;                             // of the rank's process
    std::unique_ptr<ProcProbe> probe, worker;  // worker: where the process is a shell that waits for it
    bool own_files = false;                    // its output goes into files of its own
    std::optional<ProcReading> reading{};      // the last; none: it has gone
    std::map<pid_t, std::uint64_t> below{};    // processes that it started, and their CPU ticks at the last look
    stream::Time below_at = stream::long_ago;
  };
  struct Setup {
    std::filesystem::path run;      // the directory of the journal: bundles go there
    std::filesystem::path rings{};  // where NCCL in the job's processes writes; empty: nowhere
    std::string nccl_note{};        // why it does not; empty: it does
    const char* gpus = nullptr;  // that are the job's until it is seen on some, as in CUDA_VISIBLE_DEVICES; null: all
    pid_t memory_of = 0;         // whose control group limits the node's memory; 0: ours
    // How a process ended, as waitpid gives it, where that is known.
    std::function<std::optional<int>(pid_t)> status_of{};
  };
  RankWatch(ProcessTree& tree, JobReport& report, Legacy& legacy, const RunClock& clock, Setup setup);

  // Ranks that are known to a recorder before this one; which of them have gone is written.
  void resume();
  // Once a second, in this order.
  void sample(stream::Time now);
  [[nodiscard]] bool look(stream::Time now);  // for new processes; false: not now
  void find(stream::Time now);                // which of them are ranks
  void find_workers();
  void look_at_collectives();
  [[nodiscard]] bool coverage_due(stream::Time now) const noexcept { return now >= next_coverage_; }
  void cover(schemas::EntryBuilder& entry, stream::Time now);

  // Between seconds.
  void glance(stream::Time now);           // if it is time
  [[nodiscard]] stream::Time due() const;  // of the next glance
  [[nodiscard]] std::array<pollfd, 3> waits() const;
  void react(const std::array<pollfd, 3>& ready);

  // No process calls itself a rank: this one is.
  void assume(const Process& process, const Identity& as, stream::Time now);
  void works_in(pid_t pid);  // the first rank's process only waits for this one
  void drop_gone(stream::Time now, const std::function<bool(const Rank&)>& also);

  [[nodiscard]] const std::vector<Rank>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] const RankFinder& finder() const noexcept { return finder_; }
  [[nodiscard]] ProcessTree& tree() noexcept { return tree_; }

 private:
  static constexpr stream::Duration between_coverage = std::chrono::seconds{10};

  void add_rank(std::uint32_t rank, pid_t pid);
  void drop_rank(const Rank& rank, stream::Time now);  // into the entry
  void tell(std::span<const RankFinder::Change> changes, stream::Time now);
  void look_at_stacks();
  void look_at_gpus();
  [[nodiscard]] std::optional<double> cpu_below(Rank& rank, stream::Time now) const;  // cores, since the last look

  ProcessTree& tree_;
  JobReport& report_;
  const RunClock& clock_;
  Setup setup_;
  RankFinder finder_;
  GpuWatch gpus_;
  CollectiveWatch collectives_;
  StackWatch stacks_;
  HostMemory memory_;
  std::vector<Rank> ranks_;
  stream::Time next_glance_ = stream::long_ago, next_look_ = stream::long_ago, next_coverage_, changed_;
  unsigned glances_ = 0;
};

}  // namespace tocsin::adapters::wrap
