#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "adapters/kafka/appender.h"
#include "adapters/kafka/pack_history.h"
#include "adapters/kafka/transactor.h"
#include "adapters/packs/pack_store.h"
#include "adapters/service/reload_requests.h"
#include "adapters/service/rule_watch.h"
#include "adapters/service/service.h"

namespace tocsin::adapters::service {

// The rules that the logs of the cluster name, as this instance knows them. On a thread of its own it reads the
// configured directories again when somebody asks or a file changes, tries what is there, and announces it; and it
// follows what other instances announce. Owned by the service, before its shards; current() may be called by any
// thread.
class Reloader {
 public:
  struct Ports {
    kafka::Transactor& transactor;
    kafka::Appender& appender;
    packs::PackStore& packs;
  };
  // Announces the rules that are configured, unless the logs name them already or the cluster went back from them.
  static stream::Result<std::unique_ptr<Reloader>> start(const ServiceOptions& options, Ports ports);
  ~Reloader();  // stops

  // What the logs name by now.
  [[nodiscard]] stream::LoadedPack current() const;
  void stop();  // twice is harmless

 private:
  Reloader(const ServiceOptions& options, Ports ports, std::unique_ptr<kafka::PackHistory> history);
  stream::Result<void> begin();
  void run();
  stream::Result<Reloaded> reload(bool asked);
  stream::Result<stream::LoadedPack> load();
  stream::Result<void> announce(const stream::LoadedPack& pack);
  stream::Result<void> complete();
  stream::Result<void> open_announcements();
  stream::Result<void> follow();
  void succeeded(const std::string& what);
  void try_again();
  void show(stream::Time now);
  void publish();

  const ServiceOptions& options_;
  Ports ports_;
  std::unique_ptr<kafka::PackHistory> history_;
  RuleWatch watch_;
  RulesFigures figures_;        // as they are shown
  std::string follow_failure_;  // that was logged
  struct Unannounced {
    stream::LoadedPack pack;
    std::int64_t since = -1;  // the announcement that held then
  };
  std::optional<Unannounced> unannounced_;            // the brokers did not take it yet
  std::unique_ptr<kafka::Transactor> announcements_;  // its own: no shard waits for a large one
  mutable std::mutex mutex_;                          // of current_
  stream::LoadedPack current_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tocsin::adapters::service
