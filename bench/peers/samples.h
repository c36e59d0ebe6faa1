#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load.h"

// The samples that every engine judges, and how their alerts are compared: Engine.java makes the same.
namespace tocsin::bench::peers {

constexpr unsigned jobs = 4, ranks = 1024;

constexpr std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
constexpr std::uint64_t draw(std::uint64_t kind, std::uint64_t job, std::uint64_t rank, std::uint64_t at) {
  return mix(mix(mix(mix(20240817 + kind) + job) + rank) + at);
}

struct Sample {
  std::int32_t t;  // ms
  std::uint16_t job, rank;
  std::int32_t second, value;
};

// One sample of each rank a second, except where a rank is silent, in the order of time, job and rank. `grid`: all of a
// second have its first millisecond as their time; else each has one of its own.
inline std::vector<Sample> samples(unsigned seconds, bool grid) {
  std::vector<Sample> all;
  all.reserve(std::size_t{jobs} * ranks * seconds);
  std::array<std::vector<Sample>, 1000> by_millisecond;
  for (std::uint64_t s = 0; s < seconds; ++s) {
    for (std::uint64_t job = 0; job < jobs; ++job)
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        const std::uint64_t absent = draw(2, job, rank, s / 300), from = (absent >> 16) % 200;
        const std::uint64_t length = 45 + (absent >> 32) % 15;
        if (absent % 500 == 0 && from <= s % 300 && s % 300 < from + length) continue;
        const std::uint64_t slow = draw(1, job, rank, s / 300), slow_from = (slow >> 16) % 150;
        const std::uint64_t drawn = draw(4, job, rank, s), within = grid ? 0 : draw(3, job, rank, s) % 1000;
        std::uint64_t value = 900 + drawn % 201;
        if ((drawn >> 32) % 65536 == 0) value += 1000;
        if (slow % 500 == 0 && slow_from <= s % 300 && s % 300 < slow_from + 90) value += 700;
        by_millisecond[within].push_back({static_cast<std::int32_t>(s * 1000 + within), static_cast<std::uint16_t>(job),
                                          static_cast<std::uint16_t>(rank), static_cast<std::int32_t>(s),
                                          static_cast<std::int32_t>(value)});
      }
    for (auto& some : by_millisecond) {
      all.insert(all.end(), some.begin(), some.end());
      some.clear();
    }
  }
  return all;
}

// Samples in the order in which they arrive.
struct Log {
  std::vector<Sample> samples;
  std::vector<std::int32_t> arrivals;  // ms
};

// `late`: one of 20 samples arrives up to 2 s after its time; else all arrive at their time.
inline Log log_of(unsigned seconds, bool late) {
  Log log{samples(seconds, true), {}};
  const auto arrival = [late](const Sample& s) {
    const std::uint64_t drawn = draw(5, s.job, s.rank, static_cast<std::uint64_t>(s.second));
    return s.t + (late && drawn % 20 == 0 ? 1 + static_cast<std::int32_t>((drawn >> 32) % 2000) : 0);
  };
  std::vector<std::pair<std::int32_t, Sample>> arriving;
  for (const Sample& sample : log.samples) arriving.emplace_back(arrival(sample), sample);
  std::stable_sort(arriving.begin(), arriving.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    log.arrivals.push_back(arriving[i].first);
    log.samples[i] = arriving[i].second;
  }
  return log;
}

// The alerts of one workload: their number, and a hash that does not depend on their order.
struct AlertSet {
  std::uint64_t count = 0, hash = 0;
  void add(std::uint64_t workload, std::uint64_t job, std::uint64_t rank, std::int64_t t) {
    ++count;
    hash += mix(mix(mix(mix(workload) + job) + rank) + static_cast<std::uint64_t>(t));
  }
  friend bool operator==(const AlertSet&, const AlertSet&) = default;
};
using Alerts = std::array<AlertSet, 6>;  // by the workload's number, from 1 on

// Runs `pass` `passes` times, and prints what each took and the alerts, which must be the same each time.
template <class Pass>
void report(std::string_view workloads, std::size_t count, unsigned passes, Pass&& pass) {
  Alerts first{};
  std::string took;
  for (unsigned i = 0; i < passes; ++i) {
    Alerts alerts{};
    const auto [cpu, wall] = pass(alerts);
    if (i > 0 && alerts != first) std::fprintf(stderr, "two passes gave different alerts\n"), std::exit(1);
    first = alerts;
    took += fmt::format("{}[{:.6f},{:.6f}]", i > 0 ? "," : "", cpu, wall);
  }
  std::string found;
  for (const char digit : workloads) {
    const AlertSet& set = first[static_cast<std::size_t>(digit - '0')];
    found += fmt::format("{}\"W{}\":[{},\"{:016x}\"]", found.empty() ? "" : ",", digit, set.count, set.hash);
  }
  fmt::print("{{\"samples\":{},\"passes\":[{}],\"alerts\":{{{}}}}}\n", count, took, found);
}

}  // namespace tocsin::bench::peers
