#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "adapters/http/api.h"
#include "adapters/prometheus/figures.h"
#include "adapters/service/sender_rights.h"

namespace tocsin::adapters::service {

// The jobs as /api/v1/jobs shows them: what the owner of each partition published last. Any thread may call it.
class JobList {
 public:
  void publish(int partition, prometheus::PublishedJobs jobs);
  void withdraw(int partition);
  // Nullopt: the job is not known.
  [[nodiscard]] std::optional<SenderRights::KnownJob> find(const std::string& job) const;
  // A JSON array, by partition and name. ?job= ?state= ?by_rank=yes|no ?limit= The rules that cannot decide are shown
  // of one job alone.
  [[nodiscard]] stream::Result<std::string> json(const http::Providers::Query& query) const;

 private:
  mutable std::mutex mutex_;
  std::map<int, prometheus::PublishedJobs> jobs_;
};

// The same of these jobs, which are of no partition.
[[nodiscard]] std::string jobs_json(const std::vector<prometheus::JobFigures>& jobs);

}  // namespace tocsin::adapters::service
