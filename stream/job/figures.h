#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/verdict.h"
#include "stream/values/time.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// How a figure is spread over the ranks that have it.
struct Spread {
  std::size_t count = 0;
  double sum = 0, least = absent, median = absent, high = absent, greatest = absent;  // high: the 90th percentile
};

// What is shown of a job: its current attempt, as of the job's own clock; of the cluster, what fires alone. A figure
// that is unknown is absent. Ticks never depend on figures, and looking at them changes nothing.
struct SubjectFigures {
  struct Rank {
    std::uint32_t rank = 0;
    std::string node;
    double step = absent, step_time = absent, compute_time = absent;
  };
  static constexpr std::size_t most_ranks = 256;  // a larger job has spreads alone

  std::string subject, attempt;
  std::string user;       // the label of this name; empty: none
  Time start{}, clock{};  // of an attempt that has ended, its end
  bool ended = false;
  std::uint64_t ranks = 0;
  double step = absent;            // the furthest of any rank
  Time step_changed = long_ago;    // the last change of any rank's
  double loss = absent;            // the last one
  double productive = absent;      // seconds: steps made, each at the usual time of one
  Spread step_time, compute_time;  // means of each rank's last steps
  std::vector<Rank> by_rank;
  std::vector<AlertTransition> firing;
  std::vector<UndecidedRule> undecided;  // of the rules that judge it
};

}  // namespace tocsin::stream
