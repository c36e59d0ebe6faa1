#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/wrap/collective_watch.h"
#include "adapters/wrap/gpu_watch.h"
#include "adapters/wrap/line_splitter.h"
#include "adapters/wrap/lone_process.h"
#include "adapters/wrap/proc_sampler.h"
#include "adapters/wrap/process_tree.h"
#include "adapters/wrap/rank_finder.h"
#include "adapters/wrap/recording.h"
#include "adapters/wrap/reload.h"
#include "adapters/wrap/run_clock.h"
#include "adapters/wrap/run_state.h"
#include "adapters/wrap/stack_watch.h"
#include "adapters/wrap/unnamed_ranks.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::wrap {

struct RecorderSetup {
  std::filesystem::path directory;
  std::filesystem::path state;  // where old runs are removed from; empty: the journal is elsewhere
  std::string job, node;
  const WrapOptions* options = nullptr;
  RunClock clock;
  pid_t parent = 0;  // whose descendants are looked at
  unsigned restarts = 0;
  std::filesystem::path rings;  // where NCCL in the job's processes writes; empty: nowhere
  std::string nccl_note;        // why it does not; empty: it does
  int out = -1, err = -1;       // the command's bytes
  int control = -1;             // RunStates; its end: the parent has gone
  int ready = -1;               // receives one byte when the command may start
  RunState known;               // as it was when this recorder was started
  Legacy* legacy = nullptr;
};

// The recorder is the only writer of the journal: lines as they come, /proc once a second, coverage every ten, a beat a
// second, and at the end the exit status and the seal. If the parent dies it seals without an end: the exit status is
// then unknown. Runs in a process of its own, owned by it.
class Recorder {
 public:
  explicit Recorder(const RecorderSetup& setup);
  ~Recorder();
  int run();

 private:
  struct Rank {
    std::uint32_t rank = 0;
    pid_t pid = 0;                             // of the rank's process
    std::unique_ptr<ProcProbe> probe, worker;  // worker: where the process is a shell that waits for it
    bool coverage = true;                      // its output comes to us
    std::optional<ProcReading> reading{};      // the last; none: it has gone
    std::map<pid_t, std::uint64_t> below{};    // processes that it started, and their CPU ticks at the last look
    stream::Time below_at = stream::long_ago;
  };
  struct Stream {
    int descriptor = -1;
    bool error = false, open = false;
    LineSplitter lines;
  };

  void begin();
  void take_state();  // of the control socket
  void apply(const RunState& state);
  bool read(Stream& stream);  // true: there is more
  void second(stream::Time now);
  void sample(stream::Time now);
  void glance(stream::Time now);
  void find_ranks(stream::Time now);
  void tell_ranks(std::span<const RankFinder::Change> changes, stream::Time now);
  void look_for_lone_process(stream::Time now);
  void look_at_collectives();
  void look_at_stacks();
  void look_at_gpus();
  [[nodiscard]] std::optional<double> cpu_below(Rank& rank, stream::Time now) const;  // cores, since the last look
  void add_rank(std::uint32_t rank, pid_t pid);
  void drop_rank(const Rank& rank, stream::Time now);
  void coverage();
  void tell_dropped(stream::Time now);
  void beat();
  void finish();
  void tell_start(stream::Time now);  // of the attempt, or what is known of it since
  void about_attempt();               // the entry belongs to this attempt, by name
  void about_job();
  [[nodiscard]] schemas::EntryBuilder::Member member(std::uint32_t rank) const;
  [[nodiscard]] schemas::EntryBuilder::Member speaker() const;  // whose lines the command's are

  RecorderSetup setup_;
  Recording recording_;
  schemas::EntryBuilder entry_;
  Stream out_, err_;
  std::optional<ProcessTree> tree_;  // these two look around in /proc when the command runs already
  RankFinder finder_;
  UnnamedRanks unnamed_;
  LoneProcess lone_;
  GpuWatch gpus_;
  CollectiveWatch collectives_;
  StackWatch stacks_{setup_.directory, setup_.job, setup_.node};
  std::vector<Rank> ranks_;
  std::optional<HostMemory> memory_;
  Reload reload_;
  RunState state_;
  bool parent_gone_ = false;
  stream::Time next_second_, next_glance_ = stream::long_ago, next_look_ = stream::long_ago,
                             next_coverage_ = stream::long_ago, changed_;
  std::uint64_t dropped_reported_ = 0;
  unsigned glances_ = 0;
  std::vector<char> buffer_;
};

}  // namespace tocsin::adapters::wrap
