// While nothing arrives, rules are not evaluated again and again; the results are those of an engine that evaluates
// every tick.
#include <doctest/doctest.h>

#include <random>

#include "tests/seed.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

constexpr double hour = 3'600, day = 86'400;

const stream::LoadedPack& pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank", source = "sensor" },
      load = { kind = "gauge", unit = "none", owner = "node" },
      step = { kind = "step", unit = "count", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true },
      moved = { kind = "counter", unit = "bytes", owner = "rank" },
      phase = { kind = "state", unit = "text", owner = "rank" },
      boom = { kind = "event", unit = "none", owner = "rank", source = "sensor", fields = { code = "count" } },
      any = { kind = "liveness", unit = "none", owner = "rank" } })lua",
                                                        R"lua(
      rule "hot" { family = "B3", per = "rank", every = "5s", fire = "2 of 3", needs = { heat = signal "heat" { over = "20s" } },
        shows = "rank {rank} on {node} is hot", evaluate = function(job) return job.heat:mean():above(50) end }
      rule "usual" { per = "rank", every = "10s", needs = { heat = signal "heat" { over = "30s" },
          usual = signal "heat" { over = "10m", lag = "20s", freeze = true } }, yields_to = { "hot" },
        evaluate = function(job) return job.heat:mean():above(1.5 * job.usual:median()) end }
      rule "silent" { family = "C", per = "rank", every = "1s", needs = { any = signal "any" { over = "60s" } },
        shows = "nothing for {age:.0f} s", evaluate = function(job) local age = job.any:age() return age:above(30), { age = age } end }
      rule "long_silent" { per = "rank", every = "10s", fire = "for 2m", yields_to = { "silent" },
        needs = { any = signal "any" { over = "60s" } }, shows = "nothing for {age:.0f} s",
        evaluate = function(job) local age = job.any:age() return age:at_least("7h"), { age = age } end }
      rule "uneven" { per = "rank", every = "10s", needs = { any = signal "any" { over = "60s" }, step = signal "step" { over = "60s" } },
        evaluate = function(job)
          return (job.any:age() - job.step:age():min("job")):above(100) & job.step:age():below("2h") | (-job.any:age()):below(-30000) end }
      rule "all_silent" { per = "job", every = "30s", needs = { step = signal "step" { over = "60s" } },
        evaluate = function(job)
          return job.step:age():min("job"):above("3h") & job.step:age():above(40):all("job") | job.step:age():count("job"):is(0) end }
      rule "rising" { per = "job", every = "10s", needs = { loss = signal "loss" { over = 20, least = 2 }, all = signal "loss" { over = "attempt", least = 1 } },
        evaluate = function(job) return job.loss:slope():above(0) & job.all:max():above(1) end }
      rule "counts" { per = "rank", every = "10s", needs = { heat = signal "heat" { over = "60s" }, boom = signal "boom" { over = "2m" },
          ever = signal "boom" { over = "attempt" } },
        evaluate = function(job) return job.heat:count():below(1) | job.boom:count():above(1) | job.ever:rate():above(0.01) |
          job.ever:age():above("5h") end }
      rule "newest" { per = "rank", every = "10s", needs = { any = signal "any" { over = "60s" }, heat = signal "heat" { over = "60s" },
          boom = signal "boom" { over = "attempt" } },
        evaluate = function(job) return job.any:older_than("6h") & ~job.any:within("50s") & job:age():above("5h") |
          job.boom:older_than("4h") & job.boom:seen() & ~job.heat:seen() & greatest_known(job.any:age(), job.boom:age()):above("4h") end }
      rule "moving" { per = "rank", every = "20s", needs = { moved = signal "moved" { over = "2m" } }, state = { most = 0 },
        evaluate = function(job, p, state) local now = job.moved:mean() state.most = greatest(now, state.most) return now:above(state.most) end }
      rule "flips" { severity = "none", per = "job", every = "20s", needs = { any = signal "any" { over = "60s" } }, state = { odd = 0 },
        evaluate = function(job, p, state) state.odd = 1 - state.odd return job.any:age():min("job"):above(60) & state.odd:above(0) end }
      rule "follows" { per = "rank", every = "10s", needs = { was = finding "silent", uneven = finding "uneven", flips = finding "flips" },
        evaluate = function(job) return (job.was:now() & ~job.uneven:ever()) | job.flips:now() end }
      rule "for_a_while" { per = "job", every = "1m", needs = { any = signal "any" { over = "60s" } },
        evaluate = function(job)
          return job.any:age():min("job"):above("2h") & ~job.any:age():min("job"):above("5h") end }
      rule "scripted" { per = "job", every = "1m", needs = { any = signal "any" { over = "60s" } },
        evaluate = function(job) if (job.any:age():min("job"):above("1h")):yes() then return job.any:age():max("job"):above("2h") end
          return job.any:age():max("job"):above(50) end })lua");
  return pack;
}

