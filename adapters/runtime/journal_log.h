#pragma once

#include <utility>

#include "adapters/journal/follow.h"
#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// A journal as the log of a shard.
// Owned by whoever runs the shard; touched by its thread alone.
class JournalLog final : public stream::LogReader {
 public:
  explicit JournalLog(journal::Reader reader) : follower_(std::move(reader)) {}
  stream::Result<const stream::Entry*> next() override { return follower_.next(); }
  stream::Result<void> seek(stream::Position position) override { return follower_.seek(position); }
  stream::Result<stream::Position> oldest() override { return follower_.reader().oldest(); }
  [[nodiscard]] const journal::Follower& follower() const noexcept { return follower_; }

 private:
  journal::Follower follower_;
};

}  // namespace tocsin::adapters::runtime
