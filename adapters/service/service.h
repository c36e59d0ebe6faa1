#pragma once

#include <functional>
#include <string>

#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"
#include "adapters/prometheus/figures.h"
#include "stream/job/shard.h"
#include "stream/ports.h"

namespace tocsin::adapters::service {

// What goes on beyond the topics. Called by the shards' threads, and by the main thread.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void joined() = 0;                                              // the group: partitions can come from now on
  virtual void figures(const prometheus::PartitionFigures& figures) = 0;  // once a second, of each partition
  virtual void report(int partition, const stream::Report& report) = 0;   // it is committed
  virtual void committed(int partition) = 0;                              // the partition was this instance's just now
  virtual void withdraw(int partition) = 0;                               // it is not any more
};

struct ServiceOptions {
  kafka::Address kafka;
  kafka::GroupOptions group;
  stream::LoadedPack pack;
  stream::ShardOptions shard;
  Outlet* outlet = nullptr;                          // where reports go on to; none: nowhere
  std::function<void(const std::string& line)> log;  // by any thread
  std::function<bool()> stop;                        // asked several times a second
};

// How it ended; a supervisor starts it again after `failed`, and need not after `refused`.
enum class Ended { drained = 0, refused = 2, failed = 3 };

// Whether a broker answers, and the topics are there with the settings that they must have; else the first fault and its remedy.
[[nodiscard]] stream::Result<void> check_cluster(const kafka::Address& address);

// For a cluster that check_cluster() accepts: joins the group, judges the partitions that it is given, and leaves when `stop` says so: what was judged is handed over first.
[[nodiscard]] Ended run_service(const ServiceOptions& options);

}  // namespace tocsin::adapters::service