// A log with times in which nothing arrives. `engine` is one engine; the other evaluates at every tick.
struct Pair {
  // With `columns`, digests are of every value that rules saw, and nothing is left out.
  explicit Pair(bool columns = false)
      : engine{pack(), nullptr, {.digest_columns = columns}},
        every{pack(), nullptr, {.digest_columns = columns, .evaluate_all = true}} {
    engine.shard.observe({}), every.shard.observe({});
  }
  void consume(EntryBuilder& b, double s) {
    stream::Entry entry = b.entry();
    if (rekeyed && !entry.subject.empty())
      entry.origin_source = "node/0", entry.origin_offset = ++offset, entry.arrival = SmallJob::at(s);
    engine.consume(entry, s), every.consume(entry, s);
  }
  void sample(double s, std::uint32_t rank, double heat, double loss = 1) {
    EntryBuilder b;
    b.about("job");
    EntryBuilder::Member member = EntryBuilder::rank(rank);
    member.node = "n" + std::to_string(rank / 2);
    const EntryBuilder::Value values[] = {{"heat", heat, {}, false},    {"load", heat, {}, false},
                                          {"moved", s * 10, {}, false}, {"step", std::floor(s), {}, false},
                                          {"loss", loss, {}, false},    {"phase", 0, "train", true}};
    b.sample(SmallJob::at(s), member, values, "sensor");
    consume(b, s);
  }
  void event(double s, const char* name, std::vector<EntryBuilder::Field> fields = {},
             EntryBuilder::Member member = EntryBuilder::job()) {
    EntryBuilder b;
    b.about("job");
    b.event(SmallJob::at(s), member, name, fields, "sensor");
    consume(b, s);
  }
  void beats(double from, double to) {
    for (double s = from; s <= to; ++s) beat(s);
  }
  void beat(double s) {
    EntryBuilder b;
    b.beat();
    if (rekeyed) b.watermark("node/0", SmallJob::at(s - behind));
    consume(b, s);
  }
  void busy(double from, double to) {
    for (double s = from; s <= to; ++s) {
      for (std::uint32_t rank = 0; rank < 4; ++rank) sample(s, rank, rank == 3 ? 80 : 20);
      if (beating) beat(s);
    }
  }
  // A record of another job: it moves the log's clock.
  void other(double s) {
    EntryBuilder b;
    b.about("other");
    const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    consume(b, s);
  }
  void same() const {
    CHECK(engine.shard.digests() == every.shard.digests());
    CHECK(engine.collector.reported == every.collector.reported);
    CHECK(engine.shard.counters().ticks == every.shard.counters().ticks);
    CHECK(every.shard.counters().repeated == 0);
    CHECK(engine.shard.counters().evaluations + engine.shard.counters().repeated == every.shard.counters().evaluations);
  }
  bool beating = true;
  bool rekeyed = false;  // the job's records come from another log,
  double behind = 0;     // which is read late
  std::uint64_t offset = 0;
  SmallJob engine, every;
};

}  // namespace

