// What a record's values are, and in which order they count.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>

#include "dsl/text/extraction.h"
#include "dsl/text_definitions.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

stream::LoadedPack SmallJob::load(const std::string& signals, const std::string& rules, const std::string& patterns) {
  const std::map<std::string, std::string> files{{"signals.lua", signals}, {"rules.lua", rules}, {"patterns/lines.lua", patterns}};
  const dsl::Loaded loaded = dsl::load(files);
  if (!loaded.pack) throw std::runtime_error(loaded.problems.empty() ? "no pack" : dsl::describe(loaded.problems.front()));
  if (patterns.empty()) return {loaded.pack, nullptr};
  const auto compiled = dsl::compile_text(files);
  if (!compiled.source) throw std::runtime_error(compiled.problems.empty() ? "no patterns" : compiled.problems.front().message);
  return {loaded.pack, compiled.source};
}

namespace {

const stream::LoadedPack& units_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      step_time = { kind = "gauge", unit = "seconds", owner = "rank", points = true, aliases = { step_time_ms = 0.001 } },
      memory = { kind = "gauge", unit = "bytes", owner = "rank" },
      busy = { kind = "gauge", unit = "ratio", owner = "rank" },
      moved = { kind = "counter", unit = "bytes", owner = "rank" },
      pulse = { kind = "gauge", unit = "none", owner = "rank", source = "collector" },
      any = { kind = "liveness", unit = "none", owner = "rank" } })lua",
                                                        R"lua(
      rule "slow" { per = "rank", every = "10s", needs = { x = signal "step_time" { over = "30s" } },
        evaluate = function(job) return job.x:mean():above(1) end }
      rule "exact" { per = "rank", every = "10s", needs = { x = signal "step_time" { over = "30s" } },
        evaluate = function(job) return job.x:mean():above(0.1999) & job.x:mean():below(0.2001) end }
      rule "full" { per = "rank", every = "10s", needs = { x = signal "memory" { over = "30s" } },
        evaluate = function(job) return job.x:mean():above(1048575) & job.x:mean():below(1048577) end }
      rule "half" { per = "rank", every = "10s", needs = { x = signal "busy" { over = "30s" } },
        evaluate = function(job) return job.x:mean():above(0.49) & job.x:mean():below(0.51) end }
      rule "silent" { per = "rank", every = "10s", needs = { any = signal "any" { over = "30s" } },
        evaluate = function(job) return job.any:age():above(15) end }
      rule "no_pulse" { per = "rank", every = "10s", needs = { pulse = signal "pulse" { over = "30s" } },
        evaluate = function(job) return job.pulse:age():above(15) end })lua");
  return pack;
}

// One value a second of one signal in a unit, of rank 0.
void feed(SmallJob& job, std::string_view name, std::string_view unit, double value, bool wide = false) {
  for (double s = 1; s < 60; ++s) {
    const stream::SampleBlock::Signal signals[] = {{name, unit, stream::SignalKind::gauge}};
    const stream::MemberKey members[] = {{stream::Level::rank, 0, {}, {}}};
    const stream::Time times[] = {SmallJob::at(s)};
    const float narrow[] = {static_cast<float>(value)};
    const double doubles[] = {value};
    stream::SampleBlock block;
    block.signals = signals, block.members = members, block.times = times;
    if (wide) block.wide = doubles;
    else block.narrow = narrow;
    stream::Entry entry;
    entry.subject = "job";
    entry.samples = {&block, 1};
    job.consume(entry, s);
    job.beats(s, s);
  }
}

}  // namespace

