#include "adapters/kafka/topic_settings.h"

#include <doctest/doctest.h>

using namespace tocsin::adapters::kafka;

namespace {

const Address address{"broker:9092", "tocsin", {}};

// The topics as `create` makes them.
FoundTopics made(int partitions, int replicas) {
  FoundTopics topics;
  for (const auto& wanted : topic_settings()) {
    FoundTopic topic{wanted.partitioned ? partitions : 1, replicas, {}};
    for (const auto& setting : wanted.settings) topic.settings[std::string{setting.key}] = setting.made_with;
    topic.settings["min.insync.replicas"] = std::to_string(least_in_sync(replicas));
    topics[address.topic(wanted.name)] = topic;
  }
  return topics;
}

std::string only(const FoundTopics& topics) {
  const auto wrong = wrong_settings(address, topics);
  REQUIRE(wrong.size() == 1);
  return wrong.front();
}

}  // namespace

TEST_CASE("topics as they are made have nothing wrong with them") {
  for (const int replicas : {1, 2, 3, 5}) CHECK(wrong_settings(address, made(12, replicas)).empty());
}

TEST_CASE("each setting that a topic needs is refused where it is another, with the command that mends it") {
  for (const auto& wanted : topic_settings())
    for (const auto& setting : wanted.settings) {
      if (setting.need == Setting::Need::any) continue;
      auto topics = made(3, 1);
      const std::string name = address.topic(wanted.name), key{setting.key};
      topics[name].settings[key] = setting.need == Setting::Need::exactly ? "another" : "17";
      CAPTURE(name);
      CAPTURE(key);
      const std::string line = only(topics);
      CHECK(line.starts_with("topic " + name + ": " + key + " is " + topics[name].settings[key] + ", it must be "));
      CHECK(line.ends_with(
          "fix it: kafka-configs.sh --bootstrap-server broker:9092 --alter --entity-type topics --entity-name " + name +
          " --add-config " + key + "=" + std::string{setting.made_with}));
    }
}

TEST_CASE("the state is made with small segments, and does with any") {
  auto topics = made(3, 1);
  auto& settings = topics["tocsin.state"].settings;
  CHECK(settings["segment.bytes"] == "33554432");
  settings["segment.bytes"] = "1073741824";
  CHECK(wrong_settings(address, topics).empty());
}

TEST_CASE("a limit may be larger, or none, but not a word") {
  auto topics = made(3, 1);
  auto& settings = topics["tocsin.telemetry"].settings;
  for (const char* value : {"3600000", "3600001", "-1"}) {
    settings["retention.ms"] = value;
    CHECK(wrong_settings(address, topics).empty());
  }
  for (const char* value : {"3599999", "-2", "", "week"}) {
    settings["retention.ms"] = value;
    CHECK(only(topics).find("it must be at least 3600000") != std::string::npos);
  }
}

TEST_CASE("a topic that is not there is named with the command that makes it") {
  auto topics = made(3, 1);
  topics.erase("tocsin.packs");
  CHECK(only(topics) == "topic tocsin.packs does not exist; make it: tocsin topics create --kafka broker:9092");
}

TEST_CASE("as many records must be on other brokers as keep them, and no more than there are") {
  auto topics = made(3, 3);
  topics["tocsin.state"].settings["min.insync.replicas"] = "1";
  CHECK(only(topics).find("min.insync.replicas is 1, it must be 2 or more with 3 replicas") != std::string::npos);
  topics["tocsin.state"].settings["min.insync.replicas"] = "4";
  CHECK(only(topics).find("min.insync.replicas is 4, it must be 2 to 3 with 3 replicas") != std::string::npos);
}

TEST_CASE("the state has a partition for each of the telemetry") {
  auto topics = made(3, 1);
  topics["tocsin.state"].partitions = 2;
  CHECK(only(topics) ==
        "topic tocsin.state: the number of partitions is 2, it must be 3, as of tocsin.telemetry; fix it: "
        "kafka-topics.sh "
        "--bootstrap-server broker:9092 --alter --topic tocsin.state --partitions 3");
  topics["tocsin.state"].partitions = 4;
  CHECK(only(topics).ends_with("use another prefix: tocsin topics create --kafka broker:9092/tocsin2 --partitions 3"));
}
