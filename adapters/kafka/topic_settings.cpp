#include "adapters/kafka/topic_settings.h"

#include <charconv>

namespace tocsin::adapters::kafka {
namespace {

using enum Setting::Need;

constexpr std::string_view hour = "3600000", day = "86400000", week = "604800000", month = "2592000000";
constexpr std::string_view mib_2 = "2097152", mib_8 = "8388608", mib_32 = "33554432";

// A log: its clock is the append time, and a restart reads back less than an hour.
constexpr Setting log_settings[] = {{"message.timestamp.type", exactly, "LogAppendTime", "LogAppendTime"},
                                    {"cleanup.policy", exactly, "delete", "delete"},
                                    {"retention.ms", at_least, week, hour},
                                    {"max.message.bytes", at_least, mib_8, mib_2}};
// What is kept by key, for ever; of the state, a restart reads also what is not compacted yet, up to a segment.
constexpr Setting state_settings[] = {{"message.timestamp.type", exactly, "LogAppendTime", "LogAppendTime"},
                                      {"cleanup.policy", exactly, "compact", "compact"},
                                      {"segment.bytes", any, mib_32, ""},
                                      {"max.message.bytes", at_least, mib_8, mib_2}};
constexpr Setting table_settings[] = {{"message.timestamp.type", exactly, "LogAppendTime", "LogAppendTime"},
                                      {"cleanup.policy", exactly, "compact", "compact"},
                                      {"max.message.bytes", at_least, mib_8, mib_2}};
constexpr Setting history_settings[] = {{"message.timestamp.type", exactly, "LogAppendTime", "LogAppendTime"},
                                        {"cleanup.policy", exactly, "delete", "delete"},
                                        {"retention.ms", at_least, month, day}};
constexpr Setting rest_settings[] = {{"message.timestamp.type", exactly, "LogAppendTime", "LogAppendTime"},
                                     {"cleanup.policy", exactly, "delete", "delete"},
                                     {"retention.ms", at_least, day, hour}};

constexpr TopicSettings all[] = {{topic::telemetry, true, log_settings},     {topic::alerts, true, history_settings},
                                 {topic::verdicts, true, history_settings},  {topic::state, true, state_settings},
                                 {topic::packs, false, table_settings},      {topic::placement, false, table_settings},
                                 {topic::unattributed, false, rest_settings}};

std::optional<long long> number(std::string_view text) {
  long long value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool will_do(const Setting& setting, std::string_view value) {
  if (setting.need == any) return true;
  if (setting.need == exactly) return value == setting.least;
  const auto has = number(value), least = number(setting.least);
  return has && (*has == -1 || *has >= *least);
}

std::string alter(const Address& address, std::string_view name, const std::string& setting) {
  return "kafka-configs.sh --bootstrap-server " + address.brokers + " --alter --entity-type topics --entity-name " +
         address.topic(name) + " --add-config " + setting;
}

std::string create(const Address& address) {
  return "tocsin topics create --kafka " + address.brokers +
         (address.prefix == Address{}.prefix ? "" : "/" + address.prefix);
}

}  // namespace

std::span<const TopicSettings> topic_settings() { return all; }

int least_in_sync(int replicas) { return replicas > 2 ? 2 : 1; }

std::vector<std::string> wrong_settings(const Address& address, const FoundTopics& found) {
  std::vector<std::string> problems;
  const auto telemetry = found.find(address.topic(topic::telemetry));
  for (const TopicSettings& wanted : all) {
    const std::string name = address.topic(wanted.name);
    const auto topic = found.find(name);
    if (topic == found.end()) {
      problems.push_back("topic " + name + " does not exist; make it: " + create(address));
      continue;
    }
    const auto wrong = [&](const std::string& what, const std::string& is, const std::string& must,
                           const std::string& command) {
      problems.push_back("topic " + name + ": " + what + " is " + is + ", it must be " + must + "; fix it: " + command);
    };
    for (const Setting& setting : wanted.settings) {
      const auto value = topic->second.settings.find(setting.key);
      if (value == topic->second.settings.end() || will_do(setting, value->second)) continue;
      const std::string key{setting.key}, must{setting.least};
      wrong(key, value->second, setting.need == exactly ? must : "at least " + must,
            alter(address, wanted.name, key + "=" + std::string{setting.made_with}));
    }
    if (const auto value = topic->second.settings.find("min.insync.replicas"); value != topic->second.settings.end()) {
      const auto has = number(value->second);
      const int least = least_in_sync(topic->second.replicas);
      if (!has || *has < least || *has > topic->second.replicas)
        wrong("min.insync.replicas", value->second,
              std::to_string(least) + (*has < least ? " or more" : " to " + std::to_string(topic->second.replicas)) +
                  " with " + std::to_string(topic->second.replicas) + " replicas",
              alter(address, wanted.name, "min.insync.replicas=" + std::to_string(least)));
    }
    if (wanted.name == topic::state && telemetry != found.end() &&
        topic->second.partitions != telemetry->second.partitions) {
      const std::string must = std::to_string(telemetry->second.partitions);
      wrong(
          "the number of partitions", std::to_string(topic->second.partitions), must + ", as of " + telemetry->first,
          topic->second.partitions < telemetry->second.partitions
              ? "kafka-topics.sh --bootstrap-server " + address.brokers + " --alter --topic " + name +
                    " --partitions " + must
              : "use another prefix: " + create({address.brokers, address.prefix + "2", {}}) + " --partitions " + must);
    }
  }
  return problems;
}

}  // namespace tocsin::adapters::kafka
