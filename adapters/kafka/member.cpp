#include "adapters/kafka/member.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "adapters/kafka/client.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {
constexpr auto patience = 5s;
constexpr int slice = 100;           // ms
constexpr auto longest_poll = 5min;  // the client's own; it may not be shorter than the session
constexpr auto between_looks = 1s,
               margin = 2s;           // of a session: the brokers look for those that are over only now and then
constexpr int look_patience = 3'000;  // ms

using Groups = std::unique_ptr<const rd_kafka_group_list, Destroy<&rd_kafka_group_list_destroy>>;
}  // namespace

Member::Member(Address address, GroupOptions options, std::vector<std::string> topics, std::string client,
               Settings more)
    : address_(std::move(address)),
      options_(std::move(options)),
      topics_(std::move(topics)),
      client_name_(std::move(client)),
      more_(std::move(more)) {}

Result<void> Member::join() {
  joined_ = false;
  const std::string session = std::to_string(options_.session.count());
  Settings settings{{"group.id", options_.group},
                    {"client.id", options_.instance.empty() ? client_name_ : client_name_ + "-" + options_.instance},
                    {"partition.assignment.strategy", "cooperative-sticky"},
                    {"session.timeout.ms", session},
                    {"heartbeat.interval.ms", std::to_string(options_.heartbeat().count())},
                    {"enable.auto.commit", "false"},
                    {"isolation.level", "read_committed"}};  // committed() waits for open transactions
  if (options_.session > longest_poll) settings.emplace_back("max.poll.interval.ms", session);
  if (!options_.instance.empty()) settings.emplace_back("group.instance.id", options_.instance);
  settings.insert(settings.end(), more_.begin(), more_.end());
  auto made = make_client(address_, RD_KAFKA_CONSUMER, settings, [this](rd_kafka_conf_t& conf) {
    rd_kafka_conf_set_opaque(&conf, this);
    rd_kafka_conf_set_rebalance_cb(&conf, rebalance);
    // What has been fetched when the member leaves: end() drops it. poll() is given its messages all the same.
    rd_kafka_conf_set_consume_cb(&conf, [](rd_kafka_message_t*, void*) {});
  });
  if (!made) return made.error();
  client_ = std::move(*made);
  if (auto checked = check(); !checked) return checked;
  rd_kafka_poll_set_consumer(client_.get());
  const Partitions wanted{rd_kafka_topic_partition_list_new(static_cast<int>(topics_.size()))};
  for (const std::string& topic : topics_)
    rd_kafka_topic_partition_list_add(wanted.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  if (const auto code = rd_kafka_subscribe(client_.get(), wanted.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of("group " + options_.group + " cannot be joined", code);
  return {};
}

void Member::rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code, List* partitions, void* opaque) {
  Member& member = *static_cast<Member*>(opaque);
  member.joined_ = true;
  if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    if (partitions->cnt > 0 && !member.leaving_) member.choose_offsets(*partitions);
    const Failure failure{rd_kafka_incremental_assign(client, partitions)};
    if (!member.leaving_) member.assigned(*partitions);
  } else {
    member.revoked(*partitions, rd_kafka_assignment_lost(client) != 0);
    const Failure failure{rd_kafka_incremental_unassign(client, partitions)};
  }
}

rd_kafka_resp_err_t Member::fatal(std::string& why) const {
  char text[512] = {};
  const auto code = rd_kafka_fatal_error(client_.get(), text, sizeof text);
  why = text;
  return code;
}

Result<void> Member::still_member() const {
  std::string why;
  const auto code = fatal(why);
  if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    return Error{Errc::refused, "another instance of the same name has joined the group " + options_.group +
                                    ": give each instance a name of its own (--instance)"};
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Error{Errc::refused, "membership in the group has ended: " + why};
  return {};
}

// Whether another instance has the name that the brokers no longer take from this one.
Member::Name Member::look_for_name() const {
  const auto client = make_client(address_, RD_KAFKA_PRODUCER, {});
  if (!client) return Name::unknown;
  const rd_kafka_group_list* found = nullptr;
  const auto code = rd_kafka_list_groups(client->get(), options_.group.c_str(), &found, look_patience);
  const Groups groups{found};
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Name::unknown;
  for (const rd_kafka_group_info& group : std::span{groups->groups, static_cast<std::size_t>(groups->group_cnt)}) {
    if (group.err != RD_KAFKA_RESP_ERR_NO_ERROR) return Name::unknown;
    // The brokers make a member's id of its name and a number.
    const std::span members{group.members, static_cast<std::size_t>(group.member_cnt)};
    const auto has_name = [&](const rd_kafka_group_member_info& member) {
      return std::string_view{member.member_id}.starts_with(options_.instance + "-");
    };
    if (std::any_of(members.begin(), members.end(), has_name)) return Name::of_another;
  }
  return Name::free;
}

Result<MessageHandle> Member::poll(std::chrono::milliseconds wait) {
  MessageHandle message{rd_kafka_consumer_poll(client_.get(), static_cast<int>(wait.count()))};
  auto member = still_member();
  if (std::string why; fatal(why) == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
    if (!next_look_) lose_rest(), next_look_ = Clock::now() + options_.session + margin;
    Name name = Name::unknown;
    if (Clock::now() >= *next_look_) next_look_ = Clock::now() + between_looks, name = look_for_name();
    if (name == Name::of_another) return member.error();
    message.reset();
    if (name == Name::unknown) return std::this_thread::sleep_for(wait), MessageHandle{};
    next_look_.reset();
    end();
    member = join();
  }
  if (!member) return member.error();
  return message;
}

void Member::leave() {
  if (!client_ || leaving_) return;
  leaving_ = true;
  end();
}

// Closes the consumer, which is asked for its partitions meanwhile, and ends it. Waits five seconds for what the broker
// owes it, and no longer (nor than at_most()): a consumer that cannot be ended then is left to the end of the process.
// By librdkafka 2.0: to end a consumer that has joined and has no assignment yet, perhaps an empty one, fails an
// assertion (its issue 4312), and a close that meets an assignment on its way never ends (4527).
void Member::end() {
  std::string why;
  const bool ended = fatal(why) != RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const auto until = Clock::now() + at_most(patience); !ended && !joined_ && Clock::now() < until;)
    const MessageHandle message{rd_kafka_consumer_poll(client_.get(), slice)};
  Queue queue{rd_kafka_queue_new(client_.get())};
  const Failure refused{rd_kafka_consumer_close_queue(client_.get(), queue.get())};
  bool done = refused != nullptr;  // membership had ended already
  for (auto until = Clock::now() + at_most(patience); !done && Clock::now() < until;
       done = rd_kafka_consumer_closed(client_.get()) != 0)
    if (rd_kafka_queue_poll_callback(queue.get(), slice) > 0) until = Clock::now() + at_most(patience);
  lose_rest();
  if (done && joined_) {
    queue.reset();
    client_.reset();
  } else {
    static_cast<void>(queue.release());
    static_cast<void>(client_.release());
  }
}

}  // namespace tocsin::adapters::kafka
