#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/ingest/placement.h"
#include "adapters/kafka/appender.h"
#include "adapters/kafka/partition_reader.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka_service {

// The topic that says which jobs are on which nodes: a key a node and job, and when it was seen there last; and a key a
// job that the scheduler started, with its nodes. Each instance that ingests writes what it sees, and reads all of it.
// Owned by the role that ingests, and touched by its thread alone.
class PlacementTopic {
 public:
  using Places =
      std::vector<std::pair<std::string, std::string>>;  // nodes and jobs; without a node, the job's allocation

  // Reads it from its beginning.
  static stream::Result<std::unique_ptr<PlacementTopic>> open(const kafka::Address& address, kafka::Appender& appender);

  // What was written by all since the last time; the first time, all of it.
  stream::Result<void> read(ingest::Placement& to, stream::Time now);
  stream::Result<void> write(const ingest::Placement& from, const Places& placed, const Places& left);
  // Takes out what is long ago, once a minute.
  stream::Result<void> forget(ingest::Placement& from, stream::Time now);

 private:
  explicit PlacementTopic(std::unique_ptr<kafka::TopicReader> topic, kafka::Appender& appender)
      : topic_(std::move(topic)), reader_(*topic_, 0), appender_(&appender) {}

  stream::Result<void> write_allocation(const ingest::Placement& from, const std::string& job);

  std::unique_ptr<kafka::TopicReader> topic_;
  kafka::PartitionReader reader_;
  kafka::Appender* appender_;
  bool read_ = false;  // to its end, once
  stream::Time forgot_ = stream::long_ago;
};

}  // namespace tocsin::adapters::kafka_service
