// The five workloads as plain loops over an array of samples, each written for its question alone: no engine and no
// rules. Samples that arrive late wait in a ring until their second is complete. Repeat with:
// build/release/bench/peers/bench_peers_loop WORKLOADS ordered|late SECONDS PASSES, where WORKLOADS are digits, "3" or
// "12345"; `check` compares samples and alerts with known ones.
#include <algorithm>
#include <ctime>
#include <limits>
#include <tuple>
#include <utility>

#include "bench/peers/samples.h"

namespace {

using namespace tocsin::bench;
using peers::Alerts;
using peers::AlertSet;
using peers::Sample;

constexpr std::size_t members = std::size_t{peers::jobs} * peers::ranks;
std::size_t member(const Sample& s) { return std::size_t{s.job} * peers::ranks + s.rank; }

struct Filter {
  explicit Filter(unsigned) {}
  static constexpr unsigned number = 1;
  void take(const Sample& s, AlertSet& out) {
    if (s.value > 1'000'000) out.add(1, s.job, s.rank, s.t);
  }
  void finish(std::int32_t, AlertSet&) {}
};

struct RunningSum {
  static constexpr unsigned number = 2;
  explicit RunningSum(unsigned seconds) : limit(1000 * static_cast<int>(seconds) + 20'000) {}
  void take(const Sample& s, AlertSet& out) {
    if ((sums[member(s)] += s.value) > limit) out.add(2, s.job, s.rank, s.t);
  }
  void finish(std::int32_t, AlertSet&) {}
  int limit;
  std::vector<int> sums = std::vector<int>(members);
};

// The mean of a minute that holds at least `least` values.
template <unsigned least>
struct WindowMean {
  static constexpr unsigned number = 3;
  static constexpr std::uint32_t room = 64;  // a rank has at most 61 values in a minute
  explicit WindowMean(unsigned) {}
  struct Window {
    std::uint32_t first = 0, end = 0;
    std::int32_t sum = 0;
  };
  struct Value {
    std::int32_t t, value;
  };
  void take(const Sample& s, AlertSet& out) {
    Window& window = windows[member(s)];
    Value* const values = &kept[member(s) * room];
    for (; window.first != window.end && values[window.first % room].t <= s.t - 60'000; ++window.first)
      window.sum -= values[window.first % room].value;
    values[window.end++ % room] = {s.t, s.value};
    window.sum += s.value;
    const auto count = static_cast<std::int32_t>(window.end - window.first);
    if (window.sum > 1500 * count && count >= static_cast<std::int32_t>(least)) out.add(3, s.job, s.rank, s.t);
  }
  void finish(std::int32_t, AlertSet&) {}
  std::vector<Window> windows = std::vector<Window>(members);
  std::vector<Value> kept = std::vector<Value>(members * room);
};

// Looks once a second for ranks that have been silent for 30 s.
struct Silence {
  static constexpr unsigned number = 4;
  explicit Silence(unsigned) {}
  void take(const Sample& s, AlertSet& out) {
    while (s.t >= next) look(out);
    last[member(s)] = s.t;
  }
  void finish(std::int32_t end, AlertSet& out) {
    while (end >= next) look(out);
  }
  void look(AlertSet& out) {
    for (std::size_t i = 0; i < members; ++i)
      if (static_cast<std::uint32_t>(next - last[i] - 30'000) < 1000)
        out.add(4, i / peers::ranks, i % peers::ranks, last[i]);
    next += 1000;
  }
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::min() / 2;
  std::int32_t next = 1000;
  std::vector<std::int32_t> last = std::vector<std::int32_t>(members, never);
};

// Compares each second of a job with its median.
struct AgainstMedian {
  static constexpr unsigned number = 5;
  explicit AgainstMedian(unsigned) {}
  void take(const Sample& s, AlertSet& out) {
    if (s.second != second) judge(out), second = s.second;
    of[s.job].values.push_back(s.value);
    of[s.job].names.push_back({s.t, s.rank});
  }
  void finish(std::int32_t, AlertSet& out) { judge(out); }
  void judge(AlertSet& out) {
    for (unsigned job = 0; job < peers::jobs; ++job) {
      auto& [values, names] = of[job];
      if (values.empty()) continue;
      ordered = values;
      const auto middle = ordered.begin() + static_cast<std::ptrdiff_t>(ordered.size() / 2);
      std::nth_element(ordered.begin(), middle, ordered.end());
      const int below = ordered.size() % 2 == 0 ? *std::max_element(ordered.begin(), middle) : *middle;
      const double limit = 1.5 * (below + *middle) / 2;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > limit) out.add(5, job, names[i].rank, names[i].t);
      values.clear();
      names.clear();
    }
  }
  struct Name {
    std::int32_t t;
    std::uint16_t rank;
  };
  struct Second {
    std::vector<int> values;
    std::vector<Name> names;
  };
  std::int32_t second = 0;
  std::array<Second, peers::jobs> of;
  std::vector<int> ordered;
};

// Each sample in the order of its time. None is more than 2 s late: a second is complete once a sample has arrived
// after that.
void in_order(const peers::Log& log, auto&& take) {
  std::array<std::vector<Sample>, 4> ring;
  std::int32_t open = 0;
  const auto close = [&] {
    for (const Sample& sample : ring[open % 4]) take(sample);
    ring[open++ % 4].clear();
  };
  for (std::size_t i = 0; i < log.samples.size(); ++i) {
    while (log.arrivals[i] > open * 1000 + 2000) close();
    ring[log.samples[i].second % 4].push_back(log.samples[i]);
  }
  for (int left = 0; left < 4; ++left) close();
}

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class... Workloads>
std::pair<double, double> pass(const peers::Log& log, bool late, unsigned seconds, Alerts& alerts) {
  const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
  std::tuple<Workloads...> all{Workloads{seconds}...};
  const auto take = [&](const Sample& sample) {
    (std::get<Workloads>(all).take(sample, alerts[Workloads::number]), ...);
  };
  if (late) in_order(log, take);
  else
    for (const Sample& sample : log.samples) take(sample);
  (std::get<Workloads>(all).finish(static_cast<std::int32_t>(seconds * 1000), alerts[Workloads::number]), ...);
  return {seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu, seconds_of(CLOCK_MONOTONIC) - wall};
}

// The sets that the definition of the workloads gives: a mistake in the samples changes them.
void check_samples() {
  constexpr unsigned seconds = 1200;
  Alerts alerts{};
  const peers::Log log{peers::samples(seconds, false), {}};
  pass<Filter, RunningSum, WindowMean<1>, Silence, AgainstMedian>(log, false, seconds, alerts);
  const Alerts defined{AlertSet{},
                       AlertSet{},
                       {1173, 0x807bd10d2f9d8b92},
                       {1778, 0xb504abe7dbfcc86d},
                       {32, 0xe83ec740bb1564a9},
                       {2499, 0x59484d80879d0ee1}};
  for (std::size_t i = 1; i < alerts.size(); ++i)
    if (log.samples.size() != 4'913'556 || alerts[i] != defined[i])
      fmt::print(stderr, "of {} samples W{} gives {} alerts, {:016x}; defined are 4913556, {}, {:016x}\n",
                 log.samples.size(), i, alerts[i].count, alerts[i].hash, defined[i].count, defined[i].hash),
          std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string workloads = argc > 1 ? argv[1] : "";
  if (workloads == "check") return check_samples(), 0;
  using Minute = WindowMean<30>;
  const std::vector<std::pair<std::string, decltype(&pass<Filter>)>> known{
      {"1", pass<Filter>},        {"2", pass<RunningSum>},
      {"3", pass<Minute>},        {"4", pass<Silence>},
      {"5", pass<AgainstMedian>}, {"12345", pass<Filter, RunningSum, Minute, Silence, AgainstMedian>}};
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == workloads; });
  if (found == known.end() || argc != 5)
    std::fprintf(stderr, "usage: bench_peers_loop 1|2|3|4|5|12345 ordered|late SECONDS PASSES | check\n"), std::exit(2);
  const bool late = std::string{argv[2]} == "late";
  const auto seconds = static_cast<unsigned>(std::atoi(argv[3])), passes = static_cast<unsigned>(std::atoi(argv[4]));
  const auto log = peers::log_of(seconds, late);
  peers::report(workloads, log.samples.size(), passes,
                [&](Alerts& alerts) { return found->second(log, late, seconds, alerts); });
  return 0;
}
