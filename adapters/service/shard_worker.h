#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "adapters/packs/pack_store.h"
#include "adapters/service/backend.h"
#include "adapters/service/reloader.h"
#include "adapters/service/service.h"
#include "stream/ports.h"

namespace tocsin::adapters::service {

// What the shards of an instance have in common.
struct Shared {
  Backend& backend;
  packs::PackStore& packs;
  const Reloader& rules;
  stream::ShardOptions options;
  Outlet* outlet;
  Log log;
};

// The shard of one partition, on a thread of its own: restores it, judges, and hands over.
// Owned by the service; its functions belong to the service's main thread.
class ShardWorker {
 public:
  ShardWorker(const Shared& shared, int partition);
  ~ShardWorker();  // as give_up

  // Hands over what there is, and ends.
  void drain();
  // Ends without a trace: the partition is another's.
  void give_up();
  // What it cannot go on from.
  [[nodiscard]] std::optional<stream::Error> failure() const;
  [[nodiscard]] bool has_jobs() const noexcept { return has_jobs_; }  // or does not know yet

 private:
  enum class Order { work, drain, give_up };
  void run();
  stream::Result<void> work();
  void finish(Order order);

  const Shared& shared_;
  const int partition_;
  std::atomic<Order> order_{Order::work};
  std::atomic<bool> has_jobs_{true};
  mutable std::mutex mutex_;  // of the failure
  std::optional<stream::Error> failure_;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tocsin::adapters::service
