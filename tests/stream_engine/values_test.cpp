// What a record's values are, and whom they are about.
#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

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
       {Given{"step_time", "ms", 200, "exact"}, Given{"step_time", "", 0.2, "exact"},
        Given{"step_time_ms", "", 200, "exact"}, Given{"step_time_ms", "us", 200'000, "exact"},
        Given{"step_time_ms", "seconds", 0.2, "exact"}, Given{"memory", "KiB", 1024, "full"},
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
  for (const auto& [signal, unit] :
       {std::pair{"step_time", "MiB"}, std::pair{"memory", "text"}, std::pair{"busy", "count"},
        std::pair{"moved", "parsecs"}, std::pair{"pulse", "seconds"}}) {
    CAPTURE(signal);
    SmallJob job{units_pack()};
    feed(job, signal, unit, 0);
    CHECK(job.counted().unit_mismatch == (unit == std::string_view{"text"} ? 0 : 59));
    CHECK(job.last("slow", 1) == Truth::unknown);
    CHECK(job.last("full", 1) == Truth::unknown);
    CHECK(job.last("half", 1) == Truth::unknown);
    CHECK(job.last("no_pulse", 1) == Truth::unknown);  // what its source measured is unknown, not silence
    CHECK_FALSE(job.ever("silent", 1, Truth::yes));
  }
}

TEST_CASE(
    "a point more than ten minutes before its arrival is placed at its arrival, and a newer one is too late for its "
    "row") {
  SmallJob job{units_pack()};
  const auto old = [&](double s, double seconds) {
    EntryBuilder b;
    const EntryBuilder::Value value[] = {{"step_time", 5, {}, false}};
    b.sample(SmallJob::at(s - seconds), EntryBuilder::rank(0), value);
    job.consume(b, s);
  };
  old(1000, 600.5);
  CHECK(job.shard.counters().corrected_times == 1);
  CHECK(job.shard.counters().late == 0);
  old(1001, 600);
  CHECK(job.shard.counters().corrected_times == 1);
  CHECK(job.shard.counters().late == 1);
  EntryBuilder b;  // of the future: each value counts
  const EntryBuilder::Value values[] = {{"busy", 0.5, {}, false}, {"memory", 5, {}, false}};
  for (std::uint32_t rank = 0; rank < 2; ++rank) b.sample(SmallJob::at(1010), EntryBuilder::rank(rank), values);
  job.consume(b, 1002);
  CHECK(job.counted().corrected_times == 5);
}

TEST_CASE("a rank that has exited is expected no more: it is neither silent nor does anybody wait for it") {
  SmallJob job{units_pack()};
  for (double s = 1; s < 60; ++s) {
    EntryBuilder b;
    const EntryBuilder::Value value[] = {{"busy", 0.5, {}, false}};
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      if (rank == 0 || s < 20) b.sample(SmallJob::at(s), EntryBuilder::rank(rank), value);
    if (s == 20) b.event(SmallJob::at(s), EntryBuilder::rank(2), "exit", {});
    job.consume(b, s);
    job.beats(s, s);
  }
  CHECK(job.ever("silent", 2, Truth::yes));
  CHECK_FALSE(job.ever("silent", 3, Truth::yes));
  CHECK(job.last("silent", 3) == Truth::unknown);
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
  for (const char* text :
       {"all is well", "heat 7", "boom"}) {  // an ordinary line, and what extraction makes samples and events of
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
  CHECK(after.last("no_boom", 1) ==
        Truth::unknown);  // 40 s ago one came, and since then nobody has listened to the log
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
    const Field pci{"gpu_pci", 0, "00000000:3B:00.0", true}, index{"gpu_index", 3, {}, false},
        uuid{"gpu_uuid", 0, "GPU-77", true};
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

namespace {

const stream::LoadedPack& texts_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      phase = { kind = "state", unit = "text", owner = "job" },
      mood  = { kind = "state", unit = "text", owner = "job" },
      saved = { kind = "event", unit = "none", owner = "job", fields = { path = "text", step = "count" } } })lua",
                                                        R"lua(
      rule "evaluates" { per = "job", every = "10s", needs = { phase = signal "phase" { over = "30s" } },
        evaluate = function(job) return job.phase:last():is("eval") end }
      rule "trains" { per = "job", every = "10s", needs = { phase = signal "phase" { over = "30s" } },
        evaluate = function(job) return job.phase:last():is("train") end }
      rule "saved_one" { per = "job", every = "10s", needs = { saved = signal "saved" { over = "1m" } }, summary = "s", shows = "in {path}",
        evaluate = function(job) return job.saved:where { path = "1" }:count():at_least(1), { path = job.saved:last("path") } end })lua",
                                                        R"lua(
      parser "mood" { line = [[mood]], states = { mood = "eval" } }
      parser "phase" { line = [[phase (?P<phase>\d+)]], samples = { phase = "phase" } })lua");
  return pack;
}

}  // namespace

TEST_CASE("a number is no text: it names none of those that came with it") {
  using Value = EntryBuilder::Value;
  SmallJob job{texts_pack()};
  for (double s = 1; s < 60; ++s) {
    EntryBuilder b;
    b.sample(SmallJob::at(s), EntryBuilder::job(),
             std::array{Value{"phase", 0, {}, false}, Value{"mood", 0, "eval", true}});
    job.consume(b, s);
    job.beats(s, s);
  }
  CHECK(job.last("evaluates", 0) == Truth::unknown);
  CHECK(job.counted().unit_mismatch == 59);
  SmallJob texts{texts_pack()};
  for (double s = 1; s < 60; ++s) {
    EntryBuilder b;
    b.sample(SmallJob::at(s), EntryBuilder::job(),
             std::array{Value{"phase", 0, "train", true}, Value{"mood", 0, "eval", true}});
    texts.consume(b, s);
    texts.beats(s, s);
  }
  CHECK(texts.last("trains", 0) == Truth::yes);
  CHECK(texts.shard.counters().unit_mismatch == 0);
}

TEST_CASE("a number in a line is no text either") {
  SmallJob job{texts_pack()};
  feed_lines(job, "mood", "", 1, 5);
  feed_lines(job, "phase 0", "", 5, 60);
  CHECK(job.last("evaluates", 0) == Truth::unknown);
  CHECK(job.shard.counters().unknown_signal == 55);
}

TEST_CASE("a text that an event carries as a number is that number's text, not another text") {
  using Field = EntryBuilder::Field;
  SmallJob job{texts_pack()};
  EntryBuilder b;
  b.event(SmallJob::at(1), EntryBuilder::job(), "saved",
          std::array{Field{"path", 0, "/home/a", true}, Field{"step", 5, {}, false}});
  b.event(SmallJob::at(2), EntryBuilder::job(), "saved",
          std::array{Field{"path", 0, "/home/b", true}, Field{"step", 6, {}, false}});
  b.event(SmallJob::at(3), EntryBuilder::job(), "saved",
          std::array{Field{"path", 1, {}, false}, Field{"step", 7, {}, false}});
  job.consume(b, 3);
  job.beats(4, 60);
  CHECK(job.last("saved_one", 0) == Truth::yes);
  REQUIRE(job.collector.transitions.size() == 1);
  CHECK(job.collector.transitions[0].shows == "in 1");
}
