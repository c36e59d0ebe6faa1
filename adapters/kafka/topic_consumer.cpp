#include "adapters/kafka/topic_consumer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/kafka/member.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using stream::Time;

namespace {

constexpr std::chrono::milliseconds patience{10'000}, slice{100};

std::vector<TopicPartition> partitions_of(const rd_kafka_topic_partition_list_t& list) {
  std::vector<TopicPartition> partitions;
  for (int i = 0; i < list.cnt; ++i)
    partitions.push_back({list.elems[i].topic, list.elems[i].partition, list.elems[i].offset});
  return partitions;
}

}  // namespace

struct TopicConsumer::State final : Member {
  State(const Address& address, const GroupOptions& options, std::span<const std::string> topics, Listener& to)
      : Member(address, options, {topics.begin(), topics.end()}, "tocsin-ingest",
               {{"enable.auto.offset.store", "false"},
                {"auto.offset.reset", "earliest"},  // of a position that is gone
                {"enable.partition.eof", "true"},
                {"fetch.wait.max.ms", "100"},
                {"queued.max.messages.kbytes", "32768"}}),
        listener(&to) {}

  // All topics are there.
  Result<void> check() override {
    const auto metadata = metadata_of(*client_, address_, patience);
    if (!metadata) return metadata.error();
    std::string missing;
    for (const std::string& topic : topics_) {
      const std::span there{(*metadata)->topics, static_cast<std::size_t>((*metadata)->topic_cnt)};
      if (std::none_of(there.begin(), there.end(),
                       [&](const rd_kafka_metadata_topic_t& one) { return topic == one.topic; }))
        missing += (missing.empty() ? "" : ", ") + topic;
    }
    if (missing.empty()) return {};
    return Error{Errc::refused, "ingest.sources: there is no topic " + missing + " at " + address_.brokers +
                                    ": check its name, and whether the user may describe it"};
  }

  // Where each begins: at the group's position; where it has none, some minutes back, which is then its position.
  void choose_offsets(List& list) override {
    const bool known = rd_kafka_committed(client_.get(), &list, static_cast<int>(at_most(patience).count())) ==
                       RD_KAFKA_RESP_ERR_NO_ERROR;
    std::vector<TopicPartition> fresh;
    for (int i = 0; i < list.cnt; ++i) {
      rd_kafka_topic_partition_t& one = list.elems[i];
      if (!known || one.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        one.offset = RD_KAFKA_OFFSET_STORED;  // the client asks again until it knows: nothing is skipped
      } else if (one.offset < 0) {
        const auto offset = some_minutes_back(one.topic, one.partition);
        one.offset = offset.value_or(RD_KAFKA_OFFSET_BEGINNING);
        if (offset) fresh.push_back({one.topic, one.partition, *offset});
      }
      one.err = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    static_cast<void>(commit(fresh));
  }
  void assigned(const List& list) override {
    if (list.cnt > 0) listener->assigned(partitions_of(list));
  }
  void revoked(const List& list, bool lost) override {
    if (list.cnt > 0) listener->revoked(partitions_of(list), lost);
  }

  // Longer than a client takes to see that a topic has a new partition.
  std::optional<std::int64_t> some_minutes_back(const char* topic, int partition) {
    constexpr std::chrono::minutes back{10};
    const auto from = std::chrono::system_clock::now() - back;
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(from.time_since_epoch()).count();
    const FoundOffset younger = find_offset(*client_, topic, partition, time, patience);
    if (younger.code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    if (younger.offset >= 0) return younger.offset;
    const FoundOffset end = find_offset(*client_, topic, partition, RD_KAFKA_OFFSET_END, patience);
    if (end.code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    return end.offset;
  }

  Result<void> commit(std::span<const TopicPartition> positions) {
    if (positions.empty()) return {};
    const Partitions list{rd_kafka_topic_partition_list_new(static_cast<int>(positions.size()))};
    for (const TopicPartition& one : positions)
      rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.partition)->offset = one.next;
    // rd_kafka_commit() has no time-out of its own.
    const Queue queue{rd_kafka_queue_new(client_.get())};
    auto code = rd_kafka_commit_queue(client_.get(), list.get(), queue.get(), nullptr, nullptr);
    for (Event event; code == RD_KAFKA_RESP_ERR_NO_ERROR && !event;) {
      event.reset(rd_kafka_queue_poll(queue.get(), static_cast<int>(slice.count())));
      if (event) code = rd_kafka_event_error(event.get());
      else if (waiting_is_over()) code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return error_of("the positions of group " + options_.group + " cannot be committed", code);
    return {};
  }

  bool at_end(const TopicPartition& partition, std::chrono::milliseconds wait) const {
    const FoundOffset end = find_offset(*client_, partition.topic, partition.partition, RD_KAFKA_OFFSET_END, wait);
    if (end.code != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
    const auto seen = ends.find({partition.topic, partition.partition});
    return end.offset <= std::max(partition.next, seen == ends.end() ? 0 : seen->second);
  }
  [[nodiscard]] const std::string& group() const noexcept { return options_.group; }

  Listener* listener;
  MessageHandle current;
  ForeignMessage message;
  std::map<std::pair<std::string, int>, std::int64_t>
      ends;  // that were reached: the marks of transactions take offsets too
};

TopicConsumer::TopicConsumer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TopicConsumer::~TopicConsumer() { leave(); }

Result<std::unique_ptr<TopicConsumer>> TopicConsumer::join(const Address& address, const GroupOptions& options,
                                                           std::span<const std::string> topics, Listener& listener) {
  auto state = std::make_unique<State>(address, options, topics, listener);
  if (auto joined = state->join(); !joined) return joined.error();
  return std::unique_ptr<TopicConsumer>{new TopicConsumer{std::move(state)}};
}

Result<const ForeignMessage*> TopicConsumer::next(std::chrono::milliseconds wait) {
  State& s = *state_;
  s.current.reset();
  auto polled = s.poll(wait);
  if (!polled) return polled.error();
  s.current = std::move(*polled);
  if (!s.current) return static_cast<const ForeignMessage*>(nullptr);
  const rd_kafka_message_t& from = *s.current;
  switch (from.err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: break;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      s.ends[{rd_kafka_topic_name(from.rkt), from.partition}] = from.offset;
      return static_cast<const ForeignMessage*>(nullptr);
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return error_of("a source cannot be read; the user needs Read on the group " + s.group() + " and on its topic",
                      from.err);
    default: return static_cast<const ForeignMessage*>(nullptr);  // the client tries again by itself
  }
  rd_kafka_timestamp_type_t kind{};
  const std::int64_t ms = rd_kafka_message_timestamp(&from, &kind);
  s.message = {rd_kafka_topic_name(from.rkt), from.partition, from.offset, {}, {}};
  if (kind != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && ms >= 0) s.message.stamped = Time{std::chrono::milliseconds{ms}};
  if (from.payload != nullptr) s.message.value = {static_cast<const char*>(from.payload), from.len};
  return &s.message;
}

Result<void> TopicConsumer::commit(std::span<const TopicPartition> positions) { return state_->commit(positions); }

bool TopicConsumer::at_end(const TopicPartition& partition, std::chrono::milliseconds wait) const {
  return state_->at_end(partition, wait);
}

void TopicConsumer::leave() {
  state_->current.reset();
  state_->leave();
}

}  // namespace tocsin::adapters::kafka
