#include "adapters/kafka/topics.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "adapters/kafka/client.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/topic_settings.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr int patience = 15'000;  // ms

using NewTopic = Owned<rd_kafka_NewTopic_t, &rd_kafka_NewTopic_destroy>;
using Resource = Owned<rd_kafka_ConfigResource_t, &rd_kafka_ConfigResource_destroy>;

struct Cluster {
  int brokers = 0;
  FoundTopics topics;
};

Result<Cluster> look(rd_kafka_t& client, const Address& address) {
  const auto metadata = metadata_of(client, address, std::chrono::milliseconds{patience});
  if (!metadata) return metadata.error();
  Cluster cluster;
  cluster.brokers = (*metadata)->broker_cnt;
  for (const TopicSettings& wanted : topic_settings())
    for (int i = 0; i < (*metadata)->topic_cnt; ++i) {
      const auto& topic = (*metadata)->topics[i];
      if (address.topic(wanted.name) != topic.topic || topic.partition_cnt == 0) continue;
      cluster.topics[topic.topic] = {topic.partition_cnt, topic.partitions[0].replica_cnt, {}};
    }
  return cluster;
}

// The controller has made them; the broker that is asked next knows of them a moment later.
Result<void> wait_until_known(rd_kafka_t& client, const Address& address, const std::vector<std::string>& names) {
  for (const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience};;) {
    const auto cluster = look(client, address);
    if (!cluster) return cluster.error();
    const auto missing =
        std::find_if(names.begin(), names.end(), [&](const auto& name) { return !cluster->topics.contains(name); });
    if (missing == names.end()) return {};
    if (std::chrono::steady_clock::now() >= until)
      return Error{Errc::io,
                   "topic " + *missing + " was made, and the broker at " + address.brokers + " does not know it yet"};
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
}

