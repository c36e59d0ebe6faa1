#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::kafka {

// One connection to the cluster for all partitions of a topic that a process reads.
// Owned by the service and shared by the readers, each on its thread; librdkafka's own threads fetch.
class TopicReader {
 public:
  enum class Isolation { committed, uncommitted };
  // `queue_bytes`: how much of each partition is fetched ahead, at most.
  static stream::Result<std::unique_ptr<TopicReader>> open(const Address& address, std::string_view topic,
                                                           Isolation isolation, std::uint64_t queue_bytes = 16u << 20);
  ~TopicReader();
  [[nodiscard]] const std::string& topic() const noexcept;
  [[nodiscard]] stream::Result<int> partitions(std::chrono::milliseconds wait) const;

 private:
  friend class PartitionReader;
  struct State;
  explicit TopicReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Message {
  std::int64_t offset = 0;
  std::optional<stream::Time> appended;  // none: the time is its producer's, not the log's
  std::string_view key;
  std::span<const std::byte> value;
  bool tombstone = false;
};

// The messages of one partition, in order, from a queue of their own. What is not taken waits there, and once it is
// full nothing more is fetched: that is all the back-pressure there is. Owned by whoever reads the partition; touched
// by its thread alone. Of one partition there is one started at a time.
class PartitionReader {
 public:
  PartitionReader(TopicReader& topic, int partition);
  ~PartitionReader();

  stream::Result<void> start(std::int64_t offset);  // or starts again, elsewhere
  // The next message, valid until the next call; nullptr: none came within `wait`.
  stream::Result<const Message*> next(std::chrono::milliseconds wait);
  // The same, where there must be one: an error where none came within `patience`. nullptr: all that was written has
  // been read.
  stream::Result<const Message*> expect(std::chrono::milliseconds patience);
  // Starts at `from`, or at the oldest there is, and gives each record to `visit` up to the end as it is now; no
  // further once that is false. An error where none comes within `patience` before.
  stream::Result<void> read_to_end(std::int64_t from, std::chrono::milliseconds patience,
                                   const std::function<stream::Result<bool>(const Message&)>& visit);
  // All that was written when it was last asked has been read (of transactions, what was committed).
  [[nodiscard]] bool at_end() const noexcept;
  struct Range {
    std::int64_t oldest = 0, end = 0;
  };
  [[nodiscard]] stream::Result<Range> range() const;
  // Records up to the end that the broker named with the last fetch; none: nothing was fetched yet.
  [[nodiscard]] std::optional<std::uint64_t> behind() const;
  // What is fetched and not taken: the records, each as large as those before it were on average.
  [[nodiscard]] std::uint64_t queued_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
