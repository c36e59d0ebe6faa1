#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "adapters/trace/tracer.h"
#include "adapters/wrap/printed_once.h"
#include "adapters/wrap/process_tree.h"
#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Which collectives the ranks of this node have entered and completed: by the tracer, and by our plugin in NCCL. Where
// there can be no tracer, it says so once, when a job of several ranks runs. Owned by the Recorder.
class CollectiveWatch {
 public:
  ~CollectiveWatch();

  // `rings`: the directory in which our plugin writes; empty: nowhere. `note`: a line for the user, of jobs with GPUs.
  void begin(std::filesystem::path rings, std::string note) { rings_ = std::move(rings), note_ = std::move(note); }
  // Once a second; the first time it loads the tracer. `ranks`: of this node, with the process that does a rank's work.
  void look(const std::unordered_map<pid_t, Process>& processes, const std::map<pid_t, std::uint32_t>& ranks,
            stream::Time now);
  // What the last look saw.
  void write(schemas::EntryBuilder& entry, stream::Time now, const std::string& node) const;
  // For how long a rank has been in a collective, or has entered none, longer than it usually does; 0: all go on.
  [[nodiscard]] stream::Duration longest_standing(stream::Time now) const;

 private:
  void load_tracer();
  void look_at_nccl(const std::map<pid_t, std::uint32_t>& ranks);
  void write_awaited(schemas::EntryBuilder& entry, stream::Time now, const std::string& node) const;
  // Before 6.6 Linux takes some 50 ms to remove each probe when its last descriptor is closed. A process that outlives
  // us closes them, so that nobody waits for it.
  void leave_probes();

  std::filesystem::path rings_;
  std::string note_;  // not printed yet
  bool looked_ = false;
  std::unique_ptr<trace::Tracer> tracer_;
  std::string why_not_;  // not printed yet
  PrintedOnce printed_{8};
  std::map<std::uint32_t, trace::ProcessTrace> ranks_;
  std::set<std::uint32_t> uncalled_;  // ranks that have called nothing that is probed: they hold no GPU
  struct Entered {
    std::uint64_t count = 0;
    stream::Time since{};
    stream::Duration usual{};  // the longest from one collective to the next; it fades
  };
  std::map<std::uint32_t, Entered> entered_;  // how many collectives each rank has
};

}  // namespace tocsin::adapters::wrap
