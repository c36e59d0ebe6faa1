#include "adapters/wrap/lone_process.h"

#include <unistd.h>

#include <algorithm>

namespace tocsin::adapters::wrap {

namespace {

constexpr stream::Duration between_looks = std::chrono::seconds{4};
constexpr double at_work = 0.05;  // of a core, since the last look
constexpr double worked = 2;      // seconds of CPU: more than a client takes to connect

// In the middle of its work, however little that was.
bool stopped(const Process& process) { return process.state == 'T' || process.state == 't'; }

}  // namespace

std::optional<pid_t> LoneProcess::look(const std::unordered_map<pid_t, Process>& processes, pid_t command,
                                       stream::Time now) {
  if (looked_ != stream::long_ago && now - looked_ < between_looks) return std::nullopt;
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double seconds = looked_ == stream::long_ago ? 0 : stream::seconds(now - looked_);
  std::unordered_map<pid_t, Seen> seen;
  std::unordered_map<pid_t, double> own, with_children;  // cores
  for (const auto& [pid, process] : processes) {
    seen[pid] = {process.start, process.cpu_ticks};
    if (seconds == 0) continue;
    const auto before = before_.find(pid);
    const std::uint64_t from =
        before != before_.end() && before->second.start == process.start ? before->second.cpu_ticks : 0;
    const double cores = stopped(process)           ? at_work
                         : process.cpu_ticks > from ? static_cast<double>(process.cpu_ticks - from) * tick / seconds
                                                    : 0;
    own[pid] = cores;
    for (auto at = processes.find(pid); at != processes.end(); at = processes.find(at->second.parent))
      with_children[at->first] += cores;
  }
  before_ = std::move(seen);
  looked_ = now;

  for (pid_t at = command; own.contains(at);) {
    if (own[at] >= at_work) {
      const bool much = static_cast<double>(processes.at(at).cpu_ticks) * tick >= worked;
      return much || stopped(processes.at(at)) ? std::optional{at} : std::nullopt;
    }
    pid_t next = 0;
    for (const auto& [pid, process] : processes) {
      if (process.parent != at || with_children[pid] < at_work) continue;
      if (next != 0) return std::nullopt;
      next = pid;
    }
    at = next;
  }
  return std::nullopt;
}

}  // namespace tocsin::adapters::wrap
