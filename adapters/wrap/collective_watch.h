#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "adapters/trace/tracer.h"
#include "adapters/wrap/process_tree.h"
#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Which collectives the ranks of this node have entered and completed, by the tracer. Where there can be none, it says
// so once, when a job of several ranks runs. Owned by the Recorder.
class CollectiveWatch {
 public:
  ~CollectiveWatch();

  // As soon as the command runs: a library is attached to before it is first called.
  void start();
  // Once a second. `ranks`: of this node, with the process that does a rank's work.
  void look(const std::unordered_map<pid_t, Process>& processes, const std::map<pid_t, std::uint32_t>& ranks);
  // What the last look saw.
  void write(schemas::EntryBuilder& entry, stream::Time now, const std::string& node) const;
  // How long a collective of these ranks has been open; 0: none is.
  [[nodiscard]] stream::Duration longest_open() const;

 private:
  // The kernel takes some 50 ms to remove a probe, when its last descriptor is closed. A process that outlives us
  // closes them, so that nobody waits for it.
  void leave_probes();

  std::unique_ptr<trace::Tracer> tracer_;
  std::string why_not_;  // not printed yet
  std::map<std::uint32_t, trace::ProcessCollectives> ranks_;
};

}  // namespace tocsin::adapters::wrap
