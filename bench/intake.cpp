// Samples decoded and written into rows, on one core: messages of 1,000, of 50 and of one sample go through the decoder
// and a shard whose one rule wants a mean of 30 s of each of 50 signals; 1,000 ranks, once a second. The windows are
// aggregated incrementally; no tick runs. `learned`: what a message costs that is the first of its rank. Repeat with:
// build/release/bench/bench_intake [20x50|1000x1|1x50|1x1|learned [SECONDS [WARM]]]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/counted.h"
#include "bench/engine.h"
#include "bench/machine.h"
#include "bench/messages.h"
#include "dsl/load/loader.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"

namespace {

using namespace tocsin;
using bench::Messages;
using schemas::EntryBuilder;
using stream::Time;

constexpr unsigned ranks = 1000, signals = 50;
const Time begin = stream::at_nanoseconds(1'780'000'000'000'000'000);

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

const std::string& signal(unsigned i) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (unsigned n = 0; n < signals; ++n) all.push_back("s" + std::to_string(n));
    return all;
  }();
  return names[i];
}

stream::LoadedPack pack() {
  std::string definitions, needs, sum = "job.s0:mean()";
  for (unsigned i = 0; i < signals; ++i) {
    definitions +=
        signal(i) + " = { kind = \"gauge\", unit = \"none\", owner = \"rank\", documentation = \"One of many.\" },\n";
    needs += signal(i) + " = signal \"" + signal(i) + "\" { over = \"30s\" }, ";
    if (i > 0) sum += " + job." + signal(i) + ":mean()";
  }
  const std::string rule =
      "rule \"wants\" {\n  family = \"D1\", severity = \"warning\", summary = \"wants rows\", per = \"rank\", every = "
      "\"1h\",\n  needs = "
      "{ " +
      needs + "},\n  shows = \"{sum}\",\n  evaluate = function(job, p)\n    local sum = " + sum +
      "\n    return sum:above(1e9), { sum = sum }\n  end,\n}\n";
  auto loaded = dsl::load({{"signals.lua", "signals {\n" + definitions + "}\n"}, {"rows.lua", rule}}, {});
  if (!loaded.pack) {
    for (const auto& problem : loaded.problems) std::fprintf(stderr, "%s\n", dsl::describe(problem).c_str());
    std::exit(2);
  }
  return {loaded.pack, nullptr};
}

// What all ranks report in one second, in messages of `members` ranks and `width` signals.
Messages second(unsigned s, unsigned members, unsigned width) {
  Messages messages;
  for (unsigned first = 0; first < ranks; first += members)
    for (unsigned from = 0; from < signals; from += width) {
      EntryBuilder b;
      b.about("job");
      for (unsigned rank = first; rank < first + members; ++rank) {
        std::vector<EntryBuilder::Value> values;
        for (unsigned i = from; i < from + width; ++i)
          values.push_back({signal(i), 0.25 * ((rank * 31 + i * 17 + s * 7) % 64), {}, false});
        b.sample(begin + std::chrono::seconds{s}, EntryBuilder::rank(rank), values);
      }
      messages.add(schemas::encode(b.entry()));
    }
  return messages;
}

void measure(unsigned members, unsigned width, double target, unsigned measured, unsigned warm) {
  bench::Transitions sink;
  stream::Shard shard{pack(), nullptr, sink};
  schemas::Decoder decoder;
  std::uint64_t at = 0;
  const auto consume = [&](std::span<const std::byte> message, Time arrival) {
    const auto entry =
        decoder.decode(message, static_cast<stream::Position>(at), static_cast<stream::Position>(at + 1), arrival);
    ++at;
    if (entry) shard.consume(**entry);
  };
  EntryBuilder beat;
  beat.beat();
  const auto tick = schemas::encode(beat.entry());
  double spent = 0;
  for (unsigned s = 1; s <= warm + measured; ++s) {
    const auto messages = second(s, members, width);
    if (s == warm + 1) bench::start_counting();
    const double started = cpu_seconds();
    for (std::size_t i = 0; i < messages.size(); ++i)
      consume(messages[i], begin + std::chrono::seconds{s} + std::chrono::milliseconds{1});
    consume(tick, begin + std::chrono::seconds{s + 1});
    if (s > warm) spent += cpu_seconds() - started;
  }
  const double taking = cpu_seconds();
  static_cast<void>(shard.digests());  // the last that wait are taken
  spent += cpu_seconds() - taking;
  bench::stop_counting("measured");
  const double rate = static_cast<double>(ranks) * signals * measured / spent / 1e6;
  const stream::Counters& counted = shard.counters();
  if (counted.samples != std::uint64_t{ranks} * signals * (warm + measured) ||
      counted.late + counted.unwanted + counted.unknown_signal + counted.duplicates != 0)
    std::fprintf(stderr,
                 "not every sample was written: %zu samples, %zu late, %zu unwanted, %zu unknown, %zu duplicates\n",
                 counted.samples, counted.late, counted.unwanted, counted.unknown_signal, counted.duplicates),
        std::exit(1);
  fmt::print("messages of {:>4} samples ({} x {}): {:.1f} M samples/s into rows, target {}\n", members * width, members,
             width, rate, target);
}

// Of so many ranks each is learned by a message of its own: microseconds a message, which may not grow with their
// number.
double learned(unsigned count) {
  bench::Transitions sink;
  stream::Shard shard{pack(), nullptr, sink};
  schemas::Decoder decoder;
  double spent = 0;
  for (unsigned rank = 0; rank < count; ++rank) {
    EntryBuilder b;
    b.about("job");
    const EntryBuilder::Value value[] = {{signal(0), 1.0, {}, false}};
    b.sample(begin, EntryBuilder::rank(rank), value);
    const auto message = schemas::encode(b.entry());
    const double started = cpu_seconds();
    const auto entry =
        decoder.decode(message, static_cast<stream::Position>(rank), static_cast<stream::Position>(rank + 1), begin);
    if (entry) shard.consume(**entry);
    spent += cpu_seconds() - started;
  }
  return spent / count * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const unsigned seconds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 120;  // of the log
  const unsigned warm = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 40;      // before those
  bench::name_machine();
  fmt::print("CPU time of one thread\n");
  if (only.empty() || only == "learned")
    fmt::print("ranks learned one by one: of 1,024 in {:.1f}, of 4,096 in {:.1f}, of 16,384 in {:.1f} us each\n",
               learned(1024), learned(4096), learned(16384));
  if (only.empty() || only == "20x50") measure(20, 50, 150, seconds, warm);
  if (only.empty() || only == "1000x1") measure(1000, 1, 150, seconds, warm);
  if (only.empty() || only == "1x50") measure(1, 50, 60, seconds, warm);
  if (only.empty() || only == "1x1") measure(1, 1, 8, seconds, warm);
  return 0;
}
