#pragma once

#include <string_view>
#include <vector>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// What CPython's faulthandler printed of the main thread, innermost frame first. Empty: it has printed nothing, or the
// stack of another thread.
[[nodiscard]] std::vector<Frame> frames_of_faulthandler(std::string_view text);

// Has a process print the stack of its main thread with faulthandler, if it has loaded tocsin_stacks.py, and reads it.
// Blocks: at most a second. Nothing is sent to a process that does not catch the signal for this purpose: a stopped
// process, a forked child, a program that came by exec, another process under the pid. False: the reason is added to
// the error, if the process offers this at all.
[[nodiscard]] bool take_by_faulthandler(ProcessStack& stack);

}  // namespace tocsin::adapters::evidence
