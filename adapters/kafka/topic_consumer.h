#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::kafka {

struct TopicPartition {
  std::string topic;  // its full name
  int partition = 0;
  std::int64_t next = 0;  // the offset that is read next
};

struct ForeignMessage {
  std::string_view topic;
  int partition = 0;
  std::int64_t offset = 0;
  std::optional<stream::Time> stamped;  // by the broker, else by its producer
  std::string_view value;
};

// Reads topics of other programs as a member of a group whose members divide the partitions among them. A partition
// that the group has no position of begins ten minutes back, so that nothing of a new partition is missed; a position
// that is gone, at the oldest message. Owned by the role that reads; touched by its thread alone, which the listener's
// functions run on, within next() and leave().
class TopicConsumer {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void assigned(const std::vector<TopicPartition>& partitions) = 0;
    // `lost`: they may be another's already, and no position of them can be committed.
    virtual void revoked(const std::vector<TopicPartition>& partitions, bool lost) = 0;
  };
  // The topics by their full names; one that is not there is an error.
  static stream::Result<std::unique_ptr<TopicConsumer>> join(const Address& address, const GroupOptions& options,
                                                             std::span<const std::string> topics, Listener& listener);
  ~TopicConsumer();

  // The next message, valid until the next call; nullptr: none came within `wait`. An error where reading has ended for
  // good.
  stream::Result<const ForeignMessage*> next(std::chrono::milliseconds wait);
  // What was read before these positions is done with.
  stream::Result<void> commit(std::span<const TopicPartition> positions);
  // Whether all that the partition has at this moment was read, by the broker's own word; false as well where it does
  // not answer.
  [[nodiscard]] bool at_end(const TopicPartition& partition, std::chrono::milliseconds wait) const;
  void leave();

 private:
  struct State;
  explicit TopicConsumer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
