#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/ingest/mapping.h"
#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"
#include "adapters/prometheus/figures.h"
#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka_service {

struct IngestOptions {
  kafka::Address kafka;
  kafka::GroupOptions group;
  std::vector<ingest::Source> sources;
  ingest::NodeMap nodes;
  std::function<stream::PackPtr()> pack;             // whose rules of the cluster are in force, by any thread
  std::function<void(const std::string& line)> log;  // by the role's thread
  std::function<void(std::vector<prometheus::SourceFigures> figures)> show;  // once a second, by the role's thread
};

// The role `ingest`: reads topics of other programs, and appends what their messages mean to the telemetry topic, keyed
// by job, with a watermark for each partition that it reads. What names a node and no job goes to the jobs there, by
// the topic `placement`. A position is committed once all before it is on the brokers; what is appended again after a
// restart has its old numbers, by which the engine knows it.
// Owned by the service's command; works on a thread of its own from its construction on.
class IngestRole {
 public:
  explicit IngestRole(IngestOptions options);
  ~IngestRole();  // as stop()

  // Ends once what was read is on the brokers, or was waited for long enough.
  void begin_to_stop() noexcept { stopping_ = true; }
  void stop();  // and waits for that
  // What it cannot go on from.
  [[nodiscard]] std::optional<stream::Error> failure() const;

 private:
  void run();

  const IngestOptions options_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // of the failure
  std::optional<stream::Error> failure_;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tocsin::adapters::kafka_service
