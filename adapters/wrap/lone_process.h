#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "adapters/wrap/process_tree.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// Where no process calls itself a rank: the one that does the command's work. That is the command, or, as long as a process only waits
// and exactly one of its children is at work, that child. Nobody, where several children work beneath one that waits (they may be ranks
// that nobody named), and where nothing works (a client of work that is done elsewhere).
// Owned by the Recorder.
class LoneProcess {
 public:
  // At least some seconds apart; known from the second look on.
  [[nodiscard]] std::optional<pid_t> look(const std::unordered_map<pid_t, Process>& processes, pid_t command, stream::Time now);

 private:
  struct Seen {
    std::uint64_t start = 0, cpu_ticks = 0;
  };
  std::unordered_map<pid_t, Seen> before_;
  stream::Time looked_ = stream::long_ago;
};

// Whether a command line (as /proc/PID/cmdline has it, NUL after each word) is a launcher's: its work is to start ranks.
[[nodiscard]] bool launches_ranks(std::string_view command_line);

}  // namespace tocsin::adapters::wrap
