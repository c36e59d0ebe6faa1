#include "adapters/kafka/member.h"

#include <algorithm>
#include <chrono>

#include "adapters/kafka/patience.h"

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
}  // namespace

Settings member_settings(const GroupOptions& options, const std::string& client) {
  Settings settings{{"group.id", options.group},
                    {"client.id", options.instance.empty() ? client : client + "-" + options.instance},
                    {"partition.assignment.strategy", "cooperative-sticky"},
                    {"session.timeout.ms", std::to_string(options.session.count())},
                    {"heartbeat.interval.ms", std::to_string(options.heartbeat().count())},
                    {"enable.auto.commit", "false"},
                    {"isolation.level", "read_committed"}};  // committed() waits for open transactions
  if (options.session > longest_poll)
    settings.emplace_back("max.poll.interval.ms", std::to_string(options.session.count()));
  if (!options.instance.empty()) settings.emplace_back("group.instance.id", options.instance);
  return settings;
}

Result<void> subscribe(rd_kafka_t& client, const GroupOptions& options, std::span<const std::string> topics) {
  rd_kafka_poll_set_consumer(&client);
  const Partitions wanted{rd_kafka_topic_partition_list_new(static_cast<int>(topics.size()))};
  for (const std::string& topic : topics)
    rd_kafka_topic_partition_list_add(wanted.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  if (const auto code = rd_kafka_subscribe(&client, wanted.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of("group " + options.group + " cannot be joined", code);
  return {};
}

bool fenced(rd_kafka_t& client) {
  char why[512] = {};
  return rd_kafka_fatal_error(&client, why, sizeof why) == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

Result<void> membership(rd_kafka_t& client, const GroupOptions& options) {
  char why[512] = {};
  const auto fatal = rd_kafka_fatal_error(&client, why, sizeof why);
  if (fatal == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    return Error{Errc::refused, "another instance of the same name has joined the group " + options.group +
                                    ": give each instance a name of its own (--instance)"};
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
    return Error{Errc::refused, std::string{"membership in the group has ended: "} + why};
  return {};
}

// By librdkafka 2.0. To end a consumer that has joined and has no assignment yet fails an assertion (its issue 4312),
// and a close that meets an assignment on its way never ends (4527): whence the waiting, and its limit.
void leave_group(Client& client, const bool& assigned_once, const std::function<void()>& closed) {
  char why[512] = {};
  const bool ended = rd_kafka_fatal_error(client.get(), why, sizeof why) != RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const auto until = Clock::now() + at_most(patience); !ended && !assigned_once && Clock::now() < until;)
    const MessageHandle message{rd_kafka_consumer_poll(client.get(), slice)};
  Queue queue{rd_kafka_queue_new(client.get())};
  const Failure refused{rd_kafka_consumer_close_queue(client.get(), queue.get())};
  bool done = refused != nullptr;  // membership had ended already
  for (auto until = Clock::now() + at_most(patience); !done && Clock::now() < until;
       done = rd_kafka_consumer_closed(client.get()) != 0)
    if (rd_kafka_queue_poll_callback(queue.get(), slice) > 0) until = Clock::now() + at_most(patience);
  if (closed) closed();
  if (done && assigned_once) {
    queue.reset();
    client.reset();
  } else {
    static_cast<void>(queue.release());
    static_cast<void>(client.release());
  }
}

}  // namespace tocsin::adapters::kafka
