// The five workloads as plain loops over an array of samples, each written for its question alone: no engine, no rules,
// no order but that of the array. Repeat with: build/release/bench/peers/bench_peers_loop WORKLOADS [SECONDS [PASSES]],
// of which WORKLOADS are digits, "3" or "12345".
#include <algorithm>
#include <ctime>
#include <limits>
#include <span>
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
    samples[s.job].push_back(&s);
    values[s.job].push_back(s.value);
  }
  void finish(std::int32_t, AlertSet& out) { judge(out); }
  void judge(AlertSet& out) {
    for (unsigned job = 0; job < peers::jobs; ++job) {
      auto& of = values[job];
      if (!of.empty()) {
        const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
        std::nth_element(of.begin(), middle, of.end());
        const int below = of.size() % 2 == 0 ? *std::max_element(of.begin(), middle) : *middle;
        const double limit = 1.5 * (below + *middle) / 2;
        for (const Sample* s : samples[job])
          if (s->value > limit) out.add(5, s->job, s->rank, s->t);
      }
      of.clear();
      samples[job].clear();
    }
  }
  std::int32_t second = 0;
  std::array<std::vector<const Sample*>, peers::jobs> samples;
  std::array<std::vector<int>, peers::jobs> values;
};

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class... Workloads>
std::pair<double, double> pass(std::span<const Sample> samples, unsigned seconds, Alerts& alerts) {
  const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
  std::tuple<Workloads...> all{Workloads{seconds}...};
  std::apply(
      [&](Workloads&... each) {
        for (const Sample& sample : samples) (each.take(sample, alerts[Workloads::number]), ...);
        (each.finish(static_cast<std::int32_t>(seconds * 1000), alerts[Workloads::number]), ...);
      },
      all);
  return {seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu, seconds_of(CLOCK_MONOTONIC) - wall};
}

// The sets that the definition of the workloads gives: a mistake in the samples changes them.
void check_samples() {
  constexpr unsigned seconds = 1200;
  Alerts alerts{};
  const auto all = peers::samples(seconds, false);
  pass<Filter, RunningSum, WindowMean<1>, Silence, AgainstMedian>(all, seconds, alerts);
  const Alerts defined{AlertSet{},
                       AlertSet{},
                       {1173, 0x807bd10d2f9d8b92},
                       {1778, 0xb504abe7dbfcc86d},
                       {32, 0xe83ec740bb1564a9},
                       {2499, 0x59484d80879d0ee1}};
  for (std::size_t i = 1; i < alerts.size(); ++i)
    if (all.size() != 4'913'556 || alerts[i] != defined[i])
      fmt::print(stderr, "of {} samples W{} gives {} alerts, {:016x}; defined are 4913556, {}, {:016x}\n", all.size(),
                 i, alerts[i].count, alerts[i].hash, defined[i].count, defined[i].hash),
          std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string workloads = argc > 1 ? argv[1] : "";
  const unsigned seconds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1200;
  const unsigned passes = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 2;
  if (workloads == "check") return check_samples(), 0;
  using Minute = WindowMean<30>;
  const std::vector<std::pair<std::string, decltype(&pass<Filter>)>> known{
      {"1", pass<Filter>},        {"2", pass<RunningSum>},
      {"3", pass<Minute>},        {"4", pass<Silence>},
      {"5", pass<AgainstMedian>}, {"12345", pass<Filter, RunningSum, Minute, Silence, AgainstMedian>}};
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == workloads; });
  if (found == known.end())
    std::fprintf(stderr, "usage: bench_peers_loop 1|2|3|4|5|12345|check [SECONDS [PASSES]]\n"), std::exit(2);
  const auto all = peers::samples(seconds, true);
  peers::report(workloads, all.size(), passes, [&](Alerts& alerts) { return found->second(all, seconds, alerts); });
  return 0;
}
