#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/packs/pack_store.h"
#include "adapters/service/backend.h"
#include "adapters/service/pack_history.h"
#include "adapters/service/reload_requests.h"
#include "adapters/service/reloader.h"
#include "adapters/service/service.h"

namespace tocsin::adapters::service {

// Notices that the rules in some directories have changed: files that are written, renamed or removed, and links that
// lead elsewhere, as the ones that Kubernetes swaps. It looks at names, sizes, inodes and times, and so works on every
// file system. Owned by the Reloader; touched by its thread alone.
class RuleWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds settles{1000};
  explicit RuleWatch(std::vector<std::filesystem::path> directories);

  // Looks now. True once for each change, when nothing has changed any more for a second.
  [[nodiscard]] bool changed(Clock::time_point now);
  // What stands there now; and that it was read, so that it is no change any more.
  [[nodiscard]] std::string seen() const;
  void has_read(std::string seen) { read_ = last_ = std::move(seen); }

 private:
  std::vector<std::filesystem::path> directories_;
  std::string read_, last_;
  Clock::time_point since_{};  // `last_` is what stands there
};

// The rules that the logs of the cluster name, as this instance knows them. On a thread of its own it reads the
// configured directories again when somebody asks or a file changes, tries what is there, and announces it; and it
// follows what other instances announce. Owned by the service, before its shards; current() may be called by any
// thread.
class Reloader {
 public:
  struct Ports {
    PackRecords& records;
    Appender& appender;
    packs::PackStore& packs;
  };
  // Announces the rules that are configured, unless the logs name them already or the cluster went back from them.
  static stream::Result<std::unique_ptr<Reloader>> start(const ServiceOptions& options, Ports ports);
  ~Reloader();  // stops

  // What the logs name by now.
  [[nodiscard]] stream::LoadedPack current() const;
  void stop();  // twice is harmless

 private:
  Reloader(const ServiceOptions& options, Ports ports);
  stream::Result<void> begin();
  void run();
  stream::Result<Reloaded> reload(bool asked);
  stream::Result<stream::LoadedPack> load();
  stream::Result<void> announce(const stream::LoadedPack& pack);
  stream::Result<void> complete();
  stream::Result<void> follow();
  void succeeded(const std::string& what);
  void try_again();
  void show(stream::Time now);
  void publish();

  const ServiceOptions& options_;
  Ports ports_;
  PackHistory history_;
  RuleWatch watch_;
  RulesFigures figures_;        // as they are shown
  std::string follow_failure_;  // that was logged
  struct Unannounced {
    stream::LoadedPack pack;
    std::int64_t since = -1;  // the announcement that held then
  };
  std::optional<Unannounced> unannounced_;  // the log did not take it yet
  mutable std::mutex mutex_;                // of current_
  stream::LoadedPack current_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tocsin::adapters::service
