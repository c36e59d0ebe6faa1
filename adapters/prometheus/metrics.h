#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/alertmanager/poster.h"
#include "adapters/http/server.h"
#include "adapters/notify/status.h"
#include "adapters/prometheus/figures.h"

namespace tocsin::adapters::prometheus {

struct MetricsOptions {
  std::size_t most_jobs = 1000;     // with series of their own: those with the most severe alerts first, then by name
  std::size_t most_rules = 1000;    // that failed, with series of their own
  std::size_t most_ranks = 10'000;  // of the jobs that are shown, all ranks of a job or none
  std::size_t most_alerts = 1000;   // of the jobs that are shown
};

// What /metrics shows: the last figures that each owner published. A scrape reads these and never a shard. Any thread
// may call it.
class Metrics {
 public:
  explicit Metrics(MetricsOptions options = {}) : options_(options) {}

  void publish(PartitionFigures figures);
  void publish(std::uint32_t partition, PublishedJobs jobs);
  void publish(ProcessFigures figures);
  void publish(std::vector<SourceFigures> sources);
  void withdraw(std::uint32_t partition);  // it belongs to another instance now
  // Asked at each scrape.
  void observe(std::function<alertmanager::PosterStatus()> poster, std::function<notify::NotifierStatus()> notifier,
               std::function<http::ServerStatus()> server);

  // In the text format 0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  MetricsOptions options_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, PartitionFigures> partitions_;
  std::map<std::uint32_t, PublishedJobs> jobs_;
  ProcessFigures process_;
  std::vector<SourceFigures> sources_;
  std::function<alertmanager::PosterStatus()> poster_;
  std::function<notify::NotifierStatus()> notifier_;
  std::function<http::ServerStatus()> server_;
};

}  // namespace tocsin::adapters::prometheus
