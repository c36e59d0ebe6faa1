#include "adapters/kafka/kafka_log.h"

#include <chrono>

namespace tocsin::adapters::kafka {

using stream::Entry;
using stream::Position;
using stream::Result;

namespace {
constexpr std::chrono::milliseconds wait_for_more{
    8};  // for a full batch, too: a longer one would hold back what is there
}  // namespace

Result<const Entry*> KafkaLog::next() {
  if (!started_) {
    const auto from = oldest();
    if (!from) return from.error();
    if (auto started = seek(*from); !started) return started.error();
  }
  for (;;) {
    const auto message = reader_.next(wait_for_more);
    if (!message) return message.error();
    if (*message == nullptr) return static_cast<const Entry*>(nullptr);
    // A time of the producer's is none of this log: the entry counts as appended with the one before it.
    if ((*message)->appended) appended_ = *(*message)->appended;
    const auto offset = static_cast<std::uint64_t>((*message)->offset);
    auto entry = decoder_.decode((*message)->value, Position{offset}, Position{offset + 1}, appended_);
    if (entry) return entry;
    ++undecodable_;
  }
}

Result<void> KafkaLog::seek(Position position) {
  auto started = reader_.start(static_cast<std::int64_t>(position));
  started_ = static_cast<bool>(started);
  return started;
}

Result<Position> KafkaLog::oldest() {
  const auto range = reader_.range();
  if (!range) return range.error();
  return Position{static_cast<std::uint64_t>(range->oldest)};
}

std::optional<FirstPack> pack_in(const Message& message, schemas::Decoder& decoder) {
  if (!message.key.empty()) return std::nullopt;
  const auto entry = decoder.decode(message.value, {}, {}, {});
  if (!entry) return std::nullopt;
  for (const auto& control : (*entry)->controls)
    if (control.kind == stream::ControlRecord::Kind::pack)
      return FirstPack{{std::string{control.pack_hash}, std::string{control.pack_text}},
                       {message.value.begin(), message.value.end()}};
  return std::nullopt;
}

Result<std::optional<FirstPack>> first_pack(TopicReader& topic, int partition, std::chrono::milliseconds patience) {
  std::optional<FirstPack> found;
  schemas::Decoder decoder;
  PartitionReader reader{topic, partition};
  const auto read = reader.read_to_end(0, patience, [&](const Message& message) -> Result<bool> {
    found = pack_in(message, decoder);
    return !found;
  });
  if (!read) return read.error();
  return found;
}

}  // namespace tocsin::adapters::kafka
