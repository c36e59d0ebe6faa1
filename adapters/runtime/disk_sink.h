#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "adapters/journal/alert_history.h"
#include "adapters/journal/state.h"
#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// A report with the line of JSON that stands for it.
using Publish = std::function<void(const stream::Report&, std::string_view line)>;

// Keeps bundles beside a journal: first the alert history, then the state that knows of its transitions. A report is
// published once: as soon as it is on disk in the history, and never if it was there before. Owned by whoever runs the
// shard.
class DiskSink final : public stream::BundleSink {
 public:
  DiskSink(journal::AlertHistory history, journal::StateStore& state, Publish publish)
      : history_(std::move(history)), state_(&state), publish_(std::move(publish)) {}
  stream::Result<void> keep(const stream::Bundle& bundle) override;
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return state_->has_pack(hash); }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  journal::AlertHistory history_;
  journal::StateStore* state_;
  Publish publish_;
  std::set<Key> added_;  // to the history, and not on disk yet
};

// Keeps nothing and publishes everything.
class PublishingSink final : public stream::BundleSink {
 public:
  explicit PublishingSink(Publish publish) : publish_(std::move(publish)) {}
  stream::Result<void> keep(const stream::Bundle& bundle) override;

 private:
  Publish publish_;
};

}  // namespace tocsin::adapters::runtime