TEST_CASE("a value in another unit of the same kind is judged in the signal's own") {
  struct Given {
    const char *signal, *unit;
    double value;
    const char* rule;
  };
  for (const Given& given :
       {Given{"step_time", "ms", 200, "exact"}, Given{"step_time", "", 0.2, "exact"}, Given{"step_time_ms", "", 200, "exact"},
        Given{"step_time_ms", "us", 200'000, "exact"}, Given{"step_time_ms", "seconds", 0.2, "exact"}, Given{"memory", "KiB", 1024, "full"},
        Given{"memory", "MiB", 1, "full"}, Given{"busy", "%", 50, "half"}, Given{"busy", "none", 0.5, "half"}}) {
    CAPTURE(given.signal);
    CAPTURE(given.unit);
    for (const bool wide : {false, true}) {
      SmallJob job{units_pack()};
      feed(job, given.signal, given.unit, given.value, wide);
      CHECK(job.last(given.rule, 1) == Truth::yes);
      CHECK(job.last("slow", 1) != Truth::yes);
      CHECK(job.shard.counters().unit_mismatch == 0);
    }
  }
}

TEST_CASE("a block in a unit of another kind is refused and counted, and still proves that its members are alive") {
  for (const auto& [signal, unit] : {std::pair{"step_time", "MiB"}, std::pair{"memory", "text"}, std::pair{"busy", "count"},
                                     std::pair{"moved", "parsecs"}, std::pair{"pulse", "seconds"}}) {
    CAPTURE(signal);
    SmallJob job{units_pack()};
    feed(job, signal, unit, 0);
    CHECK(job.shard.counters().unit_mismatch == (unit == std::string_view{"text"} ? 0 : 59));
    CHECK(job.last("slow", 1) == Truth::unknown);
    CHECK(job.last("full", 1) == Truth::unknown);
    CHECK(job.last("half", 1) == Truth::unknown);
    CHECK(job.last("no_pulse", 1) == Truth::unknown);  // what its source measured is unknown, not silence
    CHECK_FALSE(job.ever("silent", 1, Truth::yes));
  }
}

namespace {

const stream::LoadedPack& lines_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      boom = { kind = "event", unit = "none", owner = "rank", source = "log" },
      oops = { kind = "event", unit = "none", owner = "rank", source = "kernel_log" },
      heat = { kind = "gauge", unit = "none", owner = "rank", source = "log" } })lua",
                                                        R"lua(
      rule "no_boom" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "20s" } },
        evaluate = function(job) return job.x:count():below(1) end }
      rule "no_oops" { per = "rank", every = "10s", needs = { x = signal "oops" { over = "20s" } },
        evaluate = function(job) return job.x:count():below(1) end })lua",
                                                        R"lua(
      pattern "boom" { line = [[boom]], event = "boom" }
      pattern "heat" { line = [[heat (?P<heat>\d+)]], samples = { heat = "heat" } }
      pattern "oops" { line = [[oops begins]], continues = [[^  ]], event = "oops", source = "kernel_log" })lua");
  return pack;
}

// A line a second of rank 0, of a source.
void feed_lines(SmallJob& job, const std::string& text, std::string_view source, double from, double to) {
  for (double s = from; s < to; ++s) {
    EntryBuilder b;
    b.line(SmallJob::at(s), EntryBuilder::rank(0), text, false, source);
    job.consume(b, s);
    job.beats(s, s);
  }
}

}  // namespace

TEST_CASE("a line covers its own source: lines of the kernel do not make silence of the ranks' log known") {
  for (const char* text : {"all is well", "heat 7", "boom"}) {  // an ordinary line, and what extraction makes samples and events of
    CAPTURE(text);
    SmallJob kernel{lines_pack()}, own{lines_pack()}, named{lines_pack()};
    feed_lines(kernel, text, "kernel_log", 1, 60);
    CHECK(kernel.last("no_oops", 1) == Truth::yes);
    CHECK(kernel.last("no_boom", 1) == (text == std::string_view{"boom"} ? Truth::no : Truth::unknown));
    feed_lines(own, text, "", 1, 60);
    CHECK(own.last("no_oops", 1) == Truth::unknown);
    CHECK(own.last("no_boom", 1) == (text == std::string_view{"boom"} ? Truth::no : Truth::yes));
    feed_lines(named, text, "log", 1, 60);
    CHECK(named.digest() == own.digest());
  }
  SmallJob after{lines_pack()};
  feed_lines(after, "boom", "kernel_log", 1, 20);
  feed_lines(after, "heat 7", "kernel_log", 20, 60);
  CHECK(after.last("no_boom", 1) == Truth::unknown);  // 40 s ago one came, and since then nobody has listened to the log
}

