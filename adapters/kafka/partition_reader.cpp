#include "adapters/kafka/partition_reader.h"

#include <algorithm>
#include <array>

#include "adapters/kafka/client.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using stream::Time;

namespace {
constexpr std::size_t batch = 512;
constexpr std::chrono::milliseconds patience{10'000}, wake_patience{100};
constexpr std::chrono::milliseconds between_wakes{50};
}  // namespace

struct TopicReader::State {
  Address address;
  std::string topic;
  Client client;
  TopicHandle handle;
};

TopicReader::TopicReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TopicReader::~TopicReader() = default;
const std::string& TopicReader::topic() const noexcept { return state_->topic; }

Result<std::unique_ptr<TopicReader>> TopicReader::open(const Address& address, std::string_view topic,
                                                       Isolation isolation, std::uint64_t queue_bytes) {
  auto state = std::make_unique<State>();
  state->address = address;
  state->topic = address.topic(topic);
  auto client =
      make_client(address, RD_KAFKA_CONSUMER,
                  {{"enable.auto.commit", "false"},
                   {"auto.offset.reset", "error"},
                   {"enable.partition.eof", "true"},
                   {"isolation.level", isolation == Isolation::committed ? "read_committed" : "read_uncommitted"},
                   {"queued.min.messages", "1000000"},
                   {"queued.max.messages.kbytes", std::to_string(queue_bytes >> 10)},
                   {"fetch.wait.max.ms", "50"},
                   {"check.crcs", "true"}});
  if (!client) return client.error();
  state->client = std::move(*client);
  state->handle.reset(rd_kafka_topic_new(state->client.get(), state->topic.c_str(), nullptr));
  if (!state->handle) return error_of("topic " + state->topic + " cannot be read", rd_kafka_last_error());
  return std::unique_ptr<TopicReader>{new TopicReader{std::move(state)}};
}

Result<int> TopicReader::partitions(std::chrono::milliseconds wait) const {
  return partitions_of(*state_->client, state_->address, state_->topic, wait);
}

struct PartitionReader::State {
  TopicReader::State* topic = nullptr;
  int partition = 0;
  Queue queue;
  bool started = false, at_end = false;
  std::int64_t next = 0;
  std::array<rd_kafka_message_t*, batch> messages{};
  std::size_t count = 0, at = 0;  // of the batch
  double mean_bytes = 0;          // of the last records, the newer the more
  Message message;
  std::chrono::steady_clock::time_point next_wake{};

