#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "adapters/wrap/signals.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// How long to wait before the next start: doubled each time, and short again after a good while of work.
struct Backoff {
  stream::Duration first = std::chrono::milliseconds{100}, most = std::chrono::seconds{10};
  stream::Duration good = std::chrono::seconds{30};  // it ran this long: a later failure is a new one
};

// One of our two other processes, kept running: forked from the parent, restarted with back-off when it ends before its
// work is done. Owned by the parent, which passes it every child that it has waited for.
class Supervisor {
 public:
  // In the forked process: does its work and returns its exit code. `restarts` counts the earlier starts.
  using Main = std::function<int(unsigned restarts)>;

  // `keep`: descriptors that stay open in the process, besides 0 (null), 1 and 2 (both `notes`).
  Supervisor(std::string name, std::vector<int> keep, int notes, Main main, Backoff backoff = {});

  void start(const Signals& signals, stream::Time now);
  void poll(const Signals& signals, stream::Time now);  // starts it again if that is due
  [[nodiscard]] stream::Time due() const noexcept { return due_; }
  void hurry() noexcept {
    if (due_ != stream::never) due_ = stream::long_ago;
  }  // the end is near: no more back-off

  // True where `pid` was this process. Exit codes 0 and `refused` are final.
  bool ended(pid_t pid, int status, stream::Time now);
  [[nodiscard]] bool running() const noexcept { return pid_ > 0; }
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] bool succeeded() const noexcept { return succeeded_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] unsigned starts() const noexcept { return starts_; }
  void kill();  // past its time; it is not started again
  void set_keep(std::vector<int> keep) { keep_ = std::move(keep); }

  static constexpr int refused = 2;  // trying again cannot help

 private:
  std::string name_;
  std::vector<int> keep_;
  int notes_;
  Main main_;
  Backoff backoff_;
  stream::Duration wait_;
  pid_t pid_ = -1;
  unsigned starts_ = 0;
  stream::Time started_{}, due_ = stream::never;
  bool done_ = false, succeeded_ = false;
};

// Closes every descriptor above 2 but these.
void close_all_but(std::vector<int> keep);

}  // namespace tocsin::adapters::wrap
