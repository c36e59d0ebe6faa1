#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/signals.h"
#include "adapters/wrap/terminal.h"

namespace tocsin::adapters::wrap {

// The command while it runs. Without a pseudo-terminal it is our direct child in our process group. Where keys go
// through one, it runs in a session of its own, under a holder: a process that leads the session, so that Ctrl-Z stops
// the command (the kernel stops no orphaned group) and its last output survives its end (the kernel flushes a terminal
// whose leader goes). The holder reports what the result of waitpid, and stays until `hold` is closed. A stdout or
// stderr of ours that is not a terminal is a pipe. Owned by the parent.
struct Child {
  pid_t pid = -1;       // of the command itself
  Descriptor out, err;  // reading ends; invalid where the pseudo-terminal carries that stream
  Descriptor news;      // wait statuses from the holder, an int each
  Descriptor hold;
  Descriptor gate, report;  // it waits for a byte before its exec; and reports an error of the exec
  int exec_error = 0;       // errno of an exec that failed: the command ends with 127 (found, but cannot be run: 126)

  [[nodiscard]] bool started() const noexcept { return pid > 0; }
};

// What the command's environment has besides ours.
struct Environment {
  std::string modules;  // goes behind PYTHONPATH, unless it is empty or already there
  std::vector<std::pair<std::string, std::string>> variables;
};

// Forks, and leaves the command waiting at its gate: so that our preparations and the recorder's run side by side. The
// mask and dispositions are the ones we were started with. Not started: no process was to be had, its errno is in
// exec_error.
[[nodiscard]] Child prepare_child(const std::vector<std::string>& command, const Environment& added, Terminal& terminal,
                                  const Signals& signals);

// Opens the gate; returns when the command runs, or could not be.
void release(Child& child);

}  // namespace tocsin::adapters::wrap
