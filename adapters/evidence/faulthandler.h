#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// What CPython's faulthandler printed of the threads of a process. `main`: the identity of its main thread, the only
// one that gets a tid, since nothing printed tells those of the others.
[[nodiscard]] std::vector<ThreadStack> threads_of_faulthandler(std::string_view text, std::uint64_t main, pid_t pid);

// Has a process print its stacks with faulthandler, if it has tocsin_stacks.py loaded, and reads them. Blocks: at most
// a second. Nothing is sent to a process that does not catch the signal for this purpose: a stopped process, a forked
// child, a program that came by exec, another process under the pid. False: the reason is added to the error, if the
// process offers this at all.
[[nodiscard]] bool take_by_faulthandler(ProcessStack& stack);

}  // namespace tocsin::adapters::evidence
