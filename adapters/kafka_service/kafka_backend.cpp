#include "adapters/kafka_service/kafka_backend.h"

#include <span>
#include <utility>
#include <vector>

#include "adapters/kafka/kafka_log.h"
#include "adapters/kafka/kafka_state.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"

namespace tocsin::adapters::kafka_service {

using kafka::TopicReader;
using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto patience = 15s;

class GroupMembership final : public service::Membership {
 public:
  GroupMembership(Listener& listener, std::function<void(const std::string& line)> warn)
      : forwarding_(listener), warn_(std::move(warn)) {}
  Result<const kafka::Group*> join(const kafka::Address& address, const kafka::GroupOptions& options) {
    auto group = kafka::Group::join(address, options, forwarding_);
    if (!group) return group.error();
    group_ = std::move(*group);
    return group_.get();
  }

  Result<void> poll(std::chrono::milliseconds wait) override {
    if (auto went = group_->poll(wait); !went) return went;
    if (group_->contested() == contested_) return {};
    contested_ = !contested_;
    warn_(contested_ ? "the brokers have ended the membership of this instance: whether another one has its name shows "
                       "once the session is over"
                     : "no other instance has the name of this one: it joins the group again");
    return {};
  }
  // Another instance of the same name may cut off a commit before the group says so: it does with the next heartbeat. A
  // fenced instance loses its partitions.
  Result<void> confirm(const std::function<bool()>& stop) override {
    for (const auto until = Clock::now() + kafka::GroupOptions::name_known;
         Clock::now() < until || (group_->contested() && !stop());)
      if (auto went = group_->poll(100ms); !went) return went;
    return {};
  }
  [[nodiscard]] bool lost() const noexcept override { return group_->lost(); }
  void leave() override { group_->leave(); }

 private:
  class Forwarding final : public kafka::Group::Listener {
   public:
    explicit Forwarding(Membership::Listener& to) : to_(&to) {}
    void assigned(const std::vector<int>& partitions) override { to_->assigned(partitions); }
    void revoked(const std::vector<int>& partitions, bool lost) override { to_->revoked(partitions, lost); }

   private:
    Membership::Listener* to_;
  };
  Forwarding forwarding_;
  std::function<void(const std::string& line)> warn_;
  bool contested_ = false;
  std::unique_ptr<kafka::Group> group_;  // last: it calls the listener
};

class KafkaPartition final : public service::Partition {
 public:
  KafkaPartition(TopicReader& telemetry, TopicReader& state, kafka::Transactor& transactor, const kafka::Group& group,
                 kafka::ReportTopics topics, std::chrono::milliseconds owned_for,
                 service::Backend::PartitionOptions options)
      : telemetry_(telemetry),
        group_(group),
        partition_(options.partition),
        owned_for_(owned_for),
        state_(
            state, partition_, [this] { return group_.committed(partition_); }, std::move(options.stop)),
        sink_(transactor, group, state_, partition_, topics, std::move(options.publish)),
        log_(telemetry, partition_) {}

  stream::LogReader& log() override { return log_; }
  stream::BundleSink& sink() override { return sink_; }
  stream::SnapshotStore& state() override { return state_; }
  Result<std::optional<stream::Position>> committed() override { return group_.committed(partition_); }
  Result<std::optional<stream::PackText>> first_pack() override {
    auto found = kafka::first_pack(telemetry_, partition_);
    if (!found) return found.error();
    return *found ? std::optional{std::move((*found)->pack)} : std::nullopt;
  }
  [[nodiscard]] std::optional<stream::Position> kept() const override { return sink_.kept(); }
  [[nodiscard]] Clock::time_point owned_until() const override { return sink_.owned_at() + owned_for_; }
  [[nodiscard]] Figures figures() const override { return {log_.behind(), log_.queued_bytes(), log_.undecodable()}; }

 private:
  TopicReader& telemetry_;
  const kafka::Group& group_;
  const int partition_;
  const std::chrono::milliseconds owned_for_;
  kafka::KafkaState state_;
  kafka::KafkaSink sink_;
  kafka::KafkaLog log_;
};

}  // namespace

Result<std::unique_ptr<service::Appender>> TelemetryAppender::open(const kafka::Address& address) {
  auto appender = kafka::Appender::open(address);
  if (!appender) return appender.error();
  return std::unique_ptr<service::Appender>{std::make_unique<TelemetryAppender>(std::move(*appender))};
}

Result<int> TelemetryAppender::partitions(std::chrono::milliseconds wait) const {
  return appender_->partitions(kafka::topic::telemetry, wait);
}

