#pragma once

#include <functional>
#include <string>

#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"
#include "adapters/runtime/disk_sink.h"
#include "stream/ports.h"

namespace tocsin::adapters::service {

struct ServiceOptions {
  kafka::Address kafka;
  kafka::GroupOptions group;
  stream::LoadedPack pack;
  runtime::Publish publish;                          // after the commit, by any of the shards' threads
  std::function<void(const std::string& line)> log;  // by any thread
  std::function<bool()> stop;                        // asked several times a second
};

// How it ended; a supervisor starts it again after `failed`, and need not after `refused`.
enum class Ended { drained = 0, refused = 2, failed = 3 };

// Joins the group, judges the partitions that it is given, and leaves when `stop` says so: what was judged is handed over first.
[[nodiscard]] Ended run_service(const ServiceOptions& options);

}  // namespace tocsin::adapters::service
