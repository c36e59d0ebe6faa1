#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/kafka/address.h"
#include "adapters/kafka/appender.h"
#include "adapters/kafka/group.h"
#include "adapters/kafka/kafka_sink.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/transactor.h"
#include "adapters/service/backend.h"

namespace tocsin::adapters::kafka_service {

// Appends to the telemetry topic.
class TelemetryAppender final : public service::Appender {
 public:
  static stream::Result<std::unique_ptr<service::Appender>> open(const kafka::Address& address);
  explicit TelemetryAppender(std::unique_ptr<kafka::Appender> appender) : appender_(std::move(appender)) {}

  [[nodiscard]] stream::Result<int> partitions(std::chrono::milliseconds wait) const override;
  stream::Result<void> append(int partition, std::string_view key, std::span<const std::byte> value) override;
  stream::Result<bool> flush(std::chrono::milliseconds wait) override { return appender_->flush(wait); }
  [[nodiscard]] std::size_t waiting() const noexcept override { return appender_->waiting(); }

 private:
  std::unique_ptr<kafka::Appender> appender_;
};

// The topic `packs`. Writes in transactions of its own: no shard waits for a large one.
class PacksTopic final : public service::PackRecords {
 public:
  // `writer`: the name of the transactions, which begin with the first write.
  static stream::Result<std::unique_ptr<PacksTopic>> open(const kafka::Address& address, std::string writer);

  [[nodiscard]] std::string name() const override { return topic_->topic(); }
  stream::Result<void> read(std::int64_t from, const std::function<void(const Record&)>& visit) override;
  stream::Result<void> write(std::span<const Outgoing> records) override;

 private:
  PacksTopic(const kafka::Address& address, std::string writer, std::unique_ptr<kafka::TopicReader> topic)
      : address_(address), writer_(std::move(writer)), topic_(std::move(topic)) {}

  const kafka::Address address_;
  const std::string writer_;
  std::unique_ptr<kafka::TopicReader> topic_;
  std::unique_ptr<kafka::Transactor> transactor_;
};

struct BackendOptions {
  kafka::Address address;
  kafka::GroupOptions group;
  std::uint64_t queue_bytes = 16u << 20;  // of a partition, fetched and not judged yet
  std::string pack;                       // the hash of the configured rules
  std::function<void(const std::string& line)> warn;
};

// A Kafka cluster under the service: its instances share the partitions of the telemetry topic as a consumer group, and
// reports, state and position are one transaction. For a cluster that check_cluster() accepts.
class KafkaBackend final : public service::Backend {
 public:
  static stream::Result<std::unique_ptr<service::Backend>> open(BackendOptions options);

  service::Appender& appender() override { return *appender_; }
  service::PackRecords& packs() override { return *packs_; }
  stream::Result<std::unique_ptr<service::Membership>> join(service::Membership::Listener& listener) override;
  stream::Result<std::unique_ptr<service::Partition>> partition(PartitionOptions options) override;
  [[nodiscard]] bool beats_without_jobs() const override { return true; }
  [[nodiscard]] std::chrono::milliseconds owned_for() const override { return options_.group.owned_for(); }

 private:
  explicit KafkaBackend(BackendOptions options) : options_(std::move(options)) {}
  stream::Result<void> begin();

  const BackendOptions options_;
  std::unique_ptr<service::Appender> appender_;
  std::unique_ptr<kafka::TopicReader> telemetry_, state_;
  std::unique_ptr<kafka::Transactor> transactor_;
  std::unique_ptr<PacksTopic> packs_;
  kafka::ReportTopics topics_;
  const kafka::Group* group_ = nullptr;  // as long as its membership lasts
};

// Whether a broker answers, and the topics are there with the settings that they must have; else the first fault and
// its remedy.
[[nodiscard]] stream::Result<void> check_cluster(const kafka::Address& address);

}  // namespace tocsin::adapters::kafka_service
