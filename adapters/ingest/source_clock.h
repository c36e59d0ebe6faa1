#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "stream/values/time.h"

namespace tocsin::adapters::ingest {

// This machine's clock.
[[nodiscard]] inline stream::Time wall_now() {
  return std::chrono::time_point_cast<stream::Duration>(std::chrono::system_clock::now());
}

// When the messages of one partition of a source arrived there, and up to when it has been read. Arrivals never fall,
// and none is at or before a time that was announced as read. Owned by the reader of the partition.
class SourceClock {
 public:
  // The broker's clock may be behind this machine's by as much.
  static constexpr stream::Duration skew = std::chrono::seconds{1};

  // Of a message with this stamp, read at `now`: a stamp ahead of this machine's clock counts as `now`.
  stream::Time arrival(std::optional<stream::Time> stamped, stream::Time now) {
    const stream::Time least = mark_ == stream::long_ago ? mark_ : mark_ + step;
    return arrival_ = std::max({arrival_, least, std::min(stamped.value_or(now), now)});
  }
  // Everything that was appended before `asked`, a moment of this machine's clock, has been read.
  void read_to_end(stream::Time asked) { mark_ = std::max(mark_, asked - skew); }
  // Up to which arrival it has been read; nothing: not known yet. Others of the last message's arrival can follow.
  std::optional<stream::Time> mark() {
    if (arrival_ != stream::long_ago) mark_ = std::max(mark_, arrival_ - step);
    return mark_ == stream::long_ago ? std::nullopt : std::optional{mark_};
  }

 private:
  static constexpr stream::Duration step = std::chrono::milliseconds{1};  // of a broker's stamps
  stream::Time arrival_ = stream::long_ago, mark_ = stream::long_ago;
};

}  // namespace tocsin::adapters::ingest
