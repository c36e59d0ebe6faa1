#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "adapters/kafka/client.h"
#include "adapters/kafka/group.h"

namespace tocsin::adapters::kafka {

// A member of a consumer group: joins, is polled, and leaves. It commits itself, and reads what is committed. The
// brokers fence a member also where no other instance has its name: after an outage librdkafka 2.0 may send its request
// to join twice, and the first is answered as that of an older instance. What such a member leaves in the group ends
// with its session; another instance stays. So a member that is fenced asks the brokers once its session is over, and
// joins again if the name is free. Owned by a Group or TopicConsumer; belongs to the thread that polls it. Included by
// the sources of this folder alone.
class Member {
 public:
  // `client`: its name at the brokers; `more`: settings of its own.
  Member(Address address, GroupOptions options, std::vector<std::string> topics, std::string client, Settings more);
  virtual ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  [[nodiscard]] stream::Result<void> join();
  // What the consumer was given within `wait`; null: nothing. An error means that the membership has ended.
  [[nodiscard]] stream::Result<MessageHandle> poll(std::chrono::milliseconds wait);
  // An error where the membership is over, with its reason.
  [[nodiscard]] stream::Result<void> still_member() const;
  [[nodiscard]] bool contested() const noexcept { return next_look_.has_value(); }
  [[nodiscard]] bool joined() const noexcept { return joined_; }  // once, since the last join()
  void leave();

 protected:
  using List = rd_kafka_topic_partition_list_t;
  // Before it subscribes.
  virtual stream::Result<void> check() { return {}; }
  // Where partitions that it is given begin; that it has them, or an empty assignment; and that it has them no more.
  virtual void choose_offsets(List& partitions) = 0;
  virtual void assigned(const List& partitions) = 0;
  virtual void revoked(const List& partitions, bool lost) = 0;
  // What it still has is another's: it is fenced, or has left.
  virtual void lose_rest() {}

  const Address address_;
  const GroupOptions options_;
  const std::vector<std::string> topics_;

 private:
  enum class Name { unknown, free, of_another };
  static void rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code, List* partitions, void* opaque);
  [[nodiscard]] rd_kafka_resp_err_t fatal(std::string& why) const;
  [[nodiscard]] Name look_for_name() const;
  void end();

  const std::string client_name_;
  const Settings more_;
  bool joined_ = false, leaving_ = false;
  std::optional<std::chrono::steady_clock::time_point> next_look_;  // for another of this name, while it is fenced

 protected:
  Client client_;  // last: it calls back until it ends
};

}  // namespace tocsin::adapters::kafka
