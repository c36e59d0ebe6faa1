#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/service/backend.h"
#include "stream/ports.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::service {

// Which pack every log is to name.
struct Announcement {
  std::string hash;
  std::set<std::string> left;   // packs that were gone back from: what is configured brings none of them back by itself
  stream::Time made{}, from{};  // when it was written, and takes effect
  std::int64_t offset = -1;
};

struct KnownPack {
  stream::PackText pack;
  stream::Time announced{};  // the last time
};

// The texts of the ten packs that were announced last, by their hash, and the announcement that holds. Times are those
// of the records, so that all who read an announcement mean the same moment. Owned by whoever announces packs; touched
// by its thread alone.
class PackHistory {
 public:
  static constexpr std::size_t most = 10;
  explicit PackHistory(PackRecords& records) : records_(&records) {}

  // Reads what was committed since the last time.
  stream::Result<void> read();
  [[nodiscard]] const std::optional<Announcement>& announced() const noexcept { return announced_; }
  [[nodiscard]] bool in_all_logs() const noexcept { return !announced_ || complete_ >= announced_->offset; }
  [[nodiscard]] std::vector<const KnownPack*> newest_first() const;  // at most ten
  [[nodiscard]] const KnownPack* find(std::string_view hash) const;

  // Makes this the pack that every log names: announces it, and completes that. Where several announce at the same
  // time, all logs end with the one that was announced last.
  stream::Result<void> announce(const stream::PackText& pack, std::set<std::string> left, Appender& appender);
  // The records alone, all or none.
  stream::Result<void> write(const stream::PackText& pack, std::set<std::string> left);
  // Brings the announcement that holds to all logs, also one of somebody who ended meanwhile.
  stream::Result<void> complete(Appender& appender);

 private:
  void take(const PackRecords::Record& record);
  stream::Result<void> append_to_all(Appender& appender) const;

  PackRecords* records_;
  std::int64_t next_ = 0, complete_ = -1;  // to be read; the announcement that came to all logs
  std::optional<Announcement> announced_;
  std::map<std::string, KnownPack, std::less<>> packs_;
};

}  // namespace tocsin::adapters::service
