#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/job/figures.h"
#include "stream/rules/counters.h"
#include "stream/rules/pack.h"
#include "stream/values/time.h"

// What the owners of shards and the service publish by value, for a scrape to show.
namespace tocsin::adapters::prometheus {

// How long something took, counted in buckets. The owner of a shard adds to its own, and publishes copies.
struct Latencies {
  static constexpr std::array bounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0};  // seconds
  std::array<std::uint64_t, bounds.size() + 1> counts{};
  double sum = 0;
  void add(double seconds) noexcept {
    std::size_t bucket = 0;
    while (bucket < bounds.size() && seconds > bounds[bucket]) ++bucket;
    ++counts[bucket];
    sum += seconds;
  }
};

// Of a shard: a partition, or the one journal.
struct PartitionFigures {
  std::uint32_t partition = 0;
  stream::Counters counters;
  std::uint64_t subjects = 0, state_bytes = 0;
  std::optional<std::uint64_t> lag_records;  // none: not known
  std::optional<double> lag_seconds;         // now less the log's clock
  std::uint64_t queue_bytes = 0;
  std::optional<double> restored;  // 0 to 1; none: nothing was to be restored
  std::uint64_t commits = 0, commit_failures = 0;
  Latencies step_seconds;    // CPU time of judging what was read at once, ticks included
  Latencies commit_seconds;  // handing a bundle over
};

// Of a job, for its own metrics and /api/v1/jobs. What is unknown is left out. The cluster has alerts, and no state.
struct JobFigures {
  struct Alert {
    std::string rule, family;
    stream::Severity severity{};
    stream::NamedMember member;
    std::string who{};  // whom it names, as people read it: "rank 3 on n1; rank 5 on n2"
  };
  std::string job, attempt, user;
  std::string state;  // starting, running, hung, unobserved, ended
  std::optional<double> step, steps_per_second, loss, goodput, gpu_seconds_lost;
  std::optional<std::uint64_t> ranks;
  std::map<stream::Severity, std::uint64_t> firing;
  std::vector<Alert> alerts;                          // that fire
  stream::Spread step_time, compute_time;             // over its ranks
  std::vector<stream::SubjectFigures::Rank> by_rank;  // none of a job of very many
  std::vector<stream::UndecidedRule> undecided;       // rules that cannot decide
};
using PublishedJobs = std::shared_ptr<const std::vector<JobFigures>>;

// Of a source that is ingested, as far as this instance reads it.
struct SourceFigures {
  std::string source;
  std::uint64_t messages = 0, bytes = 0, entries = 0, unwanted = 0;
  std::map<std::string, std::uint64_t> left_out;  // by reason
  std::optional<double>
      behind_seconds;  // since the time up to which all of its partitions were read; none: it reads none
};

// Of the program.
struct ProcessFigures {
  std::string version, pack_hash;
  std::optional<stream::Time> pack_since;
  std::uint64_t reloads = 0, reload_failures = 0;
  bool last_reload_failed = false;
  std::optional<stream::Time> last_reload;  // that succeeded; none: there was none yet
  bool ready = false;
};

}  // namespace tocsin::adapters::prometheus
