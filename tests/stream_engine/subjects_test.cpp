// Several jobs in one log: each goes by its own records and clock, and is forgotten when it is over.
#include <doctest/doctest.h>

#include "stream/job/duplicates.h"
#include "stream/job/murmur2.h"
#include "stream/values/archive.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

namespace {

constexpr double day = 86'400;

const stream::LoadedPack& heat_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank", source = "sensor" } })lua",
                                                        R"lua(
      rule "hot" { family = "B3", per = "rank", every = "5s", needs = { heat = signal "heat" { over = "20s" } },
        shows = "rank {rank} on {node} is hot",
        evaluate = function(job) return job.heat:last():above(50) end })lua");
  return pack;
}

struct Origin {
  std::string source;
  std::uint64_t offset;
  double arrival;
};

// A value of rank 0 of a job, written directly or re-keyed from another log.
void heat(SmallJob& log, const char* job, double s, double value, std::optional<Origin> origin = {}) {
  EntryBuilder b;
  b.about(job);
  const EntryBuilder::Value values[] = {{"heat", value, {}, false}};
  b.sample(SmallJob::at(origin ? origin->arrival : s), EntryBuilder::rank(0), values);
  stream::Entry entry = b.entry();
  if (origin)
    entry.origin_source = origin->source, entry.origin_offset = origin->offset,
    entry.arrival = SmallJob::at(origin->arrival);
  log.consume(entry, s);
}

void watermark(SmallJob& log, const char* source, double read, double s) {
  EntryBuilder b;
  b.watermark(source, SmallJob::at(read));
  log.consume(b.entry(), s);
}

void event(SmallJob& log, const char* job, double s, const char* name, std::vector<EntryBuilder::Field> fields = {},
           EntryBuilder::Member member = EntryBuilder::job()) {
  EntryBuilder b;
  b.about(job);
  b.event(SmallJob::at(s), member, name, fields);
  log.consume(b.entry(), s);
}

void seal(SmallJob& log, double s) {
  EntryBuilder b;
  b.seal();
  log.consume(b.entry(), s);
}

}  // namespace

TEST_CASE("one node's record that is copied to two jobs reaches both, and a copy that comes twice counts once") {
  SmallJob log{heat_pack()};
  for (int i = 1; i < 40; ++i) {
    for (const char* job : {"a", "b"}) heat(log, job, i, 90, Origin{"node/0", static_cast<std::uint64_t>(i), i + 0.0});
    watermark(log, "node/0", i, i);
    log.beats(i, i);
  }
  CHECK(log.counted().samples == 78);
  CHECK(log.counted().duplicates == 0);
  CHECK(log.collector.transitions.size() == 2);
  heat(log, "a", 40, 90, Origin{"node/0", 39, 39});
  CHECK(log.counted().samples == 78);
  CHECK(log.counted().duplicates == 1);
}

TEST_CASE("a producer's entry that comes twice counts once, also after others, and is known again a day later") {
  SmallJob log{heat_pack()};
  const auto numbered = [&](std::uint64_t sequence, double s) {
    EntryBuilder b;
    b.about("a");
    b.produced_by("agent", 1, sequence);
    const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    log.consume(b.entry(), s);
  };
  for (std::uint64_t i = 1; i < 100; ++i) numbered(i, static_cast<double>(i));
  numbered(50, 100), numbered(99, 100);
  CHECK(log.counted().duplicates == 2);
  numbered(5000, 101);
  numbered(5000 - 1024, 102);  // too far behind to tell
  CHECK(log.counted().duplicates == 3);
  numbered(5000 - 1023, 103);
  CHECK(log.counted().duplicates == 3);
  for (double s = 200; s < 200 + day; s += 3600) heat(log, "a", s, 1);  // the job goes on, this producer does not
  numbered(5000, 103 + day);
  CHECK(log.counted().duplicates == 3);
}

TEST_CASE("a producer's numbers are remembered for a day, and an epoch that is over is not read again") {
  SmallJob log{heat_pack()};
  const auto numbered = [&](std::uint32_t epoch, std::uint64_t sequence, double s) {
    EntryBuilder b;
    b.about("a");
    b.produced_by("agent", epoch, sequence);
    const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    log.consume(b.entry(), s);
    return log.counted().duplicates;
  };
  CHECK(numbered(1, 7, 1) == 0);
  for (double s = 600; s < day - 600; s += 600) heat(log, "a", s, 1);
  CHECK(numbered(1, 7, day - 600) == 1);
  CHECK(numbered(2, 1, day - 500) == 1);
  CHECK(numbered(1, 8, day - 400) == 2);
  CHECK(numbered(2, 2, day - 300) == 2);
}

