#include "adapters/prometheus/metrics.h"

#include <utility>

#include "adapters/prometheus/engine_metrics.h"
#include "adapters/prometheus/families.h"

namespace tocsin::adapters::prometheus {

void Metrics::publish(PartitionFigures figures) {
  const std::lock_guard lock{mutex_};
  partitions_[figures.partition] = std::move(figures);
}

void Metrics::publish(std::uint32_t partition, PublishedJobs jobs) {
  const std::lock_guard lock{mutex_};
  jobs_[partition] = std::move(jobs);
}

void Metrics::publish(ProcessFigures figures) {
  const std::lock_guard lock{mutex_};
  process_ = std::move(figures);
}

void Metrics::publish(std::vector<SourceFigures> sources) {
  const std::lock_guard lock{mutex_};
  sources_ = std::move(sources);
}

void Metrics::withdraw(std::uint32_t partition) {
  const std::lock_guard lock{mutex_};
  partitions_.erase(partition);
  jobs_.erase(partition);
}

void Metrics::observe(std::function<alertmanager::PosterStatus()> poster,
                      std::function<notify::NotifierStatus()> notifier, std::function<http::ServerStatus()> server) {
  const std::lock_guard lock{mutex_};
  poster_ = std::move(poster);
  notifier_ = std::move(notifier);
  server_ = std::move(server);
}

std::string Metrics::text() const {
  Families families;
  std::function<alertmanager::PosterStatus()> poster;
  std::function<notify::NotifierStatus()> notifier;
  std::function<http::ServerStatus()> server;
  {
    const std::lock_guard lock{mutex_};
    add_process(families, process_);
    add_engine(families, partitions_, options_.most_rules);
    add_sources(families, sources_);
    add_jobs(families, jobs_, options_);
    poster = poster_;
    notifier = notifier_;
    server = server_;
  }
  if (poster) add_poster(families, poster());
  if (notifier) add_notifier(families, notifier());
  if (server) add_server(families, server());
  return families.text();
}

}  // namespace tocsin::adapters::prometheus