TEST_CASE("a record of several lines is assembled of the lines of one source, and covers that") {
  SmallJob job{lines_pack()};
  for (double s = 1; s < 60; ++s) {
    EntryBuilder b;
    b.line(SmallJob::at(s), EntryBuilder::rank(0), "oops begins", false, "kernel_log");
    b.line(SmallJob::at(s), EntryBuilder::rank(0), "  in the ranks' own words", false, "ipmi");
    job.consume(b, s);
    job.beats(s, s);
  }
  CHECK(job.last("no_oops", 1) == Truth::no);
  CHECK(job.last("no_boom", 1) == Truth::unknown);
}

namespace {

const stream::LoadedPack& order_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      beep = { kind = "gauge", unit = "none", owner = "rank", points = true },
      load = { kind = "gauge", unit = "none", owner = "rank" },
      step = { kind = "step", unit = "count", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true },
      boom = { kind = "event", unit = "none", owner = "rank", source = "log", lateness = "5s", fields = { code = "none", why = "text" } } })lua",
                                                        R"lua(
      rule "beeps" { per = "rank", every = "3s", needs = { x = signal "beep" { over = 5, least = 1 } },
        evaluate = function(job) return job.x:first():above(job.x:last()) end }
      rule "slope" { per = "rank", every = { "x", "10s" }, needs = { x = signal "beep" { over = 7, least = 2 } },
        evaluate = function(job) return job.x:last():above(job.x:median()) end }
      rule "booms" { per = "rank", every = { "x", "10s" }, needs = { x = signal "boom" { over = "20s" } },
        evaluate = function(job) return job.x:first("code"):above(job.x:last("code")) end }
      rule "losses" { per = "job", every = { "x", "10s" }, needs = { x = signal "loss" { over = 6, least = 1 } },
        evaluate = function(job) return job.x:last():above(job.x:first()) end }
      rule "loads" { per = "rank", every = "3s", needs = { x = signal "load" { over = "20s" } },
        evaluate = function(job) return job.x:last():above(0.5) end })lua");
  return pack;
}

