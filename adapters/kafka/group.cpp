#include "adapters/kafka/group.h"

#include <thread>
#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/kafka/member.h"
#include "adapters/kafka/name_contest.h"
#include "adapters/kafka/patience.h"
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

struct Group::State {
  Address address;
  GroupOptions options;
  std::string topic;
  Listener* listener = nullptr;
  std::vector<int> assigned;  // that the listener knows of
  bool joined = false;        // once
  bool leaving = false;
  bool lost = false;                   // what it had, and nothing given since
  std::optional<NameContest> contest;  // while it is fenced
  Client client;

  Result<void> join();
  static void rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions,
                        void* opaque) {
    State& state = *static_cast<State*>(opaque);
    state.joined = true;
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      state.lost = false;
      for (int i = 0; i < partitions->cnt; ++i) partitions->elems[i].offset = RD_KAFKA_OFFSET_END;
      const Failure failure{rd_kafka_incremental_assign(client, partitions)};
      rd_kafka_pause_partitions(client, partitions);  // nothing is fetched here
      if (!state.leaving) state.assign(numbers(*partitions));
    } else {
      state.revoke(numbers(*partitions), rd_kafka_assignment_lost(client) != 0);
      const Failure failure{rd_kafka_incremental_unassign(client, partitions)};
    }
  }

  void assign(const std::vector<int>& partitions) {
    assigned.insert(assigned.end(), partitions.begin(), partitions.end());
    if (!partitions.empty()) listener->assigned(partitions);
  }
  void revoke(std::vector<int> partitions, bool are_lost) {
    std::erase_if(partitions, [&](int partition) { return std::erase(assigned, partition) == 0; });
    if (partitions.empty()) return;
    lost = lost || are_lost;
    listener->revoked(partitions, are_lost);
  }
};

Group::Group(std::unique_ptr<State> state) : state_(std::move(state)) {}
Group::~Group() { leave(); }
const std::string& Group::topic() const noexcept { return state_->topic; }

Result<std::unique_ptr<Group>> Group::join(const Address& address, const GroupOptions& options, Listener& listener) {
  auto state = std::make_unique<State>();
  state->address = address;
  state->options = options;
  state->topic = address.topic(topic::telemetry);
  state->listener = &listener;
  if (auto joined = state->join(); !joined) return joined.error();
  return std::unique_ptr<Group>{new Group{std::move(state)}};
}

Result<void> Group::State::join() {
  joined = false;
  Settings settings = member_settings(options, "tocsin");
  settings.insert(
      settings.end(),
      {{"auto.offset.reset", "latest"}, {"queued.max.messages.kbytes", "1024"}, {"queued.min.messages", "1"}});
  auto made = make_client(address, RD_KAFKA_CONSUMER, settings, [this](rd_kafka_conf_t& conf) {
    rd_kafka_conf_set_opaque(&conf, this);
    rd_kafka_conf_set_rebalance_cb(&conf, rebalance);
  });
  if (!made) return made.error();
  client = std::move(*made);
  return subscribe(*client, options, {&topic, 1});
}

Result<void> Group::still_member() const { return membership(*state_->client, state_->options); }
bool Group::contested() const noexcept { return state_->contest.has_value(); }
bool Group::lost() const noexcept { return state_->lost; }

Result<void> Group::poll(std::chrono::milliseconds wait) {
  State& s = *state_;
  const MessageHandle message{rd_kafka_consumer_poll(s.client.get(), static_cast<int>(wait.count()))};
  if (fenced(*s.client)) {
    if (!s.contest) s.revoke(s.assigned, true), s.contest.emplace(s.address, s.options);
    switch (s.contest->look()) {
      case NameContest::Outcome::undecided: return std::this_thread::sleep_for(wait), Result<void>{};
      case NameContest::Outcome::of_another: return still_member();
      case NameContest::Outcome::own: break;
    }
    s.contest.reset();
    leave_group(s.client, s.joined);
    return s.join();
  }
  if (auto member = still_member(); !member) return member;
  if (message && lacks_permission(message->err)) {
    Error error =
        error_of("the group cannot be joined; the user needs Read on the group and on " + s.topic, message->err);
    if (!s.joined) error.code = Errc::refused;  // later, somebody is at work on the permissions
    return error;
  }
  if (message && message->err == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
    return Error{Errc::refused,
                 "the brokers do not take this session time-out (kafka.session_timeout, --session-timeout): choose one "
                 "between their "
                 "group.min.session.timeout.ms and group.max.session.timeout.ms"};
  return {};
}

void Group::leave() {
  if (!state_ || !state_->client || state_->leaving) return;
  state_->leaving = true;
  leave_group(state_->client, state_->joined, [this] { state_->revoke(state_->assigned, true); });
}

Result<std::optional<Position>> Group::committed(int partition) const {
  const State& s = *state_;
  const Partitions asked{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_t& one = *rd_kafka_topic_partition_list_add(asked.get(), s.topic.c_str(), partition);
  auto code = RD_KAFKA_RESP_ERR__TIMED_OUT;
  for (const auto until = Clock::now() + patience;
       code == RD_KAFKA_RESP_ERR__TIMED_OUT && Clock::now() < until && !waiting_is_over();)
    code = rd_kafka_committed(s.client.get(), asked.get(), static_cast<int>(at_most(longest_call).count()));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = one.err;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of("the committed offset of " + s.topic + "/" + std::to_string(partition) + " cannot be read", code);
  if (one.offset < 0) return std::optional<Position>{};
  return std::optional{Position{static_cast<std::uint64_t>(one.offset)}};
}

Group::Metadata Group::metadata() const { return Metadata{rd_kafka_consumer_group_metadata(state_->client.get())}; }
void Group::MetadataDeleter::operator()(rd_kafka_consumer_group_metadata_s* metadata) const noexcept {
  rd_kafka_consumer_group_metadata_destroy(metadata);
}

}  // namespace tocsin::adapters::kafka
