#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "adapters/prometheus/metrics.h"

namespace tocsin::test {

inline adapters::prometheus::PublishedJobs published(std::vector<adapters::prometheus::JobFigures> jobs) {
  return std::make_shared<const std::vector<adapters::prometheus::JobFigures>>(std::move(jobs));
}

// Figures of two partitions, three jobs and the program.
inline void publish_examples(adapters::prometheus::Metrics& metrics) {
  using namespace adapters::prometheus;
  PartitionFigures figures;
  figures.counters.entries = 1'000'000'007;
  figures.counters.late = 3;
  figures.counters.unit_mismatch = 2;
  figures.counters.quarantine_messages = {{"my_rule", "attempt to index nil"}};
  figures.lag_records = 12;
  figures.lag_seconds = 0.25;
  figures.restored = 1;
  figures.step_seconds.add(0.00005);
  figures.step_seconds.add(0.02);
  figures.step_seconds.add(60);
  metrics.publish(figures);
  figures = {};
  figures.partition = 1;
  metrics.publish(figures);

  JobFigures llama;
  llama.job = "llama";
  llama.state = "hung";
  llama.step = 1200;
  llama.loss = 2.5;
  llama.ranks = 16;
  llama.firing = {{stream::Severity::critical, 1}, {stream::Severity::warning, 2}};
  JobFigures odd;
  odd.job = "odd \"name\"\\ \xff\n";
  odd.state = "running";
  llama.alerts = {{"collective_hang", "C2", stream::Severity::critical, {stream::Level::rank, 3, "n1", "", ""}}};
  llama.step_time = {16, 17.6, 1.0, 1.1, 1.1, 1.5};
  llama.by_rank = {{0, "n0", 1200, 1.1, stream::absent}, {3, "n1", 1199, 1.5, 1.4}};
  metrics.publish(0, published({odd, llama}));
  JobFigures quiet;
  quiet.job = "quiet";
  metrics.publish(1, published({quiet}));

  ProcessFigures process;
  process.version = "0.1.0";
  process.pack_hash = "abc123";
  process.pack_since = stream::at_nanoseconds(1'780'000'000'500'000'000);
  process.reloads = 1;
  process.reload_failures = 2;
  process.last_reload_failed = true;
  process.last_reload = stream::at_nanoseconds(1'780'000'000'000'000'000);
  process.ready = true;
  metrics.publish(process);
}

}  // namespace tocsin::test