std::uint64_t chosen_seed() {
  const char* given = std::getenv("TOCSIN_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Records of two producers, one of which begins again, at whole seconds, so that many are of one time and member. Each entry arrives
// between one and four seconds later: within the lateness, in an order that `delays` decides.
std::vector<std::pair<double, stream::Entry>> scattered(std::vector<EntryBuilder>& built, std::uint64_t seed, std::uint64_t delays) {
  std::mt19937_64 random{seed}, delay{delays};
  std::map<std::string, std::uint64_t> sequences;
  std::vector<std::pair<double, stream::Entry>> entries;
  built.clear();
  std::vector<double> arrivals;
  const auto number = [&] { return static_cast<double>(random() % 16); };
  for (int s = 1; s < 120; ++s)
    for (std::uint64_t many = 1 + random() % 4; many > 0; --many) {
      EntryBuilder& b = built.emplace_back();
      b.about("job");
      const bool first = random() % 2 == 0 && (s < 55 || s >= 60);  // nothing of an epoch is read after the next has begun
      const std::uint32_t epoch = first && s >= 60 ? 2 : 1;
      const std::string producer = first ? "a" : "b";
      b.produced_by(producer, epoch, ++sequences[producer + std::to_string(epoch)]);
      for (std::uint64_t records = 1 + random() % 3; records > 0; --records) {
        const auto rank = EntryBuilder::rank(static_cast<std::uint32_t>(random() % 2));
        const EntryBuilder::Value values[] = {{"beep", number(), {}, false}, {"load", number() / 16, {}, false}};
        const EntryBuilder::Value loss[] = {{"step", s * 2 + number() / 8, {}, false}, {"loss", number(), {}, false}};
        const EntryBuilder::Field fields[] = {{"code", number(), {}, false}};
        switch (random() % 3) {
          case 0: b.sample(SmallJob::at(s), rank, values); break;
          case 1: b.sample(SmallJob::at(s), rank, loss); break;
          default: b.event(SmallJob::at(s), rank, "boom", fields); break;
        }
      }
      arrivals.push_back(s + 1 + static_cast<double>(delay() % 301) / 100);
    }
  for (std::size_t i = 0; i < built.size(); ++i) entries.emplace_back(arrivals[i], built[i].entry());
  std::stable_sort(entries.begin(), entries.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return entries;
}

struct Judged {
  std::uint64_t digest, rows;
  std::map<std::string, std::vector<std::vector<Truth>>> answers;
};

Judged judge_scattered(std::uint64_t seed, std::uint64_t delays) {
  std::vector<EntryBuilder> built;
  SmallJob job{order_pack()};
  EntryBuilder start;
  const EntryBuilder::Field size[] = {{"world_size", 2, {}, false}};
  start.event(SmallJob::at(0), EntryBuilder::job(), "start", size);
  job.consume(start, 0);
  double beat = 0;
  for (const auto& [arrival, entry] : scattered(built, seed, delays)) {
    for (; beat < arrival; ++beat) job.beats(beat, beat);
    job.consume(entry, arrival);
  }
  job.beats(beat, 140);
  CHECK(job.shard.counters().late == 0);
  CHECK(job.shard.counters().duplicates == 0);
  return {job.digest(), job.shard.row_digests().at("job"), job.answers};
}

}  // namespace

TEST_CASE("in which order entries were read within their lateness changes nothing") {
  const std::uint64_t seed = chosen_seed();
  MESSAGE("TOCSIN_SEED=", seed);
  CAPTURE(seed);
  for (std::uint64_t log = 0; log < 20; ++log) {
    CAPTURE(log);
    const Judged one = judge_scattered(seed + log, 1);
    for (const char* rule : {"beeps", "slope", "booms", "losses", "loads"}) CHECK(one.answers.contains(rule));
    for (std::uint64_t delays = 2; delays < 5; ++delays) {
      const Judged other = judge_scattered(seed + log, delays);
      CHECK(other.answers == one.answers);
      CHECK(other.rows == one.rows);
      CHECK(other.digest == one.digest);
    }
  }
}

TEST_CASE("points of one time and member stand in the order of their producer's sequence, and within a message in its own") {
  const auto last_above_first = [](std::initializer_list<std::pair<std::uint64_t, std::vector<double>>> entries) {
    SmallJob job{order_pack()};
    for (const auto& [sequence, values] : entries) {
      EntryBuilder b;
      b.produced_by("a", 1, sequence);
      for (const double value : values) {
        const EntryBuilder::Value one[] = {{"beep", value, {}, false}};
        b.sample(SmallJob::at(1), EntryBuilder::rank(0), one);
      }
      job.consume(b, 1);
    }
    job.beats(2, 20);
    return job.last("beeps", 1);  // yes: the first is above the last
  };
  CHECK(last_above_first({{7, {1}}, {8, {2}}}) == Truth::no);
  CHECK(last_above_first({{8, {2}}, {7, {1}}}) == Truth::no);
  CHECK(last_above_first({{7, {2}}, {8, {1}}}) == Truth::yes);
  CHECK(last_above_first({{8, {1}}, {7, {2}}}) == Truth::yes);
  CHECK(last_above_first({{7, {1, 2}}}) == Truth::no);
  CHECK(last_above_first({{7, {2, 1}}}) == Truth::yes);
  CHECK(last_above_first({{0, {2}}, {0, {1}}}) == Truth::yes);  // without a number, they stand as they were read
  CHECK(last_above_first({{0, {1}}, {0, {2}}}) == Truth::no);
}

namespace {

const stream::LoadedPack& limits_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      boom = { kind = "event", unit = "none", owner = "rank", source = "log", fields = { code = "none", why = "text" } },
      quiet = { kind = "event", unit = "none", owner = "rank", source = "log" },
      phase = { kind = "state", unit = "text", owner = "rank" } })lua",
                                                        R"lua(
      rule "many" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:count():above(69999) & job.x:count():below(70001) end }
      rule "again" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:repeats("why"):above(1) end }
      rule "last" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:last("code"):above(0) end }
      rule "ready" { per = "rank", every = "10s", needs = { x = signal "phase" { over = "1m" } },
        evaluate = function(job) return job.x:last():is("ready") end }
      rule "other" { per = "rank", every = "10s", needs = { x = signal "phase" { over = "1m" } },
        evaluate = function(job) return job.x:last():is("(other)") end })lua");
  return pack;
}