TEST_CASE("numbers up to the greatest there is are known apart") {
  stream::Duplicates remembered;
  const auto repeated = [&](std::uint64_t sequence) {
    stream::Entry entry;
    entry.producer = "agent", entry.sequence = sequence, entry.arrival = SmallJob::at(1);
    return remembered.repeated(entry);
  };
  constexpr auto greatest = static_cast<std::uint64_t>(-1);
  for (const std::uint64_t sequence : {greatest - 1023, greatest - 5, greatest - 900, greatest})
    CHECK_FALSE(repeated(sequence));
  for (const std::uint64_t sequence : {greatest - 1023, greatest - 5, greatest - 900, greatest, greatest - 1024})
    CHECK(repeated(sequence));
  CHECK_FALSE(repeated(greatest - 1));
}

TEST_CASE("a producer that is silent for a day is forgotten: it is in no section any more") {
  stream::Duplicates remembered;
  const auto size = [&] {
    stream::Writer out;
    remembered.save(out);
    return out.bytes().size();
  };
  const auto read = [&](std::string_view producer, double s) {
    stream::Entry entry;
    entry.producer = producer, entry.sequence = 1, entry.arrival = SmallJob::at(s);
    CHECK_FALSE(remembered.repeated(entry));
    remembered.forget(entry.arrival);
  };
  read("a", 1);
  const std::size_t one = size();
  read("b", 2);
  CHECK(size() > one);
  read("c", 30.0 * 3600);
  CHECK(size() == one);
}

TEST_CASE("an arrival at the source that is a day behind the log, or ten minutes ahead, is none") {
  SmallJob log{heat_pack()};
  log.beats(2 * day, 2 * day);
  heat(log, "a", 2 * day, 1, Origin{"node/0", 1, day});
  heat(log, "a", 2 * day, 1, Origin{"node/0", 2, 2 * day + 600});
  CHECK(log.counted().corrected_arrivals == 0);
  heat(log, "a", 2 * day, 1, Origin{"node/0", 3, day - 1});
  heat(log, "a", 2 * day, 1, Origin{"node/0", 4, 2 * day + 601});
  CHECK(log.counted().corrected_arrivals == 2);
}

TEST_CASE("a re-keyed record moves neither the log's clock nor another job") {
  SmallJob alone{heat_pack()}, beside{heat_pack()};
  for (SmallJob* log : {&alone, &beside})
    for (int i = 1; i < 120; ++i) {
      heat(*log, "b", i, i > 50 ? 90 : 10);
      if (log == &beside && i == 30) heat(*log, "a", i, 1, Origin{"node/0", 1, i + 30.0});       // 30 s ahead
      if (log == &beside && i == 40) heat(*log, "c", i, 1, Origin{"node/0", 2, i + 400 * day});  // cannot be
      if (log == &beside && i == 60) watermark(*log, "node/0", i + 400 * day, i);
      log->beats(i, i);
    }
  CHECK(beside.shard.clock() == alone.shard.clock());
  CHECK(beside.shard.counters().late == 0);
  CHECK(beside.shard.counters().corrected_arrivals == 2);
  CHECK(beside.shard.digests().at("b") == alone.shard.digests().at("b"));
  CHECK(beside.shard.row_digests().at("b") == alone.shard.row_digests().at("b"));
  CHECK(beside.collector.reported == alone.collector.reported);
}