TEST_CASE("a silent day costs few evaluations and gives what an evaluation at each tick gives") {
  Pair both;
  both.busy(1, 600);
  const std::uint64_t before = both.engine.shard.counters().evaluations;
  both.beats(601, day);
  both.same();
  CHECK(both.engine.shard.counters().ticks > 86'000);
  CHECK(both.every.shard.counters().evaluations - before > 150'000);
  CHECK(both.engine.shard.counters().evaluations - before < 25'000);
  // The day ends with an end that nobody reported.
  both.beats(day + 1, day + 1'000);
  both.same();
  CHECK(both.engine.shard.subjects() == 1);
}

TEST_CASE("in a log without beats, a silent day in one step gives what it gives second by second") {
  Pair slow, fast;
  const double end = 6 * hour * tocsin::test::tries(4);
  for (Pair* both : {&slow, &fast}) both->beating = false, both->busy(1, 600);
  for (double s = 601; s <= end; ++s) slow.other(s);
  fast.other(end);
  slow.same();
  fast.same();
  CHECK(fast.engine.digest() == slow.engine.digest());
  std::size_t silent = 0;
  for (const auto& t : fast.engine.collector.transitions)
    silent += t.rule == "all_silent" && t.subject == "job" ? 1 : 0;
  CHECK(silent > 0);
}

TEST_CASE("time without beats is in no age, whether or not records of another job come in it") {
  for (const double hole : {4., 20., 60.}) {
    CAPTURE(hole);
    Pair alone{true}, beside{true};
    for (Pair* both : {&alone, &beside}) both->busy(1, 300), both->busy(320, 600);
    for (double s = 601; s < 600 + hole; ++s) beside.other(s);
    for (Pair* both : {&alone, &beside}) both->beats(600 + hole, 620 + hole);
    CHECK(alone.engine.digest() == beside.engine.digest());
    for (const auto& t : beside.engine.collector.transitions) CHECK(t.rule != "silent");
  }
}

TEST_CASE("a hole of beats after hours of silence gives what an evaluation at each tick gives") {
  // Within the hole's first 5 s `all_silent` says yes at one tick of 30 s, and no at the next.
  for (std::uint32_t after = 0; after < 3 * tocsin::test::tries(10); after += 3) {
    CAPTURE(after);
    Pair both;
    both.busy(1, 600);
    const double hole = 600 + 3 * hour + after;
    both.beats(601, hole);
    for (double s = hole + 1; s <= hole + 90; ++s) both.other(s);
    both.beats(hole + 91, hole + 120);
    both.same();
  }
}

TEST_CASE("an age that falls when a hole of beats begins to count is seen by a rule that has just begun to repeat") {
  // `all_silent` is looked at each 30 s, at a phase that some `after` meets: behind a hole of 10 s, it repeats from the
  // first tick at which the age is above 3 h. That age is within the first 5 s of the next hole; once these are in no
  // age, it is below.
  for (std::uint32_t after = 0; after < 3 * tocsin::test::tries(10); after += 3) {
    CAPTURE(after);
    Pair both;
    both.busy(1, 600 + after);
    const double above = 600 + after + 3 * hour + 10;
    both.beats(601 + after, above - 25);
    both.beats(above - 15, above - 2);
    for (double s = above - 1; s <= above + 60; ++s) both.other(s);
    both.beats(above + 61, above + 70);
    both.same();
  }
}

TEST_CASE("an alert on silence fires at its tick, hours after anything arrived, with the age of that tick") {
  Pair both;
  both.busy(1, 600);
  both.beats(601, 8 * hour);
  both.same();
  std::vector<double> fired;
  for (const auto& t : both.engine.collector.transitions)
    if (t.rule == "all_silent" && t.state == stream::AlertState::firing)
      fired.push_back(stream::seconds(t.at - SmallJob::at(600)));
  REQUIRE(fired.size() == 1);
  CHECK(fired.front() > 3 * hour - 2);
  CHECK(fired.front() <= 3 * hour + 30);
}

TEST_CASE("what was unknown while a silent job's source was behind is judged anew once it has been read") {
  Pair both;
  both.rekeyed = true;
  both.busy(1, 60);
  both.beats(61, 3'000);
  both.behind = 300;
  both.beats(3'001, 3'400);
  const std::uint64_t repeated = both.engine.shard.counters().repeated;
  both.behind = 0;
  both.beats(3'401, 4'000);
  both.same();
  CHECK(both.engine.shard.counters().repeated > repeated);
}

TEST_CASE("random silences, gaps, records and restarts give what an evaluation at each tick gives") {
  const std::uint32_t seed = tocsin::test::seed(30);
  std::mt19937 random{seed};
  for (std::uint32_t log = 0; log < tocsin::test::tries(3); ++log) {
    Pair both;
    both.rekeyed = log == 1;
    both.busy(1, 60);
    double s = 60;
    stream::Shard::Sections sections;
    stream::Position handed_over{};
    for (int part = 0; part < 6; ++part) {
      const double end = s + 600 + static_cast<double>(random() % 12'000);
      while (++s < end) {
        if (random() % 2'000 == 0) s += static_cast<double>(random() % 3'000);
        if (random() % 1'500 == 0) both.behind = random() % 2 ? 0 : static_cast<double>(random() % 400);
        both.beat(s);
      }
      if (part == 3) sections = both.engine.shard.take_sections(true), handed_over = both.engine.end();
      switch (random() % 5) {
        case 0:
          both.event(s, "boom", {{"code", 3, {}, false}}, EntryBuilder::rank(static_cast<std::uint32_t>(random() % 5)));
          break;
        case 1:
          both.event(s, "member", {{"node", 0, "n7", true}},
                     EntryBuilder::rank(static_cast<std::uint32_t>(random() % 6)));
          break;
        case 2: both.event(s, random() % 2 ? "end" : "start"); break;
        case 3: both.sample(s, static_cast<std::uint32_t>(random() % 5), 80, 2); break;
        default: both.busy(s, s + 20), s += 20; break;
      }
    }
    both.same();
    CHECK(both.engine.shard.counters().unit_mismatch == 0);
    CHECK(both.engine.shard.counters().repeated > 100);
    SmallJob restarted{pack()};
    restarted.shard.observe({});
    restarted.restore(both.engine, sections, handed_over);
    CHECK(restarted.shard.digests() == both.engine.shard.digests());
  }
}

TEST_CASE("no rule repeats while a source that has fallen silent counts as live") {
  const auto pack =
      SmallJob::load(R"lua(signals {
      boom = { kind = "event", unit = "none", owner = "rank", source = "sensor" } })lua",
                     R"lua(rule "none" { per = "rank", every = "1s", needs = { boom = signal "boom" { over = "5s" } },
        evaluate = function(job) return job.boom:count():is(0) end })lua");
  SmallJob engine{pack}, every{pack, nullptr, {.evaluate_all = true}};
  for (SmallJob* log : {&engine, &every}) {
    log->shard.observe({});
    for (double s = 1; s < 60; ++s) {
      EntryBuilder b;
      if (s == 1) b.event(SmallJob::at(s), EntryBuilder::rank(0), "boom", {}, "sensor");
      b.coverage("sensor", {});
      log->consume(b, s);
    }
    log->beats(60, 300);
  }
  CHECK(engine.shard.counters().repeated > 0);
  CHECK(engine.shard.digests() == every.shard.digests());
}

TEST_CASE("the long windows of other rules keep none from repeating: evaluations do not grow with silence") {
  // `seldom` and the cluster's rule look at an hour and a week.
  const auto pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      boom = { kind = "event", unit = "none", owner = "gpu", source = "sensor" } })lua",
                                   R"lua(
      rule "hot" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "20s" } },
        evaluate = function(job) return job.heat:mean():above(50) end }
      rule "seldom" { per = "gpu", every = "1h", needs = { boom = signal "boom" { over = "1h" } },
        evaluate = function(job) return job.boom:count():above(1) end }
      rule "weekly" { scope = "cluster", per = "gpu", every = "1h", needs = { boom = signal "boom" { over = "7d" } },
        evaluate = function(cluster) return cluster.boom:count():above(1) end })lua");
  const auto evaluations = [&](double silence) {
    SmallJob log{pack};
    log.shard.observe({});
    EntryBuilder b;
    const EntryBuilder::Value values[] = {{"heat", 90, {}, false}};
    b.sample(SmallJob::at(1), EntryBuilder::rank(0), values);
    log.consume(b, 1);
    log.beats(2, silence);
    CHECK(log.shard.counters().evaluations + log.shard.counters().repeated >= static_cast<std::uint64_t>(silence) - 5);
    return log.shard.counters().evaluations;
  };
  CHECK(evaluations(600) < 200);
  CHECK(evaluations(3'000) == evaluations(600));
}

TEST_CASE("a rule that freezes does not repeat while it has an alert, whose end frees its values") {
  const auto pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" }, load = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                                   R"lua(rule "hot" { per = "rank", every = "5s", shows = "hot", needs = {
        heat = signal "heat" { over = "10s", freeze = true }, load = signal "load" { over = "10s" } },
        evaluate = function(job) return job.heat:mean():fill(0):above(50) & job.load:mean():above(0) end })lua");
  SmallJob engine{pack}, every{pack, nullptr, {.evaluate_all = true}};
  for (SmallJob* log : {&engine, &every}) {
    log->shard.observe({});
    for (double s = 1; s < 60; ++s) {
      EntryBuilder b;
      const EntryBuilder::Value values[] = {{"heat", 90, {}, false}, {"load", 1, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      log->consume(b, s);
    }
    log->beats(60, 2'000);
    REQUIRE(log->collector.transitions.size() == 2);
    CHECK(log->collector.transitions[1].reason == stream::ResolveReason::no_data);
  }
  CHECK(engine.shard.counters().repeated > 0);
  CHECK(engine.shard.digests() == every.shard.digests());
}

TEST_CASE("an alert that ends without data no longer answers yes to a rule that reads it") {
  const auto pack = SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                                   R"lua(
      rule "hot" { per = "rank", every = "5s", shows = "hot", needs = { heat = signal "heat" { over = "10s" } },
        evaluate = function(job) return job.heat:mean():above(50) end }
      rule "any_hot" { per = "job", every = "5s", shows = "any", needs = { hot = finding "hot" },
        evaluate = function(job) return job.hot:now():any("job") end })lua");
  SmallJob engine{pack}, every{pack, nullptr, {.evaluate_all = true}};
  for (SmallJob* log : {&engine, &every}) {
    log->shard.observe({});
    for (double s = 1; s < 60; ++s) {
      EntryBuilder b;
      const EntryBuilder::Value values[] = {{"heat", 90, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      log->consume(b, s);
    }
    log->beats(60, 3'000);
    CHECK(log->collector.transitions.size() == 4);
  }
  CHECK(engine.shard.counters().repeated > 0);
  CHECK(engine.collector.reported == every.collector.reported);
  CHECK(engine.shard.digests() == every.shard.digests());
}
