#pragma once

#include <cstdint>
#include <map>

#include "adapters/alertmanager/poster.h"
#include "adapters/http/server.h"
#include "adapters/prometheus/families.h"
#include "adapters/prometheus/figures.h"
#include "adapters/prometheus/metrics.h"

// The metrics of /metrics, by what they are about.
namespace tocsin::adapters::prometheus {

using Partitions = std::map<std::uint32_t, PartitionFigures>;
void add_engine(Families& families, const Partitions& partitions, std::size_t most_rules);
void add_process(Families& families, const ProcessFigures& process);
void add_sources(Families& families, const std::vector<SourceFigures>& sources);
void add_poster(Families& families, const alertmanager::PosterStatus& status);
void add_notifier(Families& families, const notify::NotifierStatus& status);
void add_server(Families& families, const http::ServerStatus& status);
void add_jobs(Families& families, const std::map<std::uint32_t, PublishedJobs>& jobs, const MetricsOptions& options);

}  // namespace tocsin::adapters::prometheus
