#include "adapters/disk_log/disk_backend.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "adapters/journal/alert_history.h"
#include "adapters/journal/follow.h"
#include "adapters/journal/state.h"
#include "adapters/runtime/disk_sink.h"

namespace tocsin::adapters::disk_log {

using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::Position;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint64_t most_history = 64u << 20;  // bytes of a file

// All partitions, from the first poll to the end.
class AllPartitions final : public service::Membership {
 public:
  AllPartitions(Listener& listener, int partitions) : listener_(&listener), all_(static_cast<std::size_t>(partitions)) {
    std::iota(all_.begin(), all_.end(), 0);
  }
  Result<void> poll(std::chrono::milliseconds wait) override {
    if (!std::exchange(assigned_, true)) listener_->assigned(all_);
    else std::this_thread::sleep_for(wait);
    return {};
  }
  Result<void> confirm(const std::function<bool()>&) override { return {}; }
  [[nodiscard]] bool lost() const noexcept override { return false; }
  void leave() override {
    if (std::exchange(assigned_, false)) listener_->revoked(all_, false);
  }

 private:
  Listener* listener_;
  std::vector<int> all_;
  bool assigned_ = false;
};

// Follows a partition. Looks at the disk only when the log has grown.
class PartitionLog final : public stream::LogReader {
 public:
  PartitionLog(const DiskLog& log, int partition, journal::Reader reader)
      : log_(&log), partition_(partition), follower_(std::move(reader)) {}

  Result<const Entry*> next() override {
    const Position end = log_->end(partition_);
    if (reached_ >= end && !log_->wait_for_more(partition_, reached_, 10ms)) return static_cast<const Entry*>(nullptr);
    const auto entry = follower_.next();
    if (!entry) return entry;
    if (*entry == nullptr) reached_ = std::max(reached_, end);
    else ++entries_, bytes_ += distance((*entry)->position, (*entry)->next), reached_ = (*entry)->next;
    return entry;
  }
  Result<void> seek(Position position) override {
    reached_ = position;
    return follower_.seek(position);
  }
  Result<Position> oldest() override { return follower_.oldest(); }

  // By the mean size of what was read.
  [[nodiscard]] std::uint64_t behind() const {
    const std::uint64_t bytes = distance(reached_, log_->end(partition_));
    return bytes_ == 0 ? (bytes == 0 ? 0 : 1) : bytes * entries_ / bytes_;
  }
  [[nodiscard]] std::uint64_t undecodable() const noexcept {
    return follower_.undecodable() + follower_.reader().corrupt_frames();
  }

 private:
  static std::uint64_t distance(Position from, Position to) {
    return to > from ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) : 0;
  }
  const DiskLog* log_;
  int partition_;
  journal::Follower follower_;
  Position reached_{};
  std::uint64_t entries_ = 0, bytes_ = 0;  // read
};

// The state must not be ahead of the log: what it was made from is made durable first.
class PartitionSink final : public stream::BundleSink {
 public:
  PartitionSink(DiskLog& log, journal::AlertHistory history, journal::StateStore& state, runtime::Publish publish)
      : log_(&log), sink_(std::move(history), state, std::move(publish)) {}

  Result<void> keep(const stream::Bundle& bundle) override {
    const auto flushed = log_->flush(10s);
    if (!flushed) return flushed.error();
    if (!*flushed) return Error{Errc::io, "the log cannot be written to disk in time"};
    if (auto kept = sink_.keep(bundle); !kept) return kept;
    kept_ = bundle.position;
    return {};
  }
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return sink_.has_pack(hash); }
  [[nodiscard]] std::optional<Position> kept() const noexcept { return kept_; }

 private:
  DiskLog* log_;
  runtime::DiskSink sink_;
  std::optional<Position> kept_;
};

class DiskPartition final : public service::Partition {
 public:
  DiskPartition(DiskLog& log, int partition, journal::Reader reader, journal::AlertHistory history,
                runtime::Publish publish)
      : disk_(log),
        partition_(partition),
        directory_(log.directory_of(partition)),
        log_(log, partition, std::move(reader)),
        state_(directory_),
        sink_(log, std::move(history), state_, std::move(publish)) {}

  stream::LogReader& log() override { return log_; }
  stream::BundleSink& sink() override { return sink_; }
  stream::SnapshotStore& state() override { return state_; }
  Result<std::optional<Position>> committed() override { return state_.position(); }
  Result<std::optional<stream::PackText>> first_pack() override {
    return journal::first_pack(directory_, std::numeric_limits<std::size_t>::max());
  }
  void needs_from(Position position) override { disk_.needs_from(partition_, position); }
  [[nodiscard]] std::optional<Position> kept() const override { return sink_.kept(); }
  [[nodiscard]] Clock::time_point owned_until() const override {
    return sink_.kept() ? Clock::time_point::max() : Clock::time_point{};
  }
  [[nodiscard]] Figures figures() const override { return {log_.behind(), 0, log_.undecodable()}; }

 private:
  DiskLog& disk_;
  const int partition_;
  const std::filesystem::path directory_;
  PartitionLog log_;
  journal::StateStore state_;
  PartitionSink sink_;
};

}  // namespace

Result<void> DiskAppender::append(int partition, std::string_view key, std::span<const std::byte> value) {
  return log_->append(partition, value, key.empty());
}

Result<bool> DiskAppender::flush(std::chrono::milliseconds wait) {
  if (auto full = log_->full()) return *full;
  return log_->flush(wait);
}

std::size_t DiskAppender::waiting() const noexcept {
  return log_->takes_controls() ? 0 : std::numeric_limits<std::size_t>::max();
}

Result<std::unique_ptr<service::Backend>> DiskBackend::open(DiskLog& log) {
  auto packs = PackFile::open(log.directory(), [&log] { return log.now(); });
  if (!packs) return packs.error();
  return std::unique_ptr<service::Backend>{new DiskBackend{log, std::move(*packs)}};
}

Result<std::unique_ptr<service::Membership>> DiskBackend::join(service::Membership::Listener& listener) {
  return std::unique_ptr<service::Membership>{std::make_unique<AllPartitions>(listener, log_->partitions())};
}

Result<std::unique_ptr<service::Partition>> DiskBackend::partition(PartitionOptions options) {
  const auto directory = log_->directory_of(options.partition);
  auto reader = journal::Reader::open(directory);
  if (!reader) return reader.error();
  auto history = journal::AlertHistory::open(directory, most_history);
  if (!history) return history.error();
  return std::unique_ptr<service::Partition>{std::make_unique<DiskPartition>(
      *log_, options.partition, std::move(*reader), std::move(*history), std::move(options.publish))};
}

}  // namespace tocsin::adapters::disk_log