Result<Event> answer_of(rd_kafka_queue_t& queue, const std::string& what) {
  Event event{rd_kafka_queue_poll(&queue, patience + 1000)};
  if (!event) return Error{Errc::io, what + ": no answer in time"};
  if (const auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return Error{Errc::io, what + ": " + rd_kafka_event_error_string(event.get())};
  return event;
}

// Of the topics that are there. One of ours that is not may be there for others: whoever may not describe a topic does
// not see it.
Result<void> read_settings(rd_kafka_t& client, const Address& address, FoundTopics& topics) {
  std::vector<Resource> asked;
  std::vector<rd_kafka_ConfigResource_t*> list;
  for (const TopicSettings& wanted : topic_settings()) {
    asked.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, address.topic(wanted.name).c_str()));
    list.push_back(asked.back().get());
  }
  const Queue queue{rd_kafka_queue_new(&client)};
  rd_kafka_DescribeConfigs(&client, list.data(), list.size(), nullptr, queue.get());
  const auto event = answer_of(*queue, "the topics' settings cannot be read");
  if (!event) return event.error();
  std::size_t count = 0;
  const auto* const* resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event->get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = rd_kafka_ConfigResource_name(resources[i]);
    const auto code = rd_kafka_ConfigResource_error(resources[i]);
    if (lacks_permission(code))
      return Error{Errc::refused, "the settings of topic " + name +
                                      " cannot be read: the user needs Describe and DescribeConfigs on it, " +
                                      "as docs/operate.md lists them"};
    if (!topics.contains(name)) continue;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return Error{Errc::io, "the settings of topic " + name +
                                 " cannot be read: " + rd_kafka_ConfigResource_error_string(resources[i])};
    std::size_t entries = 0;
    const auto* const* configs = rd_kafka_ConfigResource_configs(resources[i], &entries);
    for (std::size_t e = 0; e < entries; ++e)
      if (const char* value = rd_kafka_ConfigEntry_value(configs[e]))
        topics[name].settings.insert_or_assign(rd_kafka_ConfigEntry_name(configs[e]), value);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> create_topics(const Address& address, const TopicShape& shape) {
  auto client = make_client(address, RD_KAFKA_PRODUCER, {});
  if (!client) return client.error();
  const auto cluster = look(**client, address);
  if (!cluster) return cluster.error();
  const int replication = shape.replication > 0 ? shape.replication : cluster->brokers >= 3 ? 3 : 1;
  if (replication > cluster->brokers)
    return Error{Errc::refused, "--replication " + std::to_string(replication) + ": the cluster at " + address.brokers +
                                    " has " + std::to_string(cluster->brokers) + " brokers; ask for at most as many"};
  const auto telemetry = cluster->topics.find(address.topic(topic::telemetry));
  const int partitions = telemetry == cluster->topics.end() ? shape.partitions : telemetry->second.partitions;
  if (shape.exactly && partitions != shape.partitions)
    return Error{Errc::refused, "--partitions " + std::to_string(shape.partitions) + ": topic " + telemetry->first +
                                    " has " + std::to_string(partitions) +
                                    ", which never change; more are a new prefix: kafka://HOST:PORT/PREFIX"};
  std::vector<NewTopic> made;
  std::vector<rd_kafka_NewTopic_t*> list;
  std::vector<std::string> names;
  for (const TopicSettings& wanted : topic_settings()) {
    const std::string name = address.topic(wanted.name);
    if (cluster->topics.contains(name)) continue;
    char why[512] = {};
    NewTopic topic{
        rd_kafka_NewTopic_new(name.c_str(), wanted.partitioned ? partitions : 1, replication, why, sizeof why)};
    if (!topic) return Error{Errc::malformed, "topic " + name + " cannot be made: " + why};
    for (const Setting& setting : wanted.settings)
      rd_kafka_NewTopic_set_config(topic.get(), std::string{setting.key}.c_str(),
                                   std::string{setting.made_with}.c_str());
    rd_kafka_NewTopic_set_config(topic.get(), "min.insync.replicas",
                                 std::to_string(least_in_sync(replication)).c_str());
    list.push_back(topic.get());
    made.push_back(std::move(topic));
    names.push_back(name);
  }
  if (list.empty()) return names;
  const Owned<rd_kafka_AdminOptions_t, &rd_kafka_AdminOptions_destroy> options{
      rd_kafka_AdminOptions_new(client->get(), RD_KAFKA_ADMIN_OP_CREATETOPICS)};
  char why[512] = {};
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), patience, why,
                                              sizeof why);  // until every broker knows them
  const Queue queue{rd_kafka_queue_new(client->get())};
  rd_kafka_CreateTopics(client->get(), list.data(), list.size(), options.get(), queue.get());
  const auto event = answer_of(*queue, "the topics cannot be made");
  if (!event) return event.error();
  std::size_t count = 0;
  const auto* const* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event->get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto code = rd_kafka_topic_result_error(results[i]);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;
    const char* text = rd_kafka_topic_result_error_string(results[i]);
    return Error{Errc::refused, std::string{"topic "} + rd_kafka_topic_result_name(results[i]) +
                                    " cannot be made: " + (text != nullptr ? text : rd_kafka_err2str(code)) + " (" +
                                    rd_kafka_err2name(code) + ")"};
  }
  if (auto known = wait_until_known(**client, address, names); !known) return known.error();
  return names;
}

Result<void> read_topic(const Address& address, std::string_view name,
                        const std::function<void(const TopicRecord&)>& take, std::chrono::milliseconds patience) {
  auto topic = TopicReader::open(address, name, TopicReader::Isolation::committed);
  if (!topic) return topic.error();
  const auto partitions = (*topic)->partitions(patience);
  if (!partitions) return partitions.error();
  for (int partition = 0; partition < *partitions; ++partition) {
    const auto read =
        PartitionReader{**topic, partition}.read_to_end(0, patience, [&](const Message& message) -> Result<bool> {
          take({partition, message.offset, message.key, message.value});
          return true;
        });
    if (!read) return read;
  }
  return {};
}

Result<std::vector<std::string>> check_topics(const Address& address) {
  auto client = make_client(address, RD_KAFKA_PRODUCER, {});
  if (!client) return client.error();
  auto cluster = look(**client, address);
  if (!cluster) return cluster.error();
  if (auto read = read_settings(**client, address, cluster->topics); !read) return read.error();
  return wrong_settings(address, cluster->topics);
}

}  // namespace tocsin::adapters::kafka