TEST_CASE("a finished job is forgotten a day after its end, and room is for the next") {
  SmallJob log{heat_pack(), nullptr, {.most_state = 150u << 10}};
  const auto run = [&](const char* job, double s) {
    event(log, job, s, "start");
    heat(log, job, s + 1, 1);
    event(log, job, s + 2, "end");
  };
  run("a", 0), run("b", 10), run("c", 20);
  CHECK(log.shard.subjects() == 2);
  CHECK(log.counted().state_limit == 3);
  for (double s = 60; s < 1000; s += 60) log.beats(s, s);
  heat(log, "a", 1000, 1);  // a stray
  CHECK(log.counted().strays == 1);
  auto sections = log.shard.take_sections(true);
  CHECK(sections.contains("a"));
  log.beats(2 + day - 1, 2 + day - 1);
  CHECK(log.shard.subjects() == 2);
  log.beats(13 + day, 13 + day);
  CHECK(log.shard.subjects() == 0);
  sections = log.shard.take_sections(true);
  CHECK(sections.at("a").empty());
  run("c", 13 + day + 1);
  CHECK(log.shard.subjects() == 1);
  CHECK(log.counted().state_limit == 3);
}

TEST_CASE("the record at which a job is forgotten begins it anew") {
  SmallJob log{heat_pack()};
  event(log, "a", 0, "start");
  heat(log, "a", 1, 1);
  event(log, "a", 2, "end");
  log.beats(200, 200);
  heat(log, "a", 3 * day, 90);
  heat(log, "a", 3 * day + 1, 90);
  CHECK(log.shard.subjects() == 1);
  CHECK(log.counted().strays == 0);
  CHECK(log.counted().samples == 3);
}

