#include "adapters/kafka/kafka_state.h"

#include <utility>

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using namespace std::chrono_literals;

KafkaState::KafkaState(TopicReader& topic, int partition, Committed committed, std::function<bool()> stop,
                       std::chrono::milliseconds patience)
    : topic_(&topic),
      partition_(partition),
      committed_(std::move(committed)),
      stop_(std::move(stop)),
      patience_(patience) {}

Error KafkaState::unreadable(const Error& error) const {
  return {error.code, topic_->topic() + "/" + std::to_string(partition_) + ": " + error.message +
                          (error.code == Errc::unknown_version || error.code == Errc::io
                               ? ""
                               : "; to judge the partition from the log's beginning, delete the topic's records and "
                                 "the group's offsets")};
}

Result<std::optional<stream::Stored>> KafkaState::newest() {
  const auto committed = committed_();
  if (!committed) return committed.error();
  PartitionReader reader{*topic_, partition_};
  const auto range = reader.range();
  if (!range) return range.error();
  StateAssembler state{partition_};
  const auto whole = [&] { return !*committed || (state.position() && *state.position() >= **committed); };
  if (range->oldest < range->end || *committed) {
    if (auto started = reader.start(range->oldest); !started) return started.error();
    auto until = std::chrono::steady_clock::now() + patience_;
    while (!(reader.at_end() && whole())) {
      if (stop_ && stop_())
        return Error{Errc::io, topic_->topic() + "/" + std::to_string(partition_) + " is not needed any more"};
      const auto message = reader.next(10ms);
      if (!message) return message.error();
      if (*message == nullptr) {
        if (std::chrono::steady_clock::now() < until) continue;
        if (!reader.at_end())
          return Error{Errc::io,
                       topic_->topic() + "/" + std::to_string(partition_) + " cannot be read to its end in time"};
        const auto has = state.position();
        return unreadable({Errc::not_found,
                           "the group has committed offset " + std::to_string(static_cast<std::uint64_t>(**committed)) +
                               ", and the newest state is " +
                               (has ? "of offset " + std::to_string(static_cast<std::uint64_t>(*has)) : "missing")});
      }
      if (auto added = state.add((*message)->key, (*message)->value, (*message)->tombstone); !added)
        return unreadable(added.error());
      until = std::chrono::steady_clock::now() + patience_;  // a large state takes as long as it takes
    }
  }
  auto stored = std::move(state).take(index_);
  if (!stored) return unreadable(stored.error());
  return stored;
}

Result<std::vector<StateRecord>> KafkaState::records(const stream::Bundle& bundle) {
  next_ = index_;
  return write_state(bundle, partition_, next_);
}

}  // namespace tocsin::adapters::kafka
