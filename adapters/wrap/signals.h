#pragma once

#include <signal.h>

#include "adapters/wrap/descriptor.h"

namespace tocsin::adapters::wrap {

// The signals of the parent: blocked and read from a descriptor, so that none of them interrupts or ends it. What the
// command gets at its exec is the mask and the dispositions we were started with. Owned by the parent.
class Signals {
 public:
  Signals();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  struct Signal {
    int number = 0;
    bool from_terminal = false;  // sent by the kernel to the whole foreground group: the command has it already
  };
  [[nodiscard]] bool next(Signal& signal) const;

  void restore() const;             // in the command, before its exec
  void restore_for_helper() const;  // in a forked process of ours: nothing but SIGKILL ends it from outside

 private:
  Descriptor descriptor_;
  sigset_t inherited_{};
  struct sigaction inherited_child_ {};
};

// Ends this process as the command ended: with its code, or by its signal, without a second core file.
[[noreturn]] void die_by_signal(int signal);

// Stops this process as a terminal's Ctrl-Z would; returns when it is continued.
void stop_self();

}  // namespace tocsin::adapters::wrap
