#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/notify/queue.h"
#include "adapters/notify/render.h"
#include "adapters/notify/router.h"
#include "adapters/notify/status.h"
#include "stream/ports.h"

namespace tocsin::adapters::notify {

struct NotifierOptions {
  std::vector<Receiver> receivers;  // completed, with names of their own
  Links links;
  std::string recording;       // the journal that alerts are in, for `tocsin explain`; empty: there is none
  std::filesystem::path root;  // messages that wait are below; empty: in memory
  std::string own;             // the name of the directory of this process there
  bool temporary = false;      // the directory is of one run, and removed with those of runs that have ended
  bool alone = false;          // no other instance tells of the same alerts; nobody has to permit
  Queue::Limits limits;
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds first_back_off{1000}, longest_back_off{600'000};
  // The last lines of a job, where they are at hand. Called by the notifier's thread.
  std::function<std::vector<std::string>(const std::string& job)> last_lines;
  // A line where sending to a receiver begins to fail, fails for another reason, or passes again, and where a message
  // is given up. Called by the notifier's thread.
  std::function<void(const std::string& line)> log;
};

// Tells people of alerts and of the ends of jobs. It works on a thread of its own; every function may be called by any
// thread, and none waits for the network or the disk.
class Notifier {
 public:
  // An error: the directory cannot be used.
  [[nodiscard]] static stream::Result<std::unique_ptr<Notifier>> start(NotifierOptions options);
  ~Notifier();  // sends nothing more; what waits stays on disk
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // A report that was kept (after the commit). `restored`: an alert that fires and was reported before.
  void report(Owner owner, const stream::Report& report, bool restored = false) noexcept;
  // The owner's reports may be notified until then. Each commit extends it.
  void permit(Owner owner, std::chrono::steady_clock::time_point until) noexcept;
  // They are another instance's now.
  void withdraw(Owner owner) noexcept;

  // Sends what waits without waiting for its group, at most so long. Messages that are left, on disk if it takes them.
  std::size_t drain(std::chrono::milliseconds at_most);
  [[nodiscard]] NotifierStatus status() const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept;  // of this process's directory; empty: in memory

 private:
  struct State;
  explicit Notifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::notify