TEST_CASE("a log that is judged without restarts keeps nothing for one, and gives the same") {
  SmallJob with{heat_pack()}, without{heat_pack(), nullptr, {.restarts = false}};
  std::size_t most = 0;
  for (SmallJob* log : {&with, &without})
    for (int hour = 0; hour < 24 * 6; ++hour) {
      const std::string job = "job" + std::to_string(hour);
      const double s = hour * 3600.0;
      event(*log, job.c_str(), s, "start");
      for (int i = 1; i < 40; ++i)
        heat(*log, job.c_str(), s + 60 * i, 90, Origin{"node/0", static_cast<std::uint64_t>(i), s + 60 * i});
      heat(*log, job.c_str(), s + 2400, 90, Origin{"node/0", 39, s + 2400});  // comes twice
      watermark(*log, "node/0", s + 2400, s + 2400);
      event(*log, job.c_str(), s + 2401, "end");
      log->beats(s + 2402, s + 2500);
      if (log == &without) most = std::max(most, log->shard.kept_for_restarts());
    }
  CHECK(with.shard.kept_for_restarts() > 6'000);
  CHECK(with.shard.subjects() < 80);
  CHECK(most == 1);
  CHECK(without.shard.digests() == with.shard.digests());
  CHECK(without.shard.row_digests() == with.shard.row_digests());
  CHECK(without.collector.reported == with.collector.reported);
  CHECK(without.shard.take_sections(true).empty());
}

TEST_CASE("strays of an attempt that nobody ended are swallowed for a day after it was noticed") {
  SmallJob log{heat_pack()};
  heat(log, "a", 1, 1);
  log.beats(1 + day + 300, 1 + day + 300);  // unseen for a day: it has ended
  REQUIRE(log.collector.verdicts.size() == 1);
  heat(log, "a", 2 * day - 100, 1);
  CHECK(log.counted().strays == 1);
  log.beats(2 * day + 2, 2 * day + 2);
  CHECK(log.shard.subjects() == 0);
}

TEST_CASE("an attempt that nobody ended has its E at its last record, at a seal and a day later") {
  SmallJob sealed{heat_pack()};
  heat(sealed, "a", 1.25, 1), heat(sealed, "a", 7.25, 1);
  sealed.beats(8, 203);
  seal(sealed, 203);
  REQUIRE(sealed.collector.verdicts.size() == 1);
  CHECK(sealed.collector.verdicts[0].ended == SmallJob::at(7.25));

  SmallJob unseen{heat_pack()};
  heat(unseen, "a", 1.25, 1), heat(unseen, "a", 7.25, 1);
  unseen.beats(10, 20);
  unseen.beats(7 + day, 7 + day);
  CHECK(unseen.collector.verdicts.empty());
  unseen.beats(8 + day + 300, 8 + day + 300);
  REQUIRE(unseen.collector.verdicts.size() == 1);
  CHECK(unseen.collector.verdicts[0].ended == SmallJob::at(7.25));
}

TEST_CASE("the last tick has T = E exactly, and sees the row that holds E") {
  SmallJob log{heat_pack()};
  std::vector<stream::Time> ticks;
  log.shard.observe([&](const stream::RuleEvaluation& e) { ticks.push_back(e.tick); });
  event(log, "a", 0, "start");
  for (int i = 1; i < 30; ++i) heat(log, "a", i, 10);
  heat(log, "a", 30.125, 90);
  event(log, "a", 30.25, "end");
  log.beats(31, 200);
  REQUIRE(log.collector.transitions.size() == 2);  // fired at E, and resolved with it
  CHECK(ticks.back() == SmallJob::at(30.25));
  CHECK(log.collector.transitions[0].at == SmallJob::at(30.25));
  CHECK(log.collector.verdicts.at(0).ended == SmallJob::at(30.25));
}

TEST_CASE("a second start begins a new attempt, and an end event says how the first ended") {
  SmallJob log{heat_pack()};
  event(log, "a", 0, "start");
  heat(log, "a", 1, 1);
  event(log, "a", 100, "start");
  heat(log, "a", 101, 1);
  event(log, "a", 110, "end", {{"code", 0, {}, false}});
  event(log, "a", 200, "start");
  event(log, "a", 210, "end", {{"signal", 9, {}, false}});
  event(log, "a", 300, "start");
  event(log, "a", 310, "end", {{"code", 1, {}, false}});
  event(log, "a", 400, "start");
  event(log, "a", 410, "end", {{"reason", 0, "preempted", true}});
  log.beats(411, 900);
  std::vector<std::string> ends;
  for (const auto& v : log.collector.verdicts) ends.push_back(v.attempt + " " + v.end_reason);
  CHECK(ends == std::vector<std::string>{"1 unknown", "2 completed", "3 failed", "4 failed", "5 preempted"});
  CHECK(log.collector.verdicts[0].ended == SmallJob::at(1));
}

TEST_CASE("subjects are divided as Kafka's Java client divides keys") {
  // From the tests of org.apache.kafka.common.utils.Utils.murmur2, without the sign bit.
  CHECK(stream::murmur2("21") == (static_cast<std::uint32_t>(-973932308) & 0x7fffffffu));
  CHECK(stream::murmur2("abc") == 479470107u);
  CHECK(stream::murmur2("foobar") == (static_cast<std::uint32_t>(-790332482) & 0x7fffffffu));
  CHECK(stream::murmur2("a-little-bit-long-string") == (static_cast<std::uint32_t>(-985981536) & 0x7fffffffu));
  CHECK(stream::murmur2("a-little-bit-longer-string") == (static_cast<std::uint32_t>(-1486304829) & 0x7fffffffu));
  CHECK(stream::murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8") ==
        (static_cast<std::uint32_t>(-58897971) & 0x7fffffffu));
}

TEST_CASE("beats more than five seconds apart are a gap") {
  SmallJob log{heat_pack()};
  log.beats(0, 3);
  log.beats(8, 8);
  CHECK(log.counted().gaps == 0);
  log.beats(13.5, 13.5);
  CHECK(log.counted().gaps == 1);
}

TEST_CASE("a shard that runs one tick a call ends with the same as one that runs all") {
  SmallJob whole{heat_pack()};
  std::vector<std::pair<double, double>> quiet;
  for (int i = 1; i < 60; ++i)
    heat(whole, "a", i, i > 30 ? 90 : 1),
        heat(whole, "b", i, 1, Origin{"node/0", static_cast<std::uint64_t>(i), i + 0.0});
  watermark(whole, "node/0", 60, 60);
  whole.beats(61, 62);
  whole.beats(4000, 4001);
  watermark(whole, "node/0", 4001, 4001);
  seal(whole, 4002);
  SmallJob sliced{heat_pack()};
  std::size_t calls = 0;
  for (std::size_t i = 1; i <= whole.log.size(); ++i) {
    const auto& [bytes, appended] = whole.log[i - 1];
    for (;; ++calls)
      if (sliced.shard.consume(**sliced.decoder.decode(bytes, static_cast<stream::Position>(i),
                                                       static_cast<stream::Position>(i + 1), appended),
                               1))
        break;
  }
  CHECK(calls > 1000);
  CHECK(sliced.shard.digests() == whole.shard.digests());
  CHECK(sliced.shard.row_digests() == whole.shard.row_digests());
  CHECK(sliced.collector.reported == whole.collector.reported);
}
