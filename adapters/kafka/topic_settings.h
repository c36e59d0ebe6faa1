#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/kafka/address.h"

// What our topics are for, and the settings without which they do not serve.
namespace tocsin::adapters::kafka {

namespace topic {
inline constexpr std::string_view telemetry = "telemetry", alerts = "alerts", verdicts = "verdicts",
                                  state = "state", packs = "packs", placement = "placement",
                                  unattributed = "unattributed";
}  // namespace topic

struct Setting {
  enum class Need { exactly, at_least, any };  // of a number, -1 is without limit
  std::string_view key;
  Need need;
  std::string_view made_with;  // what `create` sets
  std::string_view least;      // what will do
};

struct TopicSettings {
  std::string_view name;  // behind the prefix
  bool partitioned;       // it has as many partitions as there are shards; else one
  std::span<const Setting> settings;
};
[[nodiscard]] std::span<const TopicSettings> topic_settings();

// A topic as the cluster has it.
struct FoundTopic {
  int partitions = 0, replicas = 0;
  std::map<std::string, std::string, std::less<>> settings;
};
using FoundTopics = std::map<std::string, FoundTopic, std::less<>>;  // by full name

// Of a new topic with so many replicas, on how many of them a record must be before it counts as written.
[[nodiscard]] int least_in_sync(int replicas);

// What is wrong with the topics, one line each: which topic, which setting, what it is, what it must be, and the
// command that mends it.
[[nodiscard]] std::vector<std::string> wrong_settings(const Address& address, const FoundTopics& found);

}  // namespace tocsin::adapters::kafka
