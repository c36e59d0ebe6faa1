// What the state of an engine costs: a job of 16,384 ranks x 20 signals, saved and restored, and one of 2,048 that is
// two hours old; 400 jobs of 512 ranks, each saved in its turn; jobs of up to 200,000 ranks, and up to 25,000 jobs
// of 8. While the shard makes the sections it stands still; their bytes are written beside it. Repeat with:
// build/release/bench/bench_snapshot [--quick] [large] [jobs] [ranks] [many]
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
  if (!saved.sections.empty()) (void)shard.packs_in_use();  // as a bundle names them
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
    const std::size_t before = load.start().size();
    auto second = static_cast<unsigned>((engine.at - before) / a_second) + 1;
    std::size_t read_before = (engine.at - before) % a_second;
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

void large(const stream::LoadedPack& pack, unsigned ranks, unsigned seconds, bool restore = true) {
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

  if (restore) {
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
  }

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
  const auto beat = Load::beat();
  constexpr unsigned every = 5, parts = 10;  // seconds between two samples of a signal; of a second, in which jobs send
  std::vector<std::uint64_t> seconds_at{0};  // the number of the first message of each
  // The messages of the seconds up to `end`, from the engine's place on.
  const auto consume = [&](Engine& engine, unsigned end, const auto& after_part) {
    std::uint64_t number = 0;
    const auto read = [&](std::span<const std::byte> message, Time at) {
      if (number++ >= engine.at) engine.consume(message, at);
    };
    const auto later = std::upper_bound(seconds_at.begin(), seconds_at.end(), engine.at);
    auto s = static_cast<unsigned>(later - seconds_at.begin()) - 1;
    number = seconds_at[s];
    for (const Load& load : loads)
      for (const auto& m : s == 0 ? load.start() : std::vector<std::vector<std::byte>>{}) read(m, begin);
    for (s = std::max(s, 1u); s < end; ++s) {
      if (s == seconds_at.size()) seconds_at.push_back(number);
      for (unsigned part = 0; part < parts; ++part) {
        const Time at = begin + std::chrono::seconds{s} + std::chrono::milliseconds{1 + part * 1000 / parts};
        for (unsigned job = s % every + part * every; job < count; job += every * parts)
          for (const auto& m : loads[job].second_of(s)) read(m, at);
        if (part + 1 == parts) read(beat, begin + std::chrono::seconds{s + 1});
        after_part(s);
      }
    }
  };
  Engine engine{pack};
  stream::Shard::Sections kept;
  std::uint64_t handed_over = 0;
  Clock::duration longest{}, first{}, all{}, written{};
  std::size_t saves = 0, bytes = 0, subjects = 0;
  const unsigned warm = seconds / 3;  // the first sections come sooner
  consume(engine, seconds, [&](unsigned s) {
    if (!engine.shard.sections_due()) return;
    Saved saved = save(engine.shard, false);
    if (s < warm) first = std::max(first, saved.made);
    if (saved.sections.empty()) return;
    for (auto& [name, section] : saved.sections) kept.insert_or_assign(name, std::move(section));
    handed_over = engine.at;
    if (s < warm) return;
    longest = std::max(longest, saved.made);
    all += saved.made, written += saved.written;
    ++saves, bytes += saved.bytes, subjects += saved.subjects;
  });
  const double measured = seconds - warm;
  fmt::print(
      "{} jobs of {} ranks x 6 signals every {} s, {} s of them: {} saves of {} subjects, {:.0f} MB; the shard stands "
      "still for {:.1f} ms at the longest ({:.1f} ms before that time), {:.2f} % of the time, and {:.2f} % of a core "
      "write beside it\n",
      count, ranks, every, measured, saves, subjects, static_cast<double>(bytes) / 1e6, milliseconds(longest),
      milliseconds(first), milliseconds(all) / 10 / measured, milliseconds(written) / 10 / measured);
  auto begun = Clock::now();
  Engine restored{pack};
  const auto from = restored.shard.load(kept, static_cast<stream::Position>(handed_over));
  if (!from) fmt::print("  the state cannot be loaded: {}\n", from.error().message), std::exit(1);
  const auto loaded = Clock::now() - begun;
  restored.at = static_cast<std::uint64_t>(*from);
  begun = Clock::now();
  consume(restored, seconds, [](unsigned) {});
  fmt::print("  restored in {:.2f} s, the making of {} messages that it reads again included: {:.2f} s to load\n",
             milliseconds(loaded + (Clock::now() - begun)) / 1e3, restored.at - static_cast<std::uint64_t>(*from),
             milliseconds(loaded) / 1e3);
  if (restored.shard.digests() != engine.shard.digests()) fmt::print("  the restored engine differs\n"), std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") quick = true;
    else if (argument == "large" || argument == "jobs" || argument == "ranks" || argument == "many")
      names.push_back(argument);
    else std::fprintf(stderr, "usage: bench_snapshot [--quick] [large] [jobs] [ranks] [many]\n"), std::exit(2);
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
  if (chosen("ranks"))
    for (const unsigned ranks : {65'536u, 131'072u, 200'000u}) large(pack, quick ? ranks / 32 : ranks, 60, false);
  if (chosen("many"))
    for (const unsigned count : {4'000u, 25'000u}) jobs(pack, quick ? count / 10 : count, 8, 400);
  return 0;
}
