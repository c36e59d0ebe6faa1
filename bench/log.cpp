// Jobs as a log brings them, with the whole pack: the messages of all nodes in one order, spread over the second, each
// with up to 10 ms of jitter, one of twenty up to 2 s late, and a beat every second. Beside it the same messages
// grouped: job by job at the end of each second. Repeat with: build/release/bench/bench_log [--jobs N] [--ranks N]
// [--age S]
// [--seconds S] [grouped | scattered]. A job has `age` seconds behind it before `seconds` are measured.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "bench/counted.h"
#include "bench/engine.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "bench/messages.h"

namespace {

using namespace tocsin;
using bench::begin;
using stream::Time;
using namespace std::chrono_literals;

struct Run {
  unsigned jobs = 400, ranks = 8, age = 400, seconds = 30;
};

// One of 2^64 numbers for each message.
std::uint64_t drawn(std::uint64_t job, std::uint64_t node, std::uint64_t second) {
  std::uint64_t z = (job * 1'000'003 + node) * 1'000'033 + second;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

struct Sent {
  Time arrival{};
  unsigned job = 0, node = 0, second = 0;
  Time time{};
};

// The messages of one second of all jobs, by arrival; those that are late come with a later second.
class Log {
 public:
  Log(const Run& run, bool scattered) : scattered_(scattered) {
    for (unsigned job = 0; job < run.jobs; ++job)
      loads_.emplace_back(run.ranks, bench::gpu_signals, bench::rank_signals, "job" + std::to_string(job));
  }
  [[nodiscard]] const std::vector<bench::Load>& loads() const { return loads_; }

  // Those that arrive up to the end of second `s`, with their arrivals.
  void second(unsigned s, bench::Messages& messages, std::vector<Time>& arrivals) {
    const Time now = begin + std::chrono::seconds{s}, end = now + 1s;
    for (unsigned job = 0; job < loads_.size(); ++job)
      for (unsigned node = 0; node < loads_[job].nodes(); ++node) {
        if (!scattered_) {
          sent_.push_back({now + 1ms, job, node, s, now});
          continue;
        }
        const std::uint64_t one = drawn(job, node, s);
        const Time time = now + std::chrono::milliseconds{drawn(job, node, 0) % 980 + one % 11};
        sent_.push_back({time + 1ms + lateness(one), job, node, s, time});
      }
    std::ranges::stable_sort(sent_, {}, &Sent::arrival);
    const auto rest = std::ranges::find_if(sent_, [&](const Sent& one) { return one.arrival >= end; });
    for (auto one = sent_.begin(); one != rest; ++one) {
      const bench::Load& load = loads_[one->job];
      messages.add(load.gpus_of(one->node, one->second, one->time));
      messages.add(load.ranks_of(one->node, one->second, one->time));
      arrivals.insert(arrivals.end(), 2, one->arrival);
    }
    sent_.erase(sent_.begin(), rest);
  }

 private:
  static std::chrono::milliseconds lateness(std::uint64_t one) {
    return (one >> 16) % 20 == 0 ? std::chrono::milliseconds{(one >> 32) % 2000} : 0ms;
  }
  bool scattered_;
  std::vector<bench::Load> loads_;
  std::vector<Sent> sent_;
};

std::size_t heap_in_use() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

void measure(const Run& run, bool scattered) {
  bench::Engine<bench::Transitions> engine{bench::load_pack(bench::pack_files(TOCSIN_SOURCE_DIR "/rules"))};
  Log log{run, scattered};
  const std::size_t before = heap_in_use();
  for (const bench::Load& load : log.loads())
    for (const auto& m : load.start()) engine.consume(m, begin);
  const auto beat = bench::Load::beat();
  bench::Clock::duration samples{}, beats{};
  std::size_t count = 0;
  bench::Messages messages;
  std::vector<Time> arrivals;
  for (unsigned s = 1; s <= run.age + run.seconds; ++s) {
    if (s == run.age + 1) bench::start_counting();
    messages.clear(), arrivals.clear();
    log.second(s, messages, arrivals);
    const auto start = bench::Clock::now();
    for (std::size_t i = 0; i < arrivals.size(); ++i) engine.consume(messages[i], arrivals[i]);
    const auto between = bench::Clock::now();
    engine.consume(beat, begin + std::chrono::seconds{s + 1});
    if (s <= run.age) continue;
    samples += between - start, beats += bench::Clock::now() - between;
    count += arrivals.size() / 2 * 8 * (bench::gpu_signals.size() + bench::rank_signals.size() + 1);
  }
  bench::stop_counting("measured");
  messages = {}, arrivals = {};
  const double took = std::chrono::duration<double>(samples + beats).count(), n = run.jobs;
  fmt::print(
      "{}: {:.2f} M samples/s; a second of one job {:.1f} us, {:.1f} us of it the beat; {:.1f} % of a core at 1 Hz; "
      "{} KB a job; {} transitions\n",
      scattered ? "as a log comes" : "grouped", static_cast<double>(count) / took / 1e6, took / run.seconds / n * 1e6,
      std::chrono::duration<double>(beats).count() / run.seconds / n * 1e6, took / run.seconds * 100,
      (heap_in_use() - before) / run.jobs / 1024, engine.sink.count);
  if (engine.sink.count > 0) fmt::print("  the first transition: {}\n", engine.sink.first);
}

}  // namespace

int main(int argc, char** argv) {
  Run run;
  std::optional<bool> scattered;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    unsigned* const number = argument == "--jobs"      ? &run.jobs
                             : argument == "--ranks"   ? &run.ranks
                             : argument == "--age"     ? &run.age
                             : argument == "--seconds" ? &run.seconds
                                                       : nullptr;
    if (number != nullptr && i + 1 < argc) *number = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (argument == "grouped" || argument == "scattered") scattered = argument == "scattered";
    else
      std::fprintf(stderr,
                   "usage: bench_log [--jobs N] [--ranks N] [--age SECONDS] [--seconds N] [grouped | scattered]\n"),
          std::exit(2);
  }
  bench::name_machine();
  fmt::print("CPU time of one thread: {} jobs of {} ranks x 20 signals, {} s old, {} s measured\n", run.jobs, run.ranks,
             run.age, run.seconds);
  for (const bool one : {false, true})
    if (!scattered || *scattered == one) measure(run, one);
  return 0;
}
