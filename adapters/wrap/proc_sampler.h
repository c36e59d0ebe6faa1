#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/wrap/descriptor.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// What /proc shows of one process. Absent (empty) is what cannot be known: a share at the first look, waits that we may
// not see.
struct ProcReading {
  std::optional<double> cpu;      // cores that it and its threads used since the last look
  std::string_view state;         // running sleeping disk_sleep stopped zombie traced
  std::string_view wait_syscall;  // the system call that its main thread sleeps in; "none": it does not
  std::string_view wait_channel;  // the kernel's function that it sleeps in; "none": it does not
  double resident_bytes = 0;
  std::optional<double>
      wait_share;  // of the glances since the last look: its main thread slept in a call that waits for others
  std::optional<double> exit_status;  // of a zombie: its code, or 128 and the signal
};

// One process under observation, through files of /proc that stay open: they never mean another process with the same
// pid. Owned by the Recorder.
class ProcProbe {
 public:
  explicit ProcProbe(pid_t pid);

  // Views are valid until the next call. Nothing: the process has gone.
  [[nodiscard]] std::optional<ProcReading> read(stream::Time now);
  // Several times a second, spread: whether it waits at this moment.
  void glance();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint64_t start() const noexcept { return start_; }  // 0: it had gone already

 private:
  void look_for_waits(bool sleeps, ProcReading& reading);

  pid_t pid_;
  Descriptor stat_, syscall_, wchan_;
  std::uint64_t start_ = 0, ticks_ = 0;
  stream::Time last_ = stream::long_ago;
  bool channel_seen_ = false;
  unsigned glances_ = 0, waits_ = 0;  // since the last look
  char syscall_text_[128] = {}, channel_text_[128] = {};
  std::string number_;
};

// Memory of this machine: of the control group of a process (0: ours) where it has a limit (version 2), else of the
// whole.
class HostMemory {
 public:
  explicit HostMemory(pid_t of = 0);
  struct Reading {
    double used = 0, limit = 0;  // bytes; what the kernel can take back at once does not count as used
  };
  [[nodiscard]] std::optional<Reading> read();

 private:
  Descriptor meminfo_, current_, stat_;
  double group_limit_ = 0;  // 0: none
};

}  // namespace tocsin::adapters::wrap
