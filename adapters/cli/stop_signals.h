#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace tocsin::adapters::cli {

// SIGTERM and SIGINT of a service, on a thread of their own, so that they count wherever the others wait. The first
// asks it to end, and from then on nobody waits for brokers longer than fifteen seconds. The second ends it at once,
// and so does the time, where something waits in spite of all that: what is committed stays, and a new start goes on
// from there. Owned by the command, before all other threads: each has these signals blocked from here on.
class StopSignals {
 public:
  // `log`: what is logged where the process is ended so; by this thread.
  explicit StopSignals(std::function<void(const std::string& line)> log);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] bool asked() const noexcept { return asked_; }

 private:
  void run();

  std::function<void(const std::string& line)> log_;
  sigset_t signals_{};
  std::atomic<bool> asked_{false}, over_{false};
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tocsin::adapters::cli
