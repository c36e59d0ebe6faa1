// What the state of an engine costs: a job of 16,384 ranks x 20 signals, saved and restored; 400 jobs of 512 ranks,
// each saved in its turn. Repeat with: build/release/bench/bench_snapshot [--quick] [large] [jobs]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/machine.h"
#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"
#include "dsl/text/extraction.h"
#include "schemas/snapshot.h"
#include "stream/job/shard.h"

namespace {

using namespace tocsin;
using bench::begin;
using bench::Clock;
using bench::Load;
using stream::Time;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

class Nowhere final : public stream::AlertSink {
  void transition(const stream::AlertTransition&) override {}
  void verdict(const stream::Verdict&) override {}
};

stream::LoadedPack shipped() {
  const auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  if (!files) std::fprintf(stderr, "%s\n", files.error().message.c_str()), std::exit(2);
  return {dsl::load(*files).pack, dsl::compile_text(*files).extraction};
}

// A shard, and how its log is read: messages have the numbers of their places as positions.
struct Engine {
  explicit Engine(const stream::LoadedPack& pack) : shard(pack, nullptr, sink) {}
  void consume(const std::vector<std::byte>& message, Time arrival) {
    const auto entry =
        decoder.decode(message, static_cast<stream::Position>(at), static_cast<stream::Position>(at + 1), arrival);
    ++at;
    if (entry) shard.consume(**entry);
  }
  Nowhere sink;
  stream::Shard shard;
  schemas::Decoder decoder;
  std::uint64_t at = 0;
};

struct Saved {
  stream::Shard::Sections sections;
  std::size_t bytes = 0, subjects = 0;
  Clock::duration took{};
};

// Sections, and the messages that a sink writes of them.
Saved save(stream::Shard& shard, bool all) {
  Saved saved;
  std::size_t framed = 0;
  const auto start = Clock::now();
  saved.sections = shard.take_sections(all);
  for (const auto& [name, bytes] : saved.sections)
    (void)schemas::write_section(name, bytes, [&](std::span<const std::byte> message) -> stream::Result<void> {
      framed += message.size();
      return {};
    });
  saved.took = Clock::now() - start;
  saved.bytes = framed;
  for (const auto& [name, bytes] : saved.sections) saved.subjects += name.empty() ? 0 : 1;
  return saved;
}

void large(const stream::LoadedPack& pack, unsigned ranks, unsigned seconds) {
  const Load load{ranks, bench::gpu_signals, bench::rank_signals};
  std::vector<std::pair<std::vector<std::byte>, Time>> log;
  for (auto& m : load.start()) log.emplace_back(std::move(m), begin);
  const auto beat = Load::beat();
  const auto more = [&](unsigned from, unsigned to) {
    for (unsigned s = from; s < to; ++s) {
      for (auto& m : load.second_of(s))
        log.emplace_back(std::move(m), begin + std::chrono::seconds{s} + std::chrono::milliseconds{1});
      log.emplace_back(beat, begin + std::chrono::seconds{s + 1});
    }
  };
  Engine engine{pack};
  more(1, seconds);
  for (const auto& [message, arrival] : log) engine.consume(message, arrival);
  const Saved first = save(engine.shard, true);
  fmt::print("{} ranks x 20 signals after {} s: all is saved: {:.1f} MB, {:.0f} ms\n", ranks, seconds,
             static_cast<double>(first.bytes) / 1e6, milliseconds(first.took));
  const std::size_t handed_over = log.size();
  more(seconds, seconds + 30);
  for (std::size_t i = handed_over; i < log.size(); ++i) engine.consume(log[i].first, log[i].second);
  const Saved due = save(engine.shard, false);
  fmt::print("  30 s later, what is due then: {} subjects, {:.3f} MB, {:.2f} ms\n", due.subjects,
             static_cast<double>(due.bytes) / 1e6, milliseconds(due.took));
  const Saved again = save(engine.shard, true);
  fmt::print("  30 s later, all that changed: {:.1f} MB, {:.0f} ms\n", static_cast<double>(again.bytes) / 1e6,
             milliseconds(again.took));

  const auto start = Clock::now();
  Engine restored{pack};
  const auto from = restored.shard.load(first.sections, static_cast<stream::Position>(handed_over));
  if (!from) fmt::print("  the state cannot be loaded: {}\n", from.error().message), std::exit(1);
  const auto loaded = Clock::now() - start;
  restored.at = static_cast<std::uint64_t>(*from);
  for (auto i = static_cast<std::size_t>(*from); i < handed_over; ++i) restored.consume(log[i].first, log[i].second);
  fmt::print("  restored in {:.2f} s: {:.2f} s to load, the rest to backfill {} messages\n",
             milliseconds(Clock::now() - start) / 1e3, milliseconds(loaded) / 1e3,
             handed_over - static_cast<std::size_t>(*from));
  for (std::size_t i = handed_over; i < log.size(); ++i) restored.consume(log[i].first, log[i].second);
  if (restored.shard.digests() != engine.shard.digests()) fmt::print("  the restored engine differs\n"), std::exit(1);
}

void jobs(const stream::LoadedPack& pack, unsigned count, unsigned ranks, unsigned seconds) {
  std::vector<Load> loads;
  for (unsigned job = 0; job < count; ++job)
    loads.emplace_back(ranks, std::vector<std::string>{"sm_active", "sm_clock", "gpu_power"},
                       std::vector<std::string>{"compute_time", "step_time"}, "job-" + std::to_string(job));
  Engine engine{pack};
  for (const Load& load : loads)
    for (const auto& m : load.start()) engine.consume(m, begin);
  const auto beat = Load::beat();
  Clock::duration longest{}, all{};
  std::size_t saves = 0, bytes = 0, subjects = 0;
  constexpr unsigned every = 5;       // seconds between two samples of a signal
  const unsigned warm = seconds / 3;  // the first sections come sooner
  for (unsigned s = 1; s < seconds; ++s) {
    for (unsigned job = s % every; job < count; job += every)
      for (const auto& m : loads[job].second_of(s))
        engine.consume(m, begin + std::chrono::seconds{s} + std::chrono::milliseconds{1});
    engine.consume(beat, begin + std::chrono::seconds{s + 1});
    if (!engine.shard.sections_due()) continue;
    const Saved saved = save(engine.shard, false);
    if (s < warm || saved.sections.empty()) continue;
    longest = std::max(longest, saved.took);
    all += saved.took;
    ++saves, bytes += saved.bytes, subjects += saved.subjects;
  }
  const double measured = seconds - warm;
  fmt::print(
      "{} jobs of {} ranks x 6 signals every {} s, {} s of them: {} saves of {} subjects, {:.0f} MB; the longest "
      "{:.1f} ms, {:.2f} % of a "
      "core\n",
      count, ranks, every, measured, saves, subjects, static_cast<double>(bytes) / 1e6, milliseconds(longest),
      milliseconds(all) / 10 / measured);
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") quick = true;
    else if (argument == "large" || argument == "jobs") names.push_back(argument);
    else std::fprintf(stderr, "usage: bench_snapshot [--quick] [large] [jobs]\n"), std::exit(2);
  }
  const auto chosen = [&](const char* name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  bench::name_machine();
  fmt::print("CPU time of one thread\n");
  const stream::LoadedPack pack = shipped();
  if (chosen("large")) large(pack, quick ? 2'048 : 16'384, quick ? 120 : 200);
  if (chosen("jobs")) jobs(pack, quick ? 40 : 400, 512, quick ? 400 : 660);
  return 0;
}
