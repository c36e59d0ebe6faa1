// What the state of an engine costs: a job of 16,384 ranks x 20 signals, saved and restored, and one of 2,048 that is
// two hours old; 400 jobs of 512 ranks, each saved in its turn. While the shard makes the sections it stands still;
// their bytes are written beside it. Repeat with: build/release/bench/bench_snapshot [--quick] [large] [jobs]
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/engine.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "schemas/snapshot.h"

namespace {

using namespace tocsin;
using bench::begin;
using bench::Clock;
using bench::Load;
using stream::Duration;
using stream::Time;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

using Engine = bench::Engine<bench::Transitions>;

struct Saved {
  stream::Shard::Sections sections;
  std::size_t bytes = 0, subjects = 0;
  Clock::duration put_off{};  // what the shard had put off, and does before it makes sections
  Clock::duration made{}, written{};
};

// Sections, and the messages that a sink writes of them.
Saved save(stream::Shard& shard, bool all) {
  Saved saved;
  const auto start = Clock::now();
  if (all) (void)shard.digests();
  const auto caught_up = Clock::now();
  saved.sections = shard.take_sections(all);
  const auto made = Clock::now();
  for (const auto& [name, content] : saved.sections)
    (void)schemas::write_section(name, content.bytes(),
                                 [&](std::span<const std::byte> message) -> stream::Result<void> {
                                   saved.bytes += message.size();
                                   return {};
                                 });
  saved.put_off = caught_up - start, saved.made = made - caught_up, saved.written = Clock::now() - made;
  for (const auto& [name, content] : saved.sections) saved.subjects += name.empty() ? 0 : 1;
  return saved;
}

// The log of one job, a beat after each second; made again when a restore reads it again.
struct Log {
  explicit Log(unsigned ranks) : load{ranks, bench::gpu_signals, bench::rank_signals} {}
  void start(Engine& engine) const {
    for (const auto& message : load.start()) engine.consume(message, begin);
  }
  // The messages of the seconds up to `end`, from the engine's place on; how long it took, without making them. And how
  // long the longest of them took, if that is asked for.
  Clock::duration consume(Engine& engine, unsigned end, Clock::duration* longest = nullptr) const {
    Clock::duration took{};
    const std::size_t a_second = load.second_of(1).size() + 1;
    auto second = static_cast<unsigned>((engine.at - 1) / a_second) + 1;
    std::size_t read_before = (engine.at - 1) % a_second;
    for (; second < end; ++second, read_before = 0) {
      auto messages = load.second_of(second);
      messages.push_back(Load::beat());
      const auto start = Clock::now();
      for (std::size_t i = read_before; i < messages.size(); ++i) {
        const auto begun = longest != nullptr ? Clock::now() : Clock::duration{};
        engine.consume(messages[i], begin + std::chrono::seconds{second} +
                                        (i + 1 < messages.size() ? Duration{std::chrono::milliseconds{1}}
                                                                 : Duration{std::chrono::seconds{1}}));
        if (longest != nullptr) *longest = std::max(*longest, Clock::now() - begun);
      }
      took += Clock::now() - start;
    }
    return took;
  }
  Load load;
};

void print(const char* what, const Saved& saved) {
  fmt::print(
      "  {}: {} subjects, {:.3f} MB; the shard stands still for {:.2f} ms, after {:.2f} ms of what it had put off, and "
      "{:.2f} ms of writing are beside it\n",
      what, saved.subjects, static_cast<double>(saved.bytes) / 1e6, milliseconds(saved.made),
      milliseconds(saved.put_off), milliseconds(saved.written));
}

std::size_t heap() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void large(const stream::LoadedPack& pack, unsigned ranks, unsigned seconds) {
  const Log log{ranks};
  const std::size_t heap_before = heap();
  Engine engine{pack};
  log.start(engine);
  log.consume(engine, seconds);
  const std::size_t heap_now = heap() - heap_before;
  const Saved first = save(engine.shard, true);
  fmt::print("{} ranks x 20 signals after {} s: a rank takes {:.1f} KB of the state, {:.1f} KB in memory\n", ranks,
             seconds, static_cast<double>(first.bytes) / 1e3 / ranks, static_cast<double>(heap_now) / 1e3 / ranks);
  print("all is saved", first);
  const std::uint64_t handed_over = engine.at;
  log.consume(engine, seconds + 30);
  print("30 s later, what is due then", save(engine.shard, false));
  const Saved again = save(engine.shard, true);
  print("30 s later, all that changed", again);

  const auto start = Clock::now();
  Engine restored{pack};
  const auto from = restored.shard.load(first.sections, static_cast<stream::Position>(handed_over));
  if (!from) fmt::print("  the state cannot be loaded: {}\n", from.error().message), std::exit(1);
  const auto loaded = Clock::now() - start;
  restored.at = static_cast<std::uint64_t>(*from);
  if (restored.at == 0) log.start(restored);
  const auto backfilled = log.consume(restored, seconds);
  fmt::print("  restored in {:.2f} s: {:.2f} s to load, {:.2f} s to backfill {} messages\n",
             milliseconds(loaded + backfilled) / 1e3, milliseconds(loaded) / 1e3, milliseconds(backfilled) / 1e3,
             handed_over - static_cast<std::uint64_t>(*from));
  log.consume(restored, seconds + 30);
  if (restored.shard.digests() != engine.shard.digests()) fmt::print("  the restored engine differs\n"), std::exit(1);

  const auto half = log.load.second_of(seconds + 30);
  for (std::size_t i = 0; i < half.size() / 2; ++i)
    engine.consume(half[i], begin + std::chrono::seconds{seconds + 30} + Duration{std::chrono::milliseconds{1}});
  print("half a second later", save(engine.shard, true));
  Clock::duration usual{}, lent{};
  log.consume(engine, seconds + 45, &usual);
  {
    const auto sections = engine.shard.take_sections(true);
    log.consume(engine, seconds + 60, &lent);
  }
  fmt::print("  the longest of 15 s of messages takes {:.1f} ms, and {:.1f} ms where nobody writes what was lent\n",
             milliseconds(usual), milliseconds(lent));
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
  Clock::duration longest{}, all{}, written{};
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
    longest = std::max(longest, saved.made);
    all += saved.made, written += saved.written;
    ++saves, bytes += saved.bytes, subjects += saved.subjects;
  }
  const double measured = seconds - warm;
  fmt::print(
      "{} jobs of {} ranks x 6 signals every {} s, {} s of them: {} saves of {} subjects, {:.0f} MB; the shard stands "
      "still for {:.1f} ms at the longest, {:.2f} % of the time, and {:.2f} % of a core write beside it\n",
      count, ranks, every, measured, saves, subjects, static_cast<double>(bytes) / 1e6, milliseconds(longest),
      milliseconds(all) / 10 / measured, milliseconds(written) / 10 / measured);
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
  const stream::LoadedPack pack = bench::load_pack(bench::pack_files(TOCSIN_SOURCE_DIR "/rules"));
  if (chosen("large")) {
    large(pack, quick ? 512 : 16'384, 200);
    large(pack, quick ? 512 : 2'048, 2 * 60 * 60);
  }
  if (chosen("jobs")) jobs(pack, quick ? 40 : 400, 512, quick ? 400 : 660);
  return 0;
}
