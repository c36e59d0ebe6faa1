#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"

// Our topics in a cluster. Each call connects, asks and disconnects; any thread may call.
namespace tocsin::adapters::kafka {

struct TopicShape {
  int partitions = 12;
  bool exactly = false;  // an error where the telemetry topic is there with another number
  int replication = 0;   // 0: three where there are as many brokers, else one
};
// Makes those that are not there, with the right settings; those that are there stay as they are. The names that were
// made.
stream::Result<std::vector<std::string>> create_topics(const Address& address, const TopicShape& shape);

// What of a topic is committed, partition by partition, up to its end now.
struct TopicRecord {
  int partition = 0;
  std::int64_t offset = 0;
  std::string_view key;
  std::span<const std::byte> value;
};
// An error where the brokers send nothing for as long as `patience` before its end.
stream::Result<void> read_topic(const Address& address, std::string_view name,
                                const std::function<void(const TopicRecord&)>& take,
                                std::chrono::milliseconds patience = std::chrono::seconds{15});

// What is wrong with them, one line each; an error where the cluster does not answer.
stream::Result<std::vector<std::string>> check_topics(const Address& address);

}  // namespace tocsin::adapters::kafka