Result<void> TelemetryAppender::append(int partition, std::string_view key, std::span<const std::byte> value) {
  return appender_->append(kafka::topic::telemetry, partition, key, value);
}

Result<std::unique_ptr<PacksTopic>> PacksTopic::open(const kafka::Address& address, std::string writer) {
  auto topic = TopicReader::open(address, kafka::topic::packs, TopicReader::Isolation::committed);
  if (!topic) return topic.error();
  if (const auto partitions = (*topic)->partitions(patience); !partitions) return partitions.error();
  return std::unique_ptr<PacksTopic>{new PacksTopic{address, std::move(writer), std::move(*topic)}};
}

Result<void> PacksTopic::read(std::int64_t from, const std::function<void(const Record&)>& visit) {
  kafka::PartitionReader reader{*topic_, 0};
  return reader.read_to_end(from, patience, [&](const kafka::Message& message) -> Result<bool> {
    visit({message.offset, message.appended, message.key, message.value, message.tombstone});
    return true;
  });
}

Result<void> PacksTopic::write(std::span<const Outgoing> records) {
  if (!transactor_) {
    auto opened = kafka::Transactor::open(address_, writer_);
    if (!opened) return opened.error();
    transactor_ = std::move(*opened);
  }
  std::vector<kafka::Outgoing> outgoing;
  for (const Outgoing& record : records) outgoing.push_back({kafka::topic::packs, 0, record.key, record.value});
  return transactor_->commit(outgoing);
}

Result<std::unique_ptr<service::Backend>> KafkaBackend::open(BackendOptions options) {
  std::unique_ptr<KafkaBackend> backend{new KafkaBackend{std::move(options)}};
  if (auto begun = backend->begin(); !begun) return begun.error();
  return std::unique_ptr<service::Backend>{std::move(backend)};
}

Result<void> KafkaBackend::begin() {
  const kafka::Address& address = options_.address;
  const std::string instance = options_.group.group + "-" + options_.group.instance;
  auto appender = kafka::Appender::open(address);
  if (!appender) return appender.error();
  auto telemetry =
      TopicReader::open(address, kafka::topic::telemetry, TopicReader::Isolation::uncommitted, options_.queue_bytes);
  if (!telemetry) return telemetry.error();
  auto state = TopicReader::open(address, kafka::topic::state, TopicReader::Isolation::committed);
  if (!state) return state.error();
  const auto alerts = (*appender)->partitions(kafka::topic::alerts, patience);
  if (!alerts) return alerts.error();
  const auto verdicts = (*appender)->partitions(kafka::topic::verdicts, patience);
  if (!verdicts) return verdicts.error();
  auto transactor = kafka::Transactor::open(address, instance);
  if (!transactor) return transactor.error();
  auto packs = PacksTopic::open(address, instance + "/packs");
  if (!packs) return packs.error();
  // Also the first transaction of this instance, which takes long, is over with it.
  const std::string key = "instance/" + options_.group.instance;
  const kafka::Outgoing record[] = {{kafka::topic::packs, 0, key, std::as_bytes(std::span{options_.pack})}};
  if (auto committed = (*transactor)->commit(record); !committed) return committed;
  appender_ = std::make_unique<TelemetryAppender>(std::move(*appender));
  telemetry_ = std::move(*telemetry), state_ = std::move(*state);
  transactor_ = std::move(*transactor), packs_ = std::move(*packs);
  topics_ = {*alerts, *verdicts};
  return {};
}

Result<std::unique_ptr<service::Membership>> KafkaBackend::join(service::Membership::Listener& listener) {
  auto membership = std::make_unique<GroupMembership>(listener, options_.warn);
  const auto group = membership->join(options_.address, options_.group);
  if (!group) return group.error();
  group_ = *group;
  return std::unique_ptr<service::Membership>{std::move(membership)};
}

Result<std::unique_ptr<service::Partition>> KafkaBackend::partition(PartitionOptions options) {
  return std::unique_ptr<service::Partition>{std::make_unique<KafkaPartition>(
      *telemetry_, *state_, *transactor_, *group_, topics_, owned_for(), std::move(options))};
}

Result<void> check_cluster(const kafka::Address& address) {
  const auto wrong = kafka::check_topics(address);
  if (!wrong) return wrong.error();
  if (wrong->empty()) return {};
  const std::string more =
      wrong->size() == 1 ? "" : " (and " + std::to_string(wrong->size() - 1) + " more: see `tocsin topics check`)";
  return Error{Errc::refused, wrong->front() + more};
}

}  // namespace tocsin::adapters::kafka_service
