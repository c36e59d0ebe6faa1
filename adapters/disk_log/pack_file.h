#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "adapters/service/backend.h"

namespace tocsin::adapters::disk_log {

// The records about rules in one file, which is replaced with each write. Owned by the service; touched by the
// reloader's thread alone.
class PackFile final : public service::PackRecords {
 public:
  // `now`: the append time of the log.
  static stream::Result<std::unique_ptr<PackFile>> open(const std::filesystem::path& directory,
                                                        std::function<stream::Time()> now);

  [[nodiscard]] std::string name() const override { return path_.string(); }
  stream::Result<void> read(std::int64_t from, const std::function<void(const Record&)>& visit) override;
  stream::Result<void> write(std::span<const Outgoing> records) override;

 private:
  struct Kept {
    std::int64_t offset = 0;
    stream::Time appended{};
    std::string key, value;
    bool tombstone = false;  // not in the file
    static void fields(auto& self, auto& archive) {
      archive(1, self.offset), archive(2, self.appended), archive(3, self.key), archive(4, self.value);
    }
  };
  struct Content {
    std::int64_t next = 0;
    std::vector<Kept> records;  // by offset
    static void fields(auto& self, auto& archive) { archive(1, self.next), archive(2, self.records); }
  };
  PackFile(std::filesystem::path path, std::function<stream::Time()> now)
      : path_(std::move(path)), now_(std::move(now)) {}

  const std::filesystem::path path_;
  const std::function<stream::Time()> now_;
  Content content_;
};

}  // namespace tocsin::adapters::disk_log
