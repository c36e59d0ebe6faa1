// In which order points and events of one time count.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/seed.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

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
      rule "ascend" { per = "rank", every = "3s", needs = { x = signal "beep" { over = 5, least = 1 } },
        evaluate = function(job)
          local first, last = job.x:first(), job.x:last()
          return first:above(7.5) & first:below(8.5) & last:above(11.5)
        end }
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

// Records of two producers, one of which begins again, at whole seconds, so that many are of one time and member. Each
// entry arrives between one and four seconds later: within the lateness, in an order that `delays` decides.
std::vector<std::pair<double, stream::Entry>> scattered(std::vector<EntryBuilder>& built, std::uint64_t seed,
                                                        std::uint64_t delays) {
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
      const bool first =
          random() % 2 == 0 && (s < 55 || s >= 60);  // nothing of an epoch is read after the next has begun
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
  const std::uint64_t seed = tocsin::test::seed();
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

TEST_CASE("records of one arrival count in the order in which they were made, in one entry or in several") {
  const auto pack =
      SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "count", owner = "rank" },
      took = { kind = "time", unit = "seconds", owner = "rank" },
      phase = { kind = "state", unit = "text", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true } })lua",
                     R"lua(
      rule "losses" { per = "job", every = "10s", needs = { x = signal "loss" { over = 9, least = 1 } },
        evaluate = function(job) return job.x:count():is(4) & job.x:last():is(4) end }
      rule "slow" { per = "rank", every = "10s", needs = { x = signal "took" { over = "20s" } },
        evaluate = function(job) return job.x:last():above(0.003) end }
      rule "in" { per = "rank", every = "10s", needs = { x = signal "phase" { over = "20s" } }, state = { last = 0 },
        evaluate = function(job, p, state) return job.x:last():is("b") end })lua",
                     R"lua(parser "loss" { line = [[^loss (?P<loss>NUM)]], samples = { loss = "loss" } })lua");
  std::uint64_t digests[2];
  for (const bool apart : {false, true}) {
    CAPTURE(apart);
    SmallJob job{pack, nullptr, {.digest_columns = true}};
    EntryBuilder b;
    const auto next = [&] {
      if (apart) job.consume(b, 1), b.clear();
    };
    const auto value = [&](std::uint32_t rank, const EntryBuilder::Value& one) {
      b.sample(SmallJob::at(1), EntryBuilder::rank(rank), {&one, 1});
      next();
    };
    const auto loss = [&](const char* text) { b.line(SmallJob::at(1), EntryBuilder::rank(0), text), next(); };
    value(0, {"step", 1, {}, false});
    loss("loss 1"), loss("loss 9");  // the second of a step counts for nothing
    value(0, {"step", 2, {}, false});
    loss("loss 2");
    value(0, {"step", 3, {}, false});
    loss("loss 3");
    const EntryBuilder::Value both[] = {{"step", 4, {}, false}, {"phase", 0, "a", true}};
    b.sample(SmallJob::at(1), EntryBuilder::rank(0), both), next();
    loss("loss 4");
    value(0, {"took", 3, {}, false, "ms"}), value(1, {"took", 3.1, {}, false, "ms"});
    value(0, {"phase", 0, "a", true}), value(1, {"phase", 0, "b", true});
    if (!apart) job.consume(b, 1);
    job.beats(2, 20);
    CHECK(job.last("losses", 0) == Truth::yes);
    CHECK(job.last("slow", 1) == Truth::no);  // a double, although a float would be above
    digests[apart] = job.digest();
  }
  CHECK(digests[0] == digests[1]);
}

TEST_CASE("events of one arrival make one tick, in one entry or in two, also where they wait for nothing") {
  const auto pack = SmallJob::load(
      R"lua(signals { boom = { kind = "event", unit = "none", owner = "rank", source = "log", lateness = "0s" } })lua",
      R"lua(rule "booms" { per = "rank", every = "x", needs = { x = signal "boom" { over = "20s" } },
        evaluate = function(job) return job.x:count():is(2) end })lua");
  for (const bool apart : {false, true}) {
    CAPTURE(apart);
    SmallJob job{pack};
    EntryBuilder b;
    for (int i = 0; i < 2; ++i) {
      b.event(SmallJob::at(1), EntryBuilder::rank(0), "boom", {});
      if (apart || i == 1) job.consume(b, 1), b.clear();
    }
    job.beats(2, 20);
    CHECK(job.answers["booms"].size() == 1);
    CHECK(job.last("booms", 1) == Truth::yes);
  }
}

