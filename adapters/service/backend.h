#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/runtime/disk_sink.h"
#include "stream/ports.h"
#include "stream/values/result.h"

// What the service needs of the place that holds its log, its state and its reports: a Kafka cluster
// (adapters/kafka_service) or a directory (adapters/disk_log).
namespace tocsin::adapters::service {

// Appends records to the partitions of the log, each once and in order. Any thread may append.
class Appender {
 public:
  virtual ~Appender() = default;
  [[nodiscard]] virtual stream::Result<int> partitions(std::chrono::milliseconds wait) const = 0;
  // Queued when it returns. An error if the record can never be appended, or too many records wait.
  virtual stream::Result<void> append(int partition, std::string_view key, std::span<const std::byte> value) = 0;
  // Waits until everything appended so far is durable. False: not within `wait`.
  virtual stream::Result<bool> flush(std::chrono::milliseconds wait) = 0;
  [[nodiscard]] virtual std::size_t waiting() const noexcept = 0;  // records that are not durable yet
};
using OpenAppender = std::function<stream::Result<std::unique_ptr<Appender>>()>;

// The records in which instances announce their rules: a key has one current value. Owned by whoever announces or
// follows the rules; touched by its thread alone.
class PackRecords {
 public:
  struct Record {
    std::int64_t offset = 0;
    std::optional<stream::Time> appended;
    std::string_view key;
    std::span<const std::byte> value;
    bool tombstone = false;
  };
  struct Outgoing {
    std::string_view key;
    std::span<const std::byte> value;  // without data: a tombstone
  };
  virtual ~PackRecords() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // for messages
  // Gives each record from this offset on to `visit`, in order.
  virtual stream::Result<void> read(std::int64_t from, const std::function<void(const Record&)>& visit) = 0;
  // All of them or none.
  virtual stream::Result<void> write(std::span<const Outgoing> records) = 0;
};

// Which partitions this instance judges. Touched by the service's main thread, on which it calls the listener.
class Membership {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void assigned(const std::vector<int>& partitions) = 0;
    // Returns when no thread works on them. `lost`: another instance may own them already, so nothing can be committed.
    virtual void revoked(const std::vector<int>& partitions, bool lost) = 0;
  };
  virtual ~Membership() = default;
  // Waits for a change. An error means that the membership has ended.
  virtual stream::Result<void> poll(std::chrono::milliseconds wait) = 0;
  // After the failure of a partition: polls until it is certain whether the partition is still this instance's.
  virtual stream::Result<void> confirm(const std::function<bool()>& stop) = 0;
  // It has lost its partitions, and nothing was assigned since.
  [[nodiscard]] virtual bool lost() const noexcept = 0;
  // Gives the partitions back, after the listener has revoked them.
  virtual void leave() = 0;
};

// The log of one partition, and where its shard's reports and state are kept. Owned by the shard's worker.
class Partition {
 public:
  virtual ~Partition() = default;
  virtual stream::LogReader& log() = 0;
  virtual stream::BundleSink& sink() = 0;
  virtual stream::SnapshotStore& state() = 0;
  // The position of the state that was kept last, by any owner; nullopt: nothing was kept yet.
  virtual stream::Result<std::optional<stream::Position>> committed() = 0;
  // The first pack that the log names; nullopt: it names none.
  virtual stream::Result<std::optional<stream::PackText>> first_pack() = 0;
  // A restart from what was kept last reads the log from here on.
  virtual void needs_from(stream::Position) {}
  // The position of what was kept last by this owner.
  [[nodiscard]] virtual std::optional<stream::Position> kept() const = 0;
  // Until when the partition surely is this instance's, as of the last bundle that was kept.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point owned_until() const = 0;
  struct Figures {
    std::optional<std::uint64_t> behind;  // records up to the end of the log
    std::uint64_t queued_bytes = 0;       // read and not judged yet
    std::uint64_t undecodable = 0;        // messages
  };
  [[nodiscard]] virtual Figures figures() const = 0;
};

class Backend {
 public:
  struct PartitionOptions {
    int partition = 0;
    std::function<bool()> stop;  // true when a restore is no longer wanted
    runtime::Publish publish;    // of what was kept; by the sink's thread
  };
  virtual ~Backend() = default;
  virtual Appender& appender() = 0;
  virtual PackRecords& packs() = 0;
  virtual stream::Result<std::unique_ptr<Membership>> join(Membership::Listener& listener) = 0;
  // Of a partition that was assigned.
  virtual stream::Result<std::unique_ptr<Partition>> partition(PartitionOptions options) = 0;
  // Whether partitions without jobs get beats: who reads the log elsewhere may need them.
  [[nodiscard]] virtual bool beats_without_jobs() const = 0;
  // How long a partition stays this instance's after a bundle was kept.
  [[nodiscard]] virtual std::chrono::milliseconds owned_for() const = 0;
};

}  // namespace tocsin::adapters::service
