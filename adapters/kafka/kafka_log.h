#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "adapters/kafka/partition_reader.h"
#include "schemas/codec.h"
#include "stream/ports.h"

namespace tocsin::adapters::kafka {

// A partition of the telemetry topic as the log of a shard: positions are offsets, the append time is the broker's. A
// message that cannot be decoded is counted and passed over. Owned by whoever runs the shard; touched by its thread
// alone.
class KafkaLog final : public stream::LogReader {
 public:
  KafkaLog(TopicReader& topic, int partition) : reader_(topic, partition) {}

  // Waits a few milliseconds where nothing is there.
  stream::Result<const stream::Entry*> next() override;
  stream::Result<void> seek(stream::Position position) override;
  stream::Result<stream::Position> oldest() override;

  [[nodiscard]] bool at_end() const noexcept { return reader_.at_end(); }
  [[nodiscard]] std::optional<std::uint64_t> behind() const { return reader_.behind(); }  // records
  [[nodiscard]] std::uint64_t queued_bytes() const { return reader_.queued_bytes(); }
  [[nodiscard]] std::uint64_t undecodable() const noexcept { return undecodable_; }

 private:
  PartitionReader reader_;
  schemas::Decoder decoder_;
  bool started_ = false;
  stream::Time appended_{};  // of the last message
  std::uint64_t undecodable_ = 0;
};

// The first pack that a log names. It judges what was written before its record, too: producers may have been there
// before the first service was.
struct FirstPack {
  stream::PackText pack;
  std::vector<std::byte> message;
};
// Of a record that names one; control records have no key.
[[nodiscard]] std::optional<FirstPack> pack_in(const Message& message, schemas::Decoder& decoder);
// nullopt: what is written names none. An error where no record comes for so long.
stream::Result<std::optional<FirstPack>> first_pack(TopicReader& topic, int partition,
                                                    std::chrono::milliseconds patience = std::chrono::seconds{15});

}  // namespace tocsin::adapters::kafka
