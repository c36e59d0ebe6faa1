#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "adapters/wrap/job_report.h"
#include "adapters/wrap/line_splitter.h"
#include "adapters/wrap/lone_process.h"
#include "adapters/wrap/printed_once.h"
#include "adapters/wrap/rank_watch.h"
#include "adapters/wrap/recording.h"
#include "adapters/wrap/reload.h"
#include "adapters/wrap/run_clock.h"
#include "adapters/wrap/run_state.h"
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
  void find_ranks(stream::Time now);
  void look_for_lone_process(stream::Time now);
  void cover(stream::Time now);
  void tell_dropped(stream::Time now);
  void finish();
  [[nodiscard]] schemas::EntryBuilder::Member speaker() const;  // whose lines the command's are

  RecorderSetup setup_;
  Recording recording_;
  JobReport report_;
  Stream out_, err_;
  std::optional<Descendants> kin_;  // these look around in /proc when the command runs already
  std::optional<ProcessTree> tree_;
  std::optional<RankWatch> watch_;
  UnnamedRanks unnamed_;
  LoneProcess lone_;
  PrintedOnce printed_{8};
  Reload reload_;
  RunState state_;
  bool parent_gone_ = false;
  stream::Time next_second_;
  std::uint64_t dropped_reported_ = 0;
  std::vector<char> buffer_;
};

}  // namespace tocsin::adapters::wrap