// So many events of a rank, evenly between two times, with fields as told.
void feed_events(SmallJob& job, std::uint32_t rank, int many, double from, double to,
                 const std::function<std::vector<EntryBuilder::Field>(int)>& fields) {
  for (int i = 0; i < many;) {
    EntryBuilder b;
    double s = from;
    for (int batch = 0; batch < 500 && i < many; ++batch, ++i) {
      s = from + (to - from) * i / many;
      b.event(SmallJob::at(s), EntryBuilder::rank(rank), "boom", fields(i));
    }
    job.consume(b, s);
    job.beats(s, s);
  }
}

}  // namespace

TEST_CASE("a count of a window that outgrew its room stays exact, and the limit is counted") {
  SmallJob job{limits_pack()};
  feed_events(job, 1, 3, 1, 4, [](int) { return std::vector<EntryBuilder::Field>{{"code", 5, {}, false}}; });
  feed_events(job, 0, 70'000, 5, 250, [](int) { return std::vector<EntryBuilder::Field>{{"code", 0, {}, false}}; });
  job.beats(251, 262);
  CHECK(job.last("many", 1) == Truth::yes);
  CHECK(job.last("last", 2) == Truth::yes);  // of a rank whose events were let go for those of another
  CHECK(job.shard.counters().event_limit > 4000);
  const auto sections = job.shard.snapshot();
  job.beats(263, 300);
  CHECK(job.last("many", 1) == Truth::yes);
  CHECK(job.last("last", 2) == Truth::yes);
  job.beats(301, 330);  // the first have left
  CHECK(job.last("many", 1) == Truth::no);
  CHECK(job.last("last", 2) != Truth::yes);
  job.beats(331, 570);

  SmallJob restored{limits_pack()};
  REQUIRE(restored.shard.load(sections));
  restored.shard.filled();
  restored.beats(263, 570);
  CHECK(restored.digest() == job.digest());
}

TEST_CASE("a text beyond the limit is unknown, not another text, and is counted") {
  SmallJob job{limits_pack()};
  const auto say = [&](double s, std::string_view phase) {
    EntryBuilder b;
    const EntryBuilder::Value value[] = {{"phase", 0, phase, true}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
    job.consume(b, s);
    job.beats(s, s);
  };
  say(1, "ready");
  std::vector<std::string> texts;
  for (int i = 0; i < 66'000; ++i) texts.push_back("text " + std::to_string(i));
  const auto why = [&](int i) { return std::vector<EntryBuilder::Field>{{"why", 0, texts[static_cast<std::size_t>(i)], true}}; };
  feed_events(job, 0, 66'000, 2, 30, why);
  CHECK(job.shard.counters().text_limit == 66'001 - 65'536);
  job.beats(31, 41);
  CHECK(job.last("again", 1) == Truth::no);
  CHECK(job.last("ready", 1) == Truth::yes);
  say(42, "a new phase");
  job.beats(43, 53);
  CHECK(job.last("ready", 1) == Truth::unknown);
  CHECK(job.last("other", 1) == Truth::unknown);
  say(54, "ready");
  job.beats(55, 65);
  CHECK(job.last("ready", 1) == Truth::yes);
}

namespace {

const stream::LoadedPack& gpus_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "celsius", owner = "gpu" },
      xid = { kind = "event", unit = "none", owner = "gpu", source = "kernel_log" },
      any_gpu = { kind = "liveness", unit = "none", owner = "gpu" } })lua",
                                                        R"lua(
      rule "hot" { per = "gpu", every = "10s", needs = { heat = signal "heat" { over = "30s" }, xid = signal "xid" { over = "1m" } },
        evaluate = function(job) return job.heat:mean():above(80) & job.xid:count():above(0) end }
      rule "silent" { per = "gpu", every = "10s", needs = { any = signal "any_gpu" { over = "30s" } },
        evaluate = function(job) return job.any:age():above(15) end })lua");
  return pack;
}

