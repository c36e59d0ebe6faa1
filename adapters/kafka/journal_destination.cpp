#include "adapters/kafka/journal_destination.h"

#include "adapters/kafka/topic_settings.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::kafka {

using stream::Result;
using namespace std::chrono_literals;

Result<std::unique_ptr<JournalDestination>> JournalDestination::open(const Address& address) {
  auto appender = Appender::open(address);
  if (!appender) return appender.error();
  return std::unique_ptr<JournalDestination>{
      new JournalDestination{address.brokers + '/' + address.prefix, std::move(*appender)}};
}

Result<void> JournalDestination::reach() {
  const auto count = appender_->partitions(topic::telemetry, 1s);
  if (!count) return count.error();
  partitions_ = *count;
  return {};
}

Result<void> JournalDestination::append(const stream::Entry& entry, std::span<const std::byte> message) {
  const auto partition = stream::partition_of(entry.subject, partitions_);
  used_.insert(partition);
  if (auto sent = appender_->append(topic::telemetry, partition, entry.subject, message); !sent) return sent;
  return place(entry);
}

Result<void> JournalDestination::control(std::span<const std::byte> message) {
  for (const int partition : used_)
    if (auto sent = appender_->append(topic::telemetry, partition, {}, message); !sent) return sent;
  return {};
}

// Where the job is, for those who copy records of nodes to it: behind its records.
Result<void> JournalDestination::place(const stream::Entry& entry) {
  if (!can_be_placed(entry.node) || entry.subject == stream::cluster_subject) return {};
  auto [found, first] =
      places_.try_emplace({std::string{entry.node}, std::string{entry.subject}}, Stay{entry.appended, entry.appended});
  if (!first && entry.appended < found->second.last + stay_repeated) return {};
  found->second.last = entry.appended;
  if (first)
    if (const auto flushed = appender_->flush(1s); !flushed) return flushed.error();
  const std::string text = placement_text(found->second);
  return appender_->append(topic::placement, 0, placement_key({entry.node, entry.subject}),
                           std::as_bytes(std::span{text}));
}

Result<void> JournalDestination::leave() {
  for (const auto& [place, stay] : places_)
    if (auto left = appender_->append(topic::placement, 0, placement_key({place.first, place.second}), {}); !left)
      return left;
  places_.clear();
  return {};
}

}  // namespace tocsin::adapters::kafka
