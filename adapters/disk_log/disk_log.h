#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "adapters/disk_log/log_clock.h"
#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"
#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::adapters::disk_log {

struct DiskLogOptions {
  std::filesystem::path directory;
  int partitions = 4;
  std::chrono::milliseconds retention = std::chrono::hours{168};  // entries that are older may go
  std::uint64_t retention_bytes = std::uint64_t{8} << 30;         // of all partitions: more than these may go
  std::function<void(const std::string&line)> log, warn;          // by any thread
};

// How many partitions the log in a directory has. not_found: there is none.
[[nodiscard]] stream::Result<int> partitions_in(const std::filesystem::path& directory);
[[nodiscard]] std::filesystem::path partition_directory(const std::filesystem::path& directory, int partition);

// The embedded log: a journal for each partition, below one directory that one process uses at a time. One thread of
// its own syncs what somebody waits for, for all of them together, and looks for free space. docs/run.md.
// Owned by the command; any thread may call it.
class DiskLog {
 public:
  static stream::Result<std::unique_ptr<DiskLog>> open(DiskLogOptions options);
  ~DiskLog();

  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return options_.directory; }
  [[nodiscard]] int partitions() const noexcept { return static_cast<int>(partitions_.size()); }
  [[nodiscard]] std::filesystem::path directory_of(int partition) const {
    return partition_directory(options_.directory, partition);
  }

  // Readable when it returns, durable after the next flush(). An error if there is no room. A control record takes what
  // is left for reports and state, too: without beats nothing would be judged.
  stream::Result<void> append(int partition, std::span<const std::byte> message, bool control = false);
  // Waits until everything appended so far is durable. False: not within `wait`.
  stream::Result<bool> flush(std::chrono::milliseconds wait);
  // Set while the disk has no room: nothing can be appended.
  [[nodiscard]] std::optional<stream::Error> full() const;
  [[nodiscard]] bool takes_controls() const noexcept;

  [[nodiscard]] stream::Position end(int partition) const noexcept;  // where the next entry will be
  // Waits until the partition's end is behind `position`. False: not within `wait`.
  bool wait_for_more(int partition, stream::Position position, std::chrono::milliseconds wait) const;
  // A restart reads the partition from here on: retention deletes nothing behind it.
  void needs_from(int partition, stream::Position position) noexcept;
  [[nodiscard]] stream::Time now();  // the append time of an entry that is appended now

 private:
  struct Partition {
    Partition(journal::OpenDirectory in, journal::Writer opened)
        : directory(std::move(in)), writer(std::move(opened)), end(writer.end()) {}
    const journal::OpenDirectory directory;
    std::mutex mutex;  // of the writer
    journal::Writer writer;
    bool dirty = false;
    bool refused = false;  // the last append found no room; changed with both mutexes
    std::atomic<stream::Position> end, needed{};
  };
  DiskLog(DiskLogOptions options, journal::OpenDirectory directory, journal::File lock);
  stream::Result<void> begin();
  stream::Result<void> check_layout();
  void run();
  stream::Result<void> sync();
  void stop_taking();  // with the mutex
  void look_for_room();
  void apply_retention();
  [[nodiscard]] journal::WriterOptions segments() const;
  [[nodiscard]] std::uint64_t free_bytes() const;

  const DiskLogOptions options_;
  journal::OpenDirectory directory_;
  journal::File lock_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::uint64_t least_free_ = 0;  // bytes of the disk that are left for reports and state

  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable changed_, flushed_, more_;
  std::optional<LogClock> clock_;
  std::uint64_t appended_ = 0, wanted_ = 0, synced_ = 0;  // entries: the first that are to be, and are, durable
  std::optional<stream::Error> full_, broken_;  // broken: a sync failed, and the pages that it was for may be lost
  bool nothing_left_ = false;                   // a write found no room, not even for control records
  bool stopping_ = false;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace tocsin::adapters::disk_log
