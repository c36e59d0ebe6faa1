#include "adapters/kafka/topic_consumer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/kafka/member.h"
#include "adapters/kafka/name_contest.h"
#include "adapters/kafka/patience.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using stream::Time;

namespace {

constexpr std::chrono::milliseconds patience{10'000}, slice{100};

Result<void> all_there(rd_kafka_t& client, const Address& address, std::span<const std::string> topics) {
  const auto metadata = metadata_of(client, address, patience);
  if (!metadata) return metadata.error();
  std::string missing;
  for (const std::string& topic : topics) {
    const std::span there{(*metadata)->topics, static_cast<std::size_t>((*metadata)->topic_cnt)};
    if (std::none_of(there.begin(), there.end(),
                     [&](const rd_kafka_metadata_topic_t& one) { return topic == one.topic; }))
      missing += (missing.empty() ? "" : ", ") + topic;
  }
  if (missing.empty()) return {};
  return Error{Errc::refused, "ingest.sources: there is no topic " + missing + " at " + address.brokers +
                                  ": check its name, and whether the user may describe it"};
}

}  // namespace

struct TopicConsumer::State {
  Address address;
  GroupOptions options;
  std::vector<std::string> topics;
  Listener* listener = nullptr;
  MessageHandle current;
  ForeignMessage message;
  std::map<std::pair<std::string, int>, std::int64_t>
      ends;             // that were reached: the marks of transactions take offsets too
  bool joined = false;  // once
  bool leaving = false;
  std::optional<NameContest> contest;  // while it is fenced
  Client client;

  Result<void> join();

  std::vector<TopicPartition> partitions_of(const rd_kafka_topic_partition_list_t& list) const {
    std::vector<TopicPartition> partitions;
    for (int i = 0; i < list.cnt; ++i)
      partitions.push_back({list.elems[i].topic, list.elems[i].partition, list.elems[i].offset});
    return partitions;
  }