EntryBuilder::Member gpu(std::string name) { return {stream::Level::gpu, 0, "n1", std::move(name)}; }

// Heat under the index and XIDs under the PCI address, for a while.
void heat_and_xid(SmallJob& job, double from, double to) {
  for (double s = from; s < to; ++s) {
    EntryBuilder b;
    const EntryBuilder::Value heat[] = {{"heat", 90, {}, false}};
    b.sample(SmallJob::at(s), gpu("3"), heat);
    b.event(SmallJob::at(s), gpu("0000:3b:00.0"), "xid", {});
    job.consume(b, s);
    job.beats(s, s);
  }
}

}  // namespace

TEST_CASE("a GPU's index, PCI address and UUID are one GPU once an event or a sample says so") {
  using Field = EntryBuilder::Field;
  const auto learn = [](int way, SmallJob& job, double s) {
    EntryBuilder b;
    const Field pci{"gpu_pci", 0, "00000000:3B:00.0", true}, index{"gpu_index", 3, {}, false}, uuid{"gpu_uuid", 0, "GPU-77", true};
    EntryBuilder::Member placed{stream::Level::rank, 0, "n1", "3"};
    const EntryBuilder::Value text[] = {{"gpu_pci", 0, "0000:3b:00.0", true}};
    const EntryBuilder::Value number[] = {{"gpu_index", 3, {}, false}, {"gpu_uuid", 0, "GPU-77", true}};
    switch (way) {
      case 0: b.event(SmallJob::at(s), placed, "member", std::array{pci, uuid}); break;
      case 1: b.event(SmallJob::at(s), gpu("GPU-77"), "member", std::array{pci, index}); break;
      case 2: b.sample(SmallJob::at(s), gpu("3"), text); break;
      default: b.sample(SmallJob::at(s), gpu("0000:3B:00.0"), number); break;
    }
    job.consume(b, s);
  };
  for (int way = 0; way < 4; ++way) {
    CAPTURE(way);
    SmallJob before{gpus_pack()}, after{gpus_pack()}, never{gpus_pack()};
    learn(way, before, 0);
    heat_and_xid(before, 1, 40);
    CHECK(before.last("hot", 0) == Truth::yes);
    heat_and_xid(after, 1, 40);
    CHECK(after.last("hot", 0) != Truth::yes);
    CHECK(after.last("hot", 1) != Truth::yes);
    learn(way, after, 40);
    heat_and_xid(after, 41, 80);
    CHECK(after.last("hot", 0) == Truth::yes);
    CHECK(after.last("hot", 1) != Truth::yes);  // it is merged away: neither expected nor silent
    CHECK_FALSE(after.ever("silent", 1, Truth::yes));
    heat_and_xid(never, 1, 80);
    CHECK(never.last("hot", 0) != Truth::yes);
    CHECK(never.last("hot", 1) != Truth::yes);
  }
}
