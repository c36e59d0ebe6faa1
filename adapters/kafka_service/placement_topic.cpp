#include "adapters/kafka_service/placement_topic.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "adapters/kafka/placement_records.h"
#include "adapters/kafka/topic_settings.h"

namespace tocsin::adapters::kafka_service {

using ingest::Placement;
using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;

namespace {

constexpr auto longest_wait = 15s;
constexpr stream::Duration between_clearings = std::chrono::minutes{1}, furthest_ahead = std::chrono::minutes{10};

}  // namespace

Result<std::unique_ptr<PlacementTopic>> PlacementTopic::open(const kafka::Address& address, kafka::Appender& appender) {
  auto topic = kafka::TopicReader::open(address, kafka::topic::placement, kafka::TopicReader::Isolation::uncommitted);
  if (!topic) return topic.error();
  if (const auto partitions = (*topic)->partitions(longest_wait); !partitions) return partitions.error();
  std::unique_ptr<PlacementTopic> made{new PlacementTopic{std::move(*topic), appender}};
  const auto range = made->reader_.range();
  if (!range) return range.error();
  made->read_ = range->oldest >= range->end;
  if (auto started = made->reader_.start(range->oldest); !started) return started.error();
  return made;
}

Result<void> PlacementTopic::read(Placement& to, stream::Time now) {
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  for (;;) {
    const auto message = reader_.next(read_ ? 0ms : 10ms);
    if (!message) return message.error();
    if (*message == nullptr) {
      if (read_ || reader_.at_end()) break;
      if (std::chrono::steady_clock::now() >= until)
        return Error{Errc::io, topic_->topic() + " cannot be read to its end in time"};
      continue;
    }
    const std::string_view text{reinterpret_cast<const char*>((*message)->value.data()), (*message)->value.size()};
    if (const auto job = kafka::allocated_job((*message)->key)) {
      const auto one = kafka::allocation_of(text);
      if ((*message)->tombstone) to.forget_allocation(*job);
      else if (one && one->time.first <= now + furthest_ahead)
        to.read(*job, {one->time.first, one->time.last, std::string{one->nodes}});
      continue;
    }
    const auto place = kafka::place_of((*message)->key);
    if (!place) continue;
    if ((*message)->tombstone) {
      to.left(place->node, place->job);
      continue;
    }
    const auto stay = kafka::stay_of(text);
    if (stay && stay->last <= now + furthest_ahead) to.read(place->node, place->job, {stay->first, stay->last});
  }
  read_ = true;
  return {};
}

Result<void> PlacementTopic::write(const Placement& from, const Places& placed, const Places& left) {
  // Nobody copies records to a job before its own first one, which names its attempt, is there.
  const bool fresh = std::any_of(placed.begin(), placed.end(), [&](const auto& place) {
    if (const auto* one = from.allocation(place.second); place.first.empty())
      return one != nullptr && !one->nodes.empty();
    const auto stay = from.stay(place.first, place.second);
    return stay && stay->first == stay->last;
  });
  if (fresh)
    if (const auto flushed = appender_->flush(longest_wait); !flushed) return flushed.error();
  for (const auto& [node, job] : placed) {
    if (node.empty()) {
      if (auto written = write_allocation(from, job); !written) return written;
      continue;
    }
    const auto stay = from.stay(node, job);
    if (!stay || !kafka::can_be_placed(node)) continue;
    const std::string text = kafka::placement_text({stay->first, stay->last});
    if (auto written = appender_->append(kafka::topic::placement, 0, kafka::placement_key({node, job}),
                                         std::as_bytes(std::span{text}));
        !written)
      return written;
  }
  for (const auto& [node, job] : left)
    if (auto written = appender_->append(kafka::topic::placement, 0, kafka::placement_key({node, job}), {}); !written)
      return written;
  return {};
}

Result<void> PlacementTopic::write_allocation(const Placement& from, const std::string& job) {
  const Placement::Allocation* one = from.allocation(job);
  if (one == nullptr) return {};
  const std::string text = kafka::allocation_text({{one->first, one->until}, one->nodes});
  return appender_->append(kafka::topic::placement, 0, kafka::allocation_key(job), std::as_bytes(std::span{text}));
}

Result<void> PlacementTopic::forget(Placement& from, stream::Time now) {
  if (forgot_ != stream::long_ago && now < forgot_ + between_clearings) return {};
  forgot_ = now;
  const Places gone = from.forget(now);
  return write(from, {}, gone);
}

}  // namespace tocsin::adapters::kafka_service
