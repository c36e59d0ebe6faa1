#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/prometheus/figures.h"
#include "stream/job/shard.h"

namespace tocsin::adapters::service {

// How fast a job steps, from looks at it: over about a minute, or over as many changes of its step as two looks saw.
// Owned by a JobWatch.
class StepRate {
 public:
  static constexpr stream::Duration window = std::chrono::minutes{1};

  // The job as of `clock`: its step, and when that last changed. nullopt: not known yet.
  std::optional<double> look(double step, stream::Time changed, stream::Time clock);

 private:
  std::deque<std::pair<stream::Time, double>> changes_;
};

// Looks at the jobs of a shard, a few at each call, and gives them away when it has seen all: once a second, and less
// often where looking would take more than a fiftieth of the thread's time. Owned by the shard's worker; touched by its
// thread alone.
class JobWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t jobs_a_look = 64;

  // Those that were seen since the last; nullptr: not all have been.
  prometheus::PublishedJobs look(const stream::Shard& shard, Clock::time_point now);

 private:
  struct Rate {
    std::string attempt;
    StepRate rate;
    bool seen = true;
  };
  prometheus::JobFigures shown(stream::SubjectFigures&& figures);
  prometheus::PublishedJobs finish(Clock::time_point now);

  std::string after_;
  std::vector<prometheus::JobFigures> seen_;
  std::map<std::string, Rate> rates_;
  Clock::time_point begun_{}, next_{};
  Clock::duration cost_{};  // of this pass
};

}  // namespace tocsin::adapters::service
