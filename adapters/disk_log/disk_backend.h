#pragma once

#include <memory>

#include "adapters/disk_log/disk_log.h"
#include "adapters/disk_log/pack_file.h"
#include "adapters/service/backend.h"

namespace tocsin::adapters::disk_log {

// Appends to a log that outlives it.
class DiskAppender final : public service::Appender {
 public:
  explicit DiskAppender(DiskLog& log) : log_(&log) {}

  [[nodiscard]] stream::Result<int> partitions(std::chrono::milliseconds) const override { return log_->partitions(); }
  stream::Result<void> append(int partition, std::string_view key, std::span<const std::byte> value) override;
  stream::Result<bool> flush(std::chrono::milliseconds wait) override;
  [[nodiscard]] std::size_t waiting() const noexcept override;

 private:
  DiskLog* log_;
};

// A directory under the service: this instance has all partitions. A bundle's reports are in the partition's history
// first, and then the state that knows of them. The log outlives it.
class DiskBackend final : public service::Backend {
 public:
  static stream::Result<std::unique_ptr<service::Backend>> open(DiskLog& log);

  service::Appender& appender() override { return appender_; }
  service::PackRecords& packs() override { return *packs_; }
  stream::Result<std::unique_ptr<service::Membership>> join(service::Membership::Listener& listener) override;
  stream::Result<std::unique_ptr<service::Partition>> partition(PartitionOptions options) override;
  // Nothing is due in a partition without jobs, and a log that grows while nobody uses it would keep a disk awake.
  [[nodiscard]] bool beats_without_jobs() const override { return false; }
  [[nodiscard]] std::chrono::milliseconds owned_for() const override { return std::chrono::hours{1}; }

 private:
  DiskBackend(DiskLog& log, std::unique_ptr<PackFile> packs) : log_(&log), appender_(log), packs_(std::move(packs)) {}

  DiskLog* log_;
  DiskAppender appender_;
  std::unique_ptr<PackFile> packs_;
};

}  // namespace tocsin::adapters::disk_log
