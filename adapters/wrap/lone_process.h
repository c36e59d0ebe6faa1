#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "adapters/wrap/process_tree.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Finds the process that does the command's work, if no process calls itself a rank. It is the command, or, as long as
// a process only waits and exactly one of its children is at work, that child. None, if several children work below one
// that waits (they can be ranks without a name), and if nothing works (a client of work that is done elsewhere). Owned
// by the Recorder.
class LoneProcess {
 public:
  // At least some seconds apart; known from the second call on.
  [[nodiscard]] std::optional<pid_t> look(const std::unordered_map<pid_t, Process>& processes, pid_t command,
                                          stream::Time now);

 private:
  struct Seen {
    std::uint64_t start = 0, cpu_ticks = 0;
  };
  std::unordered_map<pid_t, Seen> before_;
  stream::Time looked_ = stream::long_ago;
};

}  // namespace tocsin::adapters::wrap