  void stop() {
    for (std::size_t i = at > 0 ? at - 1 : 0; i < count; ++i) rd_kafka_message_destroy(messages[i]);
    at = count = 0;
    if (started) rd_kafka_consume_stop(topic->handle.get(), partition);
    started = false;
    queue.reset();
  }
  // Once its queue was full, librdkafka asks the broker for more up to a second later, however soon the queue is empty
  // (2.2 has a setting for it), unless something else wakes the broker's thread: 64 MiB a second is all that a restore
  // would read. A question about the partition's offsets wakes it.
  void wake_fetch() {
    if (std::chrono::steady_clock::now() < next_wake) return;
    next_wake = std::chrono::steady_clock::now() + between_wakes;
    find_offset(*topic->client, topic->topic, partition, RD_KAFKA_OFFSET_END, wake_patience);
  }
  [[nodiscard]] std::string name() const { return topic->topic + "/" + std::to_string(partition); }
};

PartitionReader::PartitionReader(TopicReader& topic, int partition) : state_(std::make_unique<State>()) {
  state_->topic = topic.state_.get();
  state_->partition = partition;
}
PartitionReader::~PartitionReader() {
  if (state_) state_->stop();
}
bool PartitionReader::at_end() const noexcept { return state_->at_end; }

Result<void> PartitionReader::start(std::int64_t offset) {
  State& s = *state_;
  s.stop();
  s.queue.reset(rd_kafka_queue_new(s.topic->client.get()));
  s.at_end = false;
  s.next = offset;
  if (rd_kafka_consume_start_queue(s.topic->handle.get(), s.partition, offset, s.queue.get()) != 0)
    return error_of(s.name() + " cannot be read", rd_kafka_last_error());
  s.started = true;
  return {};
}

Result<const Message*> PartitionReader::next(std::chrono::milliseconds wait) {
  State& s = *state_;
  for (;;) {
    if (s.at > 0) rd_kafka_message_destroy(s.messages[s.at - 1]);
    if (s.at == s.count) {
      s.at = s.count = 0;
      if (!s.at_end && rd_kafka_queue_length(s.queue.get()) == 0 && behind().value_or(0) > 0) s.wake_fetch();
      const auto got = rd_kafka_consume_batch_queue(s.queue.get(), static_cast<int>(wait.count()), s.messages.data(),
                                                    s.messages.size());
      if (got < 0) return error_of(s.name() + " cannot be read", rd_kafka_last_error());
      if (got == 0) return static_cast<const Message*>(nullptr);
      s.count = static_cast<std::size_t>(got);
    }
    const rd_kafka_message_t& from = *s.messages[s.at++];
    if (from.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      s.at_end = true;
      continue;
    }
    if (from.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || from.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
      return Error{Errc::not_found,
                   s.name() + " has no offset " + std::to_string(s.next) +
                       " any more: it was deleted before it was read; give the topic a longer retention.ms"};
    if (lacks_permission(from.err)) return error_of(s.name() + " cannot be read", from.err);
    if (from.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;  // the client tries again by itself
    if (from.offset < s.next) continue;
    s.next = from.offset + 1;
    s.at_end = false;
    rd_kafka_timestamp_type_t kind{};
    const std::int64_t ms = rd_kafka_message_timestamp(&from, &kind);
    s.message = {};
    s.message.offset = from.offset;
    if (kind == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) s.message.appended = Time{std::chrono::milliseconds{ms}};
    s.message.key = {static_cast<const char*>(from.key), from.key_len};
    s.message.value = {static_cast<const std::byte*>(from.payload), from.len};
    s.message.tombstone = from.payload == nullptr;
    s.mean_bytes += (static_cast<double>(from.len + from.key_len) - s.mean_bytes) / 64;
    return &s.message;
  }
}

Result<const Message*> PartitionReader::expect(std::chrono::milliseconds patience) {
  for (const auto until = std::chrono::steady_clock::now() + patience;;) {
    const auto message = next(std::chrono::milliseconds{10});
    if (!message || *message != nullptr || state_->at_end) return message;
    if (std::chrono::steady_clock::now() >= until || waiting_is_over())
      return Error{Errc::io, state_->name() + " cannot be read on from offset " + std::to_string(state_->next) +
                                 ": the brokers send nothing"};
  }
}

Result<void> PartitionReader::read_to_end(std::int64_t from, std::chrono::milliseconds patience,
                                          const std::function<Result<bool>(const Message&)>& visit) {
  const auto there = range();
  if (!there) return there.error();
  std::int64_t next = std::max(from, there->oldest);
  if (next >= there->end) return {};
  if (auto started = start(next); !started) return started;
  while (next < there->end && !at_end()) {
    const auto message = expect(patience);
    if (!message) return message.error();
    if (*message == nullptr || (*message)->offset >= there->end) break;
    next = (*message)->offset + 1;
    const auto more = visit(**message);
    if (!more || !*more) return more ? Result<void>{} : more.error();
  }
  return {};
}

std::optional<std::uint64_t> PartitionReader::behind() const {
  const State& s = *state_;
  std::int64_t oldest = 0, end = 0;
  if (!s.started ||
      rd_kafka_get_watermark_offsets(s.topic->client.get(), s.topic->topic.c_str(), s.partition, &oldest, &end) !=
          RD_KAFKA_RESP_ERR_NO_ERROR ||
      end < 0)
    return std::nullopt;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(end - s.next, 0));
}

std::uint64_t PartitionReader::queued_bytes() const {
  const State& s = *state_;
  if (!s.started) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(rd_kafka_queue_length(s.queue.get()) + (s.count - s.at)) *
                                    s.mean_bytes);
}

Result<PartitionReader::Range> PartitionReader::range() const {
  const State& s = *state_;
  Range range;
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto find = [&](std::int64_t which, std::int64_t& offset) {
    for (;;) {  // brokers that were away may not know their partitions, or who leads them, for some seconds
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      const FoundOffset found =
          find_offset(*s.topic->client, s.topic->topic, s.partition, which, std::max(left, wake_patience));
      offset = found.offset;
      const bool final = found.code == RD_KAFKA_RESP_ERR_NO_ERROR || lacks_permission(found.code);
      if (final || std::chrono::steady_clock::now() >= until || waiting_is_over()) return found.code;
      rd_kafka_poll(s.topic->client.get(), 50);
    }
  };
  auto code = find(RD_KAFKA_OFFSET_BEGINNING, range.oldest);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = find(RD_KAFKA_OFFSET_END, range.end);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of("the offsets of " + s.name() + " cannot be read", code);
  return range;
}

}  // namespace tocsin::adapters::kafka
