#pragma once

#include <cstdint>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// When the process began, in ticks since boot: with the pid it names a process. 0: it has gone.
[[nodiscard]] std::uint64_t start_of(pid_t pid);

// What the kernel shows of a process: the state of each thread, the system call that it is in, the function that it
// sleeps in, and, for root, the frames within the kernel. May block where the process is in uninterruptible sleep:
// called in a process that nobody waits for.
[[nodiscard]] ProcessStack kernel_view(pid_t pid);

// Adds to the threads of `stack` what the kernel shows of them, and those that run or are in uninterruptible sleep.
void add_kernel_view(ProcessStack& stack, const ProcessStack& kernel);

}  // namespace tocsin::adapters::evidence
