#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "adapters/evidence/stacks.h"

namespace tocsin::adapters::evidence {

// What `py-spy dump --json` printed of a process. Nothing where it is another form.
[[nodiscard]] std::optional<std::vector<ThreadStack>> threads_of_py_spy(std::string_view json, pid_t pid);
// What `gdb -batch -ex "thread apply all bt"` printed.
[[nodiscard]] std::vector<ThreadStack> threads_of_gdb(std::string_view text, pid_t pid);

// Takes the stack of one process in the best way that works here; the kernel's view is added in each case. Blocks: for
// a process of its own. `also_gdb`: gdb stops the process for about a second while it looks.
[[nodiscard]] ProcessStack take_stack(pid_t pid, bool also_gdb);

}  // namespace tocsin::adapters::evidence
