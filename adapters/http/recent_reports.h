#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "adapters/http/api.h"
#include "stream/ports.h"

namespace tocsin::adapters::http {

// The alerts that fire and the last ones that do not, and the last verdicts, as /api/v1/alerts and /api/v1/verdicts
// show them. Any thread may call it.
class RecentReports {
 public:
  explicit RecentReports(std::size_t most = 10'000) : most_(most) {}

  // A report that was kept. `owner`: of the partition, or the one journal.
  void report(std::uint32_t owner, const stream::Report& report);
  // Reports that were kept before this program started: lines of histories with their owners. Other lines are ignored.
  void remember(const std::vector<std::pair<std::uint32_t, std::string>>& lines);
  void withdraw(std::uint32_t owner);  // its alerts belong to another instance now

  // JSON arrays, the newest first. ?job= ?state=firing|resolved ?severity= ?rule= ?id= ?limit=
  [[nodiscard]] stream::Result<std::string> alerts(const Providers::Query& query) const;
  [[nodiscard]] stream::Result<std::string> verdicts(const Providers::Query& query) const;  // ?job= ?limit=

 private:
  struct Alert {
    std::uint32_t owner = 0, number = 0;
    std::uint64_t order = 0;
    bool firing = false;
    std::string job, rule;
    stream::Severity severity{};
    std::string json;
  };
  struct Verdict {
    std::string job, json;
  };
  void keep(std::uint64_t id, Alert alert);
  void keep(Verdict verdict);
  void forget_oldest();

  mutable std::mutex mutex_;
  std::size_t most_;
  std::uint64_t order_ = 0;
  std::map<std::uint64_t, Alert> alerts_;            // by id
  std::map<std::uint64_t, std::uint64_t> by_order_;  // order to id
  std::deque<Verdict> verdicts_;
};

}  // namespace tocsin::adapters::http