TEST_CASE(
    "points of one time and member stand in the order of their producer's sequence, and within a message in its own") {
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

TEST_CASE("parts of one push stand in their order, and behind those of the push before, whatever their hashes are") {
  for (int split = 0; split < 12; ++split) {  // 1, 2 … 12 of one time in two pushes
    SmallJob log{order_pack()};
    for (int i = 0; i < 12; ++i) {
      EntryBuilder b;
      b.about("job");
      b.produced_by("push#" + std::to_string(1 + (i < split ? i : i - split)), 0, i < split ? 1 : 2);
      const EntryBuilder::Value values[] = {{"beep", 1.0 + i, {}, false}};
      b.sample(SmallJob::at(1), EntryBuilder::rank(0), values);
      log.consume(b.entry(), 1);
    }
    log.beats(2, 20);
    // Of the last five: the first is 8, the last is 12.
    CHECK(log.last("ascend", 1) == Truth::yes);
  }
}

// A name at two sources is two producers, whose numbers can be the same; so can those of NAME and NAME#0. Where a
// member stands in a message gives it its place among such; each member's differs here.
TEST_CASE("two messages of one number give points in one order, however they were read, and after a restore") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      c = { kind = "gauge", unit = "none", owner = "rank", points = true, lateness = "2s" } })lua",
                                                 R"lua(
      rule "p" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = { c = signal "c" { over = 2, least = 1 } },
        evaluate = function(job) return job.c:last():above(15) end })lua");
  enum class Way { as_written, other_order, restored };
  const auto newest = [&](Way way) {
    SmallJob first{pack}, again{pack};
    first.beats(1, 2);
    for (const bool second : way == Way::other_order ? std::array{true, false} : std::array{false, true}) {
      EntryBuilder b;
      b.about("job");
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::array value{EntryBuilder::Value{"c", second ? 20.0 : 10.0, {}, false}};
        b.sample(SmallJob::at(2.5), EntryBuilder::rank(second ? (i + 4) % 8 : i), value);
      }
      stream::Entry entry = b.entry();
      entry.producer = "exporter", entry.epoch = 1, entry.sequence = 7;
      entry.origin_source = second ? "node-b/0" : "node-a/0", entry.origin_offset = 5,
      entry.arrival = SmallJob::at(2.6);
      first.consume(entry, 2.7);
    }
    if (way == Way::restored) again.restore(first, first.shard.take_sections(true), first.end());
    SmallJob& job = way == Way::restored ? again : first;
    for (double s = 3; s < 20; ++s)
      for (const char* source : {"node-a/0", "node-b/0"}) {
        EntryBuilder b;
        b.watermark(source, SmallJob::at(s));
        job.consume(b.entry(), s);
      }
    job.beats(20, 30);
    std::string answers;
    for (std::size_t slot = 1; slot <= 8; ++slot) answers += job.last("p", slot) == Truth::yes ? '2' : '1';
    return answers;
  };
  CHECK(newest(Way::as_written) == "22221111");
  CHECK(newest(Way::other_order) == "22221111");
  CHECK(newest(Way::restored) == "22221111");
}

TEST_CASE("a rule runs at each record of a need that it does not read") {
  SmallJob job{SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      boom = { kind = "event", owner = "rank", fields = { code = "count" } } })lua",
                              R"lua(
      rule "hot" { per = "job", every = "boom", shows = "hot", needs = { heat = signal "heat" { over = "30s" }, boom = signal "boom" { over = "30s" } },
        evaluate = function(job) return job.heat:max():max("job"):above(50) end })lua")};
  for (double s = 1; s < 40; ++s) {
    EntryBuilder b;
    if (s == 10 || s == 20) b.event(SmallJob::at(s), EntryBuilder::rank(0), "boom", {});
    job.consume(b, s);
  }
  CHECK(job.answers["hot"].size() == 2);
}