  // Where each begins: at the group's position; where it has none, some minutes back, which is then its position.
  void choose_offsets(rd_kafka_topic_partition_list_t& list) {
    const bool known = rd_kafka_committed(client.get(), &list, static_cast<int>(at_most(patience).count())) ==
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

  // Longer than a client takes to see that a topic has a new partition.
  std::optional<std::int64_t> some_minutes_back(const char* topic, int partition) {
    constexpr std::chrono::minutes back{10};
    const auto from = std::chrono::system_clock::now() - back;
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(from.time_since_epoch()).count();
    const FoundOffset younger = find_offset(*client, topic, partition, time, patience);
    if (younger.code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    if (younger.offset >= 0) return younger.offset;
    const FoundOffset end = find_offset(*client, topic, partition, RD_KAFKA_OFFSET_END, patience);
    if (end.code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    return end.offset;
  }

  Result<void> commit(std::span<const TopicPartition> positions) {
    if (positions.empty()) return {};
    const Partitions list{rd_kafka_topic_partition_list_new(static_cast<int>(positions.size()))};
    for (const TopicPartition& one : positions)
      rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.partition)->offset = one.next;
    // rd_kafka_commit() has no time-out of its own.
    const Queue queue{rd_kafka_queue_new(client.get())};
    auto code = rd_kafka_commit_queue(client.get(), list.get(), queue.get(), nullptr, nullptr);
    for (Event event; code == RD_KAFKA_RESP_ERR_NO_ERROR && !event;) {
      event.reset(rd_kafka_queue_poll(queue.get(), static_cast<int>(slice.count())));
      if (event) code = rd_kafka_event_error(event.get());
      else if (waiting_is_over()) code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return error_of("the positions of group " + options.group + " cannot be committed", code);
    return {};
  }

  static void rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions,
                        void* opaque) {
    State& state = *static_cast<State*>(opaque);
    state.joined = true;
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      if (partitions->cnt > 0 && !state.leaving) state.choose_offsets(*partitions);
      const Failure failure{rd_kafka_incremental_assign(client, partitions)};
      if (partitions->cnt > 0 && !state.leaving) state.listener->assigned(state.partitions_of(*partitions));
    } else {
      if (partitions->cnt > 0)
        state.listener->revoked(state.partitions_of(*partitions), rd_kafka_assignment_lost(client) != 0);
      const Failure failure{rd_kafka_incremental_unassign(client, partitions)};
    }
  }
};

TopicConsumer::TopicConsumer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TopicConsumer::~TopicConsumer() { leave(); }

Result<std::unique_ptr<TopicConsumer>> TopicConsumer::join(const Address& address, const GroupOptions& options,
                                                           std::span<const std::string> topics, Listener& listener) {
  auto state = std::make_unique<State>();
  state->address = address;
  state->options = options;
  state->topics.assign(topics.begin(), topics.end());
  state->listener = &listener;
  if (auto joined = state->join(); !joined) return joined.error();
  return std::unique_ptr<TopicConsumer>{new TopicConsumer{std::move(state)}};
}

Result<void> TopicConsumer::State::join() {
  joined = false;
  Settings settings = member_settings(options, "tocsin-ingest");
  settings.insert(settings.end(), {{"enable.auto.offset.store", "false"},
                                   {"auto.offset.reset", "earliest"},  // of a position that is gone
                                   {"enable.partition.eof", "true"},
                                   {"fetch.wait.max.ms", "100"},
                                   {"queued.max.messages.kbytes", "32768"}});
  auto made = make_client(address, RD_KAFKA_CONSUMER, settings, [this](rd_kafka_conf_t& conf) {
    rd_kafka_conf_set_opaque(&conf, this);
    rd_kafka_conf_set_rebalance_cb(&conf, rebalance);
  });
  if (!made) return made.error();
  client = std::move(*made);
  if (auto there = all_there(*client, address, topics); !there) return there.error();
  return subscribe(*client, options, topics);
}

Result<const ForeignMessage*> TopicConsumer::next(std::chrono::milliseconds wait) {
  State& s = *state_;
  s.current.reset(rd_kafka_consumer_poll(s.client.get(), static_cast<int>(wait.count())));
  if (fenced(*s.client)) {
    if (!s.contest) s.contest.emplace(s.address, s.options);
    const auto outcome = s.contest->look();
    if (outcome == NameContest::Outcome::of_another) return membership(*s.client, s.options).error();
    if (outcome == NameContest::Outcome::undecided)
      return std::this_thread::sleep_for(wait), static_cast<const ForeignMessage*>(nullptr);
    s.contest.reset();
    s.current.reset();
    leave_group(s.client, s.joined);
    if (auto joined = s.join(); !joined) return joined.error();
    return static_cast<const ForeignMessage*>(nullptr);
  }
  if (auto member = membership(*s.client, s.options); !member) return member.error();
  if (!s.current) return static_cast<const ForeignMessage*>(nullptr);
  const rd_kafka_message_t& from = *s.current;
  switch (from.err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: break;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      s.ends[{rd_kafka_topic_name(from.rkt), from.partition}] = from.offset;
      return static_cast<const ForeignMessage*>(nullptr);
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return error_of(
          "a source cannot be read; the user needs Read on the group " + s.options.group + " and on its topic",
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
  const State& s = *state_;
  const FoundOffset end = find_offset(*s.client, partition.topic, partition.partition, RD_KAFKA_OFFSET_END, wait);
  if (end.code != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  const auto seen = s.ends.find({partition.topic, partition.partition});
  return end.offset <= std::max(partition.next, seen == s.ends.end() ? 0 : seen->second);
}

void TopicConsumer::leave() {
  if (!state_ || !state_->client) return;
  state_->current.reset();
  state_->leaving = true;
  leave_group(state_->client, state_->joined);
}

}  // namespace tocsin::adapters::kafka
