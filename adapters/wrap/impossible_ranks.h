#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/wrap/process_tree.h"

namespace tocsin::adapters::wrap {

// The processes whose variables name a rank beyond their world size, some seconds after their start: not a shell, which
// may yet start a launcher, nor a program that starts ranks, nor what such a process has started.
[[nodiscard]] std::vector<const Process*> impossible_ranks(const std::unordered_map<pid_t, Process>& processes);
// What is wrong with one of them, and what to do.
[[nodiscard]] std::string why_no_rank(const Process& process);

// "process 4711 (python3 train.py)".
[[nodiscard]] std::string name_of(const Process& process);
// Whether the process is the other one or was started below it.
[[nodiscard]] bool is_below(const std::unordered_map<pid_t, Process>& processes, pid_t pid, pid_t other);

}  // namespace tocsin::adapters::wrap
