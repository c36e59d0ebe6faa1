#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/state_records.h"
#include "stream/ports.h"

namespace tocsin::adapters::kafka {

// The state of the shard of one partition, in the same partition of the state topic.
// Owned by whoever runs the shard; touched by one thread at a time.
class KafkaState final : public stream::SnapshotStore {
 public:
  // `committed`: gives the group's position of the partition. No state behind it is waited for, and one before it is
  // not taken: it is being committed just now.
  using Committed = std::function<stream::Result<std::optional<stream::Position>>()>;
  // `stop`: true where it is no longer wanted. `patience`: for records that do not come; those that come may be many.
  KafkaState(TopicReader& topic, int partition, Committed committed, std::function<bool()> stop = {},
             std::chrono::milliseconds patience = std::chrono::seconds{30});

  stream::Result<std::optional<stream::Stored>> newest() override;

  // The records that store the bundle; they are in force once `stored` is called, and are written again where it is
  // not.
  stream::Result<std::vector<StateRecord>> records(const stream::Bundle& bundle);
  void stored() { index_ = std::move(next_); }
  // The topic holds its text.
  [[nodiscard]] bool has_pack(std::string_view hash) const { return index_.packs.contains(hash); }

 private:
  [[nodiscard]] stream::Error unreadable(const stream::Error& error) const;

  TopicReader* topic_;
  int partition_;
  Committed committed_;
  std::function<bool()> stop_;
  std::chrono::milliseconds patience_;
  StateIndex index_, next_;
};

}  // namespace tocsin::adapters::kafka
