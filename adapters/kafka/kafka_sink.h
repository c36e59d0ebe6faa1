#pragma once

#include <chrono>
#include <optional>

#include "adapters/kafka/group.h"
#include "adapters/kafka/kafka_state.h"
#include "adapters/kafka/transactor.h"
#include "adapters/runtime/disk_sink.h"
#include "stream/ports.h"

namespace tocsin::adapters::kafka {

// Where the reports of a subject go: murmur2 of its name over the partitions of each topic.
struct ReportTopics {
  int alerts = 1, verdicts = 1;  // partitions
};

// Keeps the bundles of one partition: alerts and verdicts, a line of JSON each, keyed by job; the sections that
// changed; the position. One transaction, and only behind it the reports are published. A bundle with reports has
// sections, too: the position of the state is the position up to which reports were made. Owned by whoever runs the
// shard; touched by one thread at a time.
class KafkaSink final : public stream::BundleSink {
 public:
  KafkaSink(Transactor& transactor, const Group& group, KafkaState& state, int partition, ReportTopics topics,
            runtime::Publish publish)
      : transactor_(&transactor),
        group_(&group),
        state_(&state),
        partition_(partition),
        topics_(topics),
        publish_(std::move(publish)) {}
  stream::Result<void> keep(const stream::Bundle& bundle) override;
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return state_->has_pack(hash); }
  // When the brokers were asked last whether the partition is this instance's, of what was kept.
  [[nodiscard]] std::chrono::steady_clock::time_point owned_at() const noexcept { return owned_at_; }
  // The position of what was kept last, by this sink.
  [[nodiscard]] std::optional<stream::Position> kept() const noexcept { return kept_; }

 private:
  Transactor* transactor_;
  const Group* group_;
  KafkaState* state_;
  int partition_;
  ReportTopics topics_;
  runtime::Publish publish_;
  std::chrono::steady_clock::time_point owned_at_{};
  std::optional<stream::Position> kept_;
};

}  // namespace tocsin::adapters::kafka
