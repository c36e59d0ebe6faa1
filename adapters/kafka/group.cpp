#include "adapters/kafka/group.h"

#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/kafka/member.h"
#include "adapters/kafka/topic_settings.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds patience{
    30};  // an open transaction of another owner ends within its own ten seconds, and the broker's ten
constexpr std::chrono::milliseconds longest_call{10'000};

std::vector<int> numbers(const rd_kafka_topic_partition_list_t& list) {
  std::vector<int> partitions;
  for (int i = 0; i < list.cnt; ++i) partitions.push_back(list.elems[i].partition);
  return partitions;
}

}  // namespace

struct Group::State final : Member {
  State(const Address& address, const GroupOptions& options, Listener& to)
      : Member(address, options, {address.topic(topic::telemetry)}, "tocsin",
               {{"auto.offset.reset", "latest"}, {"queued.max.messages.kbytes", "1024"}, {"queued.min.messages", "1"}}),
        listener(&to) {}
  void choose_offsets(List& list) override {
    for (int i = 0; i < list.cnt; ++i) list.elems[i].offset = RD_KAFKA_OFFSET_END;
  }
  void assigned(const List& list) override {
    lost = false;
    rd_kafka_pause_partitions(client_.get(), const_cast<List*>(&list));  // nothing is fetched here
    const std::vector<int> partitions = numbers(list);
    held.insert(held.end(), partitions.begin(), partitions.end());
    if (!partitions.empty()) listener->assigned(partitions);
  }
  void revoked(const List& list, bool are_lost) override { revoke(numbers(list), are_lost); }
  void lose_rest() override { revoke(held, true); }
  void revoke(std::vector<int> partitions, bool are_lost) {
    std::erase_if(partitions, [&](int partition) { return std::erase(held, partition) == 0; });
    if (partitions.empty()) return;
    lost = lost || are_lost;
    listener->revoked(partitions, are_lost);
  }
  [[nodiscard]] const std::string& topic_name() const noexcept { return topics_.front(); }
  [[nodiscard]] rd_kafka_t* client() const noexcept { return client_.get(); }

  Listener* listener;
  std::vector<int> held;  // that the listener knows of
  bool lost = false;      // what it had, and nothing given since
};

Group::Group(std::unique_ptr<State> state) : state_(std::move(state)) {}
Group::~Group() { leave(); }
const std::string& Group::topic() const noexcept { return state_->topic_name(); }

Result<std::unique_ptr<Group>> Group::join(const Address& address, const GroupOptions& options, Listener& listener) {
  auto state = std::make_unique<State>(address, options, listener);
  if (auto joined = state->join(); !joined) return joined.error();
  return std::unique_ptr<Group>{new Group{std::move(state)}};
}

Result<void> Group::still_member() const { return state_->still_member(); }
bool Group::contested() const noexcept { return state_->contested(); }
bool Group::lost() const noexcept { return state_->lost; }
void Group::leave() { state_->leave(); }

Result<void> Group::poll(std::chrono::milliseconds wait) {
  const auto message = state_->poll(wait);
  if (!message) return message.error();
  if (*message && lacks_permission((*message)->err)) {
    Error error =
        error_of("the group cannot be joined; the user needs Read on the group and on " + topic(), (*message)->err);
    if (!state_->joined()) error.code = Errc::refused;  // later, somebody is at work on the permissions
    return error;
  }
  if (*message && (*message)->err == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
    return Error{Errc::refused,
                 "the brokers do not take this session time-out (kafka.session_timeout, --session-timeout): choose one "
                 "between their group.min.session.timeout.ms and group.max.session.timeout.ms"};
  return {};
}

Result<std::optional<Position>> Group::committed(int partition) const {
  const Partitions asked{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_t& one = *rd_kafka_topic_partition_list_add(asked.get(), topic().c_str(), partition);
  auto code = RD_KAFKA_RESP_ERR__TIMED_OUT;
  for (const auto until = Clock::now() + patience;
       code == RD_KAFKA_RESP_ERR__TIMED_OUT && Clock::now() < until && !waiting_is_over();)
    code = rd_kafka_committed(state_->client(), asked.get(), static_cast<int>(at_most(longest_call).count()));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = one.err;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of("the committed offset of " + topic() + "/" + std::to_string(partition) + " cannot be read", code);
  if (one.offset < 0) return std::optional<Position>{};
  return std::optional{Position{static_cast<std::uint64_t>(one.offset)}};
}

Group::Metadata Group::metadata() const { return Metadata{rd_kafka_consumer_group_metadata(state_->client())}; }
void Group::MetadataDeleter::operator()(rd_kafka_consumer_group_metadata_s* metadata) const noexcept {
  rd_kafka_consumer_group_metadata_destroy(metadata);
}

}  // namespace tocsin::adapters::kafka
