// Entries of samples wait until something may be due, and what is due in a history waits for a tick: none of it shows.
#include <doctest/doctest.h>

#include <random>

#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"
#include "tests/stream_engine/judged.h"
#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

TEST_CASE("a log whose entries wait is judged as one whose entries are taken at once, at the same messages") {
  const stream::LoadedPack pack = shipped_pack();
  for (std::uint32_t n = 0; n < 4; ++n) {
    const std::uint32_t seed = tocsin::test::seed() + n;
    CAPTURE(seed);
    LogOptions options;
    options.seed = seed, options.jobs = 5, options.ranks = 9;
    for (const GeneratedLog& log : {generate(options), cut(generate(options)), join(generate(options))}) {
      const Judged now = judge(log, pack, true, 0);
      CHECK(now.reported.size() > 0);
      CHECK(now.late > 0);
      for (const std::size_t taken_every : {0, 7, 100}) {
        CAPTURE(taken_every);
        const Judged waited = judge(log, pack, false, taken_every);
        CHECK(waited.digests == now.digests);
        CHECK(waited.rows == now.rows);
        CHECK(waited.reported == now.reported);
        CHECK(waited.samples == now.samples);
        CHECK(waited.late == now.late);
      }
    }
  }
}

TEST_CASE("entries that wait keep their names while the decoder learns so many others that it forgets them") {
  const auto pack = SmallJob::load(R"lua(signals { x = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "high" { summary = "One rank is high", shows = "rank {rank}", per = "rank", every = "5s", needs = { x = signal "x" { over = "10s" } },
        evaluate = function(job) return job.x:mean():above(5) end })lua");
  SmallJob job{pack};
  for (double s = 1; s <= 20; ++s) {
    EntryBuilder b;
    for (unsigned rank = 0; rank < 9; ++rank)
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank),
               std::array{EntryBuilder::Value{"x", rank == 4 ? 9.0 : 1.0, {}, false}});
    job.consume(b, s);
    for (unsigned other = 0; other < 5'000; ++other) {
      EntryBuilder of;
      of.about("another");
      of.sample(SmallJob::at(s), EntryBuilder::rank(0),
                std::array{EntryBuilder::Value{
                    "site_" + std::to_string(other) + "_" + std::to_string(int(s)), 1.0, {}, false}});
      job.consume(of.entry(), s);
    }
    job.beats(s + 0.5, s + 0.5);
  }
  for (std::size_t slot = 1; slot <= 9; ++slot) {
    CAPTURE(slot);
    CHECK(job.last("high", slot) == (slot == 5 ? stream::Truth::yes : stream::Truth::no));
  }
}

// Refusals are decided by the state of the jobs that are there, which must not depend on what waits.
TEST_CASE("whether there is room for a job does not depend on what waits") {
  const auto pack = SmallJob::load(R"lua(signals { x = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "high" { summary = "One rank is high", shows = "rank {rank}", per = "rank", every = "5s", needs = { x = signal "x" { over = "10s" } },
        evaluate = function(job) return job.x:mean():above(5) end })lua");
  const auto sample = [](SmallJob& job, double s, std::string_view name, unsigned first, unsigned ranks) {
    EntryBuilder b;
    b.about(name);
    for (unsigned rank = first; rank < first + ranks; ++rank)
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank), std::array{EntryBuilder::Value{"x", 1.0, {}, false}});
    job.consume(b.entry(), s);
  };
  stream::ShardOptions options;
  options.most_state = 200'000;
  SmallJob job{pack, nullptr, options};
  sample(job, 1, "a", 0, 8);
  job.beats(1.5, 1.5);
  sample(job, 2, "a", 8, 60);
  sample(job, 2, "a", 68, 60);  // they wait, and take the room that is left
  sample(job, 2.1, "b", 0, 8);
  CHECK(job.shard.take_refused_jobs().contains("b"));
}

namespace {

std::string heat_rules(double limit) {
  return R"lua(
      rule "hot" { summary = "s", shows = "rank {rank}", per = "rank", every = "10s", needs = { x = signal "x" { over = "20s", least = 1 } },
        evaluate = function(job) return job.x:mean():above()lua" +
         std::to_string(limit) + R"lua() end }
      rule "usual" { summary = "s", shows = "rank {rank}", per = "rank", every = "10s", state = { sum = 0 }, needs = {
          old = signal "x" { over = "10m", lag = "20s", least = 1 } },
        evaluate = function(job, p, state) state.sum = job.old:mean() return job.old:mean():above(100) end })lua";
}
const char* const heat_signals =
    R"lua(signals { x = { kind = "gauge", unit = "none", owner = "rank", row = "1s", lateness = "1s" } })lua";

void heat(SmallJob& job, double s, double value, std::string_view origin = {}, std::uint64_t offset = 0) {
  EntryBuilder b;
  b.about("job");
  b.sample(SmallJob::at(s), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"x", value, {}, false}});
  stream::Entry entry = b.entry();
  if (!origin.empty()) entry.origin_source = origin, entry.origin_offset = offset, entry.arrival = SmallJob::at(s);
  job.consume(entry, s);
}

// Saves at each position from `first` to `last`, goes on from there, and expects the same at the end.
void save_everywhere(const stream::LoadedPack& pack, PacksByHash& packs, const SmallJob& whole, std::size_t first,
                     std::size_t last) {
  const auto digests = whole.shard.digests(), rows = whole.shard.row_digests();
  for (std::size_t stop = first; stop < last; ++stop) {
    SmallJob job{pack, &packs};
    job.log = whole.log;
    for (std::size_t number = 1; number <= stop; ++number) job.read(number);
    const auto sections = job.shard.take_sections(true);
    SmallJob again{pack, &packs};
    again.restore(whole, sections, static_cast<stream::Position>(stop + 1));
    CAPTURE(stop);
    CHECK(again.shard.digests() == digests);
    CHECK(again.shard.row_digests() == rows);
  }
}

}  // namespace

TEST_CASE("a section taken right after a pack came into force holds the rows that were due before") {
  PacksByHash packs;
  const auto one = SmallJob::load(heat_signals, heat_rules(5)), two = SmallJob::load(heat_signals, heat_rules(7));
  packs.add(one);
  const std::string hash = packs.add(two);
  SmallJob whole{one, &packs};
  double s = 0.3;
  for (; s < 40; s += 0.35) heat(whole, s, s);
  const std::size_t first = whole.log.size();
  for (int i = 0; i < 24; ++i) {
    s += 0.35;
    heat(whole, s, s);
    if (i % 5 == 0) whole.reload(i % 2 == 0 ? hash : one.pack->hash, s + 0.1, s + 0.1);
  }
  for (; s < 90; s += 0.35) heat(whole, s, s);
  save_everywhere(one, packs, whole, first, whole.log.size());
}

TEST_CASE("a section taken right after the first re-keyed entry of a job holds the rows that were due before") {
  PacksByHash packs;
  const auto one = SmallJob::load(heat_signals, heat_rules(5));
  packs.add(one);
  for (int shift = 0; shift < 6; ++shift) {
    CAPTURE(shift);
    SmallJob whole{one, &packs};
    double s = 0.3;
    for (; s < 40 + shift * 0.35; s += 0.35) heat(whole, s, s);
    const std::size_t first = whole.log.size();
    std::uint64_t offset = 0;
    for (; s < 42 + shift; s += 0.35) heat(whole, s, s, "node/0", ++offset);
    const std::size_t last = whole.log.size();
    for (; s < 90; s += 0.35) {
      heat(whole, s, s, "node/0", ++offset);
      whole.relay_watermark(s + 0.1, s + 0.1);
    }
    save_everywhere(one, packs, whole, first, last);
  }
}

TEST_CASE("of a step's values, the one that was due first counts, whoever reports the next one") {
  const auto pack = SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "count", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true, lateness = "1s" } })lua",
                                   R"lua(
      rule "high" { summary = "s", shows = "loss", per = "job", every = "10s", needs = { loss = signal "loss" { over = 3, least = 1 } },
        evaluate = function(job) return job.loss:last():above(5) end })lua");
  const auto judge = [&](bool looks) {
    SmallJob job{pack};
    const auto report = [&](double s, unsigned rank, double step, double loss) {
      EntryBuilder b;
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank),
               std::array{EntryBuilder::Value{"step", step, {}, false}, EntryBuilder::Value{"loss", loss, {}, false}});
      job.consume(b, s);
      if (looks) static_cast<void>(job.shard.digests());
    };
    job.beats(0, 0);
    for (double s = 1; s < 40; s += 4) {
      report(s, 1, s, 9);
      job.beats(s + 1, s + 1);
      report(s + 1.3, 0, s, 1);
      job.beats(s + 2, s + 3);
    }
    CHECK(job.answers.at("high").size() > 2);
    CHECK(job.last("high", 0) == stream::Truth::yes);
    return job.digest();
  };
  CHECK(judge(false) == judge(true));
}

TEST_CASE("events that were due before the attempt's end are let go before it") {
  const auto pack = SmallJob::load(R"lua(signals {
      boom = { kind = "event", unit = "none", owner = "rank", fields = { code = "count" }, lateness = "1s" },
      x = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                                   R"lua(
      rule "various" { summary = "s", shows = "rank {rank}", per = "rank", every = "10s", needs = { boom = signal "boom" { over = "attempt" } },
        evaluate = function(job) return job.boom:distinct("code"):above(3) end })lua");
  const auto judge = [&](bool by_seal, bool looks) {
    SmallJob job{pack};
    const auto events = [&](double s, int count) {
      EntryBuilder b;
      b.about("job", "1");
      for (int i = 0; i < count; ++i) {
        const EntryBuilder::Field fields[] = {{"code", static_cast<double>(i % 7), {}, false}};
        b.event(SmallJob::at(s), EntryBuilder::rank(0), "boom", fields);
      }
      job.consume(b.entry(), s);
    };
    for (int i = 0; i < 8; ++i) events(1 + i, 512);
    job.beats(10, 100);
    events(100.5, 1);  // due at 101.5; there is one more now than are kept
    job.beats(101, 101);
    job.beats(101.6, 101.6);
    if (looks) static_cast<void>(job.shard.digests());
    EntryBuilder b;
    if (by_seal) b.seal();
    else
      b.about("job", "2"),
          b.sample(SmallJob::at(101.7), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"x", 1, {}, false}});
    job.consume(b.entry(), 101.7);
    if (!by_seal) job.beats(102, 400);
    return job.digest();
  };
  CHECK(judge(true, false) == judge(true, true));
  CHECK(judge(false, false) == judge(false, true));
}

TEST_CASE("in which order jobs report at one entry does not depend on what waits, nor on who looks") {
  const auto pack = SmallJob::load(heat_signals, R"lua(
      rule "hot" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = { x = signal "x" { over = "60s" } },
        evaluate = function(job) return job.x:last():above(5) end })lua");
  const auto judge = [&](bool looks) {
    std::vector<std::string> order;
    std::mt19937 random{1};
    for (int round = 0; round < 50; ++round) {
      SmallJob job{pack};
      double s = 0;
      for (int i = 0; i < 60; ++i) {
        s += random() % 8 == 0 ? 4 : 0.01 * static_cast<double>(random() % 100);
        EntryBuilder b;
        b.about(std::string(1, static_cast<char>('a' + random() % 4)));
        b.sample(SmallJob::at(s), EntryBuilder::rank(0),
                 std::array{EntryBuilder::Value{"x", static_cast<double>(random() % 10), {}, false}});
        job.consume(b.entry(), s);
        if (looks) static_cast<void>(job.shard.digests());
      }
      job.beats(s + 10, s + 10);
      for (const auto& t : job.collector.transitions) order.push_back(std::to_string(round) + t.subject);
    }
    return order;
  };
  const auto order = judge(false);
  CHECK(order.size() > 100);
  CHECK(order == judge(true));
}

TEST_CASE("the rows of a job whose sources have all ended count from the control record at which they are due") {
  const auto pack = SmallJob::load(heat_signals, heat_rules(5));
  SmallJob job{pack};
  for (double s = 1; s < 30; ++s) {
    heat(job, s, s, "node/0", static_cast<std::uint64_t>(s));
    job.relay_watermark(s, s);
  }
  heat(job, 30, 1, "node/0", 30);
  EntryBuilder b;
  b.watermark("node/0", stream::source_ended);
  job.consume(b.entry(), 30.1);
  const auto row = [&] { return job.shard.row_digests().at("job"); };
  job.beats(30.5, 30.5);
  const auto before = row();
  job.beats(31.1, 31.1);  // the row that ends at 30 closes
  CHECK(row() != before);
}

TEST_CASE("each value of a step that triggers a rule does, also where it is due when the next one comes") {
  const auto pack = SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "count", owner = "rank" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true, lateness = "0s" } })lua",
                                   R"lua(
      rule "high" { summary = "s", shows = "loss", per = "job", every = "loss", needs = { loss = signal "loss" { over = 3, least = 1 } },
        evaluate = function(job) return job.loss:last():above(5) end })lua");
  SmallJob job{pack};
  job.beats(0, 0);
  for (double s = 1; s < 20; ++s) {
    EntryBuilder b;
    for (unsigned rank = 0; rank < 2; ++rank)
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank),
               std::array{EntryBuilder::Value{"step", s, {}, false}, EntryBuilder::Value{"loss", 9, {}, false}});
    job.consume(b, s);
    job.beats(s + 0.7, s + 0.7);
  }
  CHECK(job.answers["high"].size() == 19);
}

TEST_CASE("a point that triggers a rule is judged when it is due, not when others are that are put off") {
  SmallJob job{SmallJob::load(
      R"lua(signals { pt = { kind = "gauge", unit = "none", owner = "rank", points = true, lateness = "1s" } })lua",
      R"lua(
      rule "each" { summary = "s", shows = "rank {rank}", per = "rank", every = { "pt" }, needs = { pt = signal "pt" { over = 4, least = 1 } },
        evaluate = function(job) return job.pt:last():above(5) end })lua")};
  for (double s = 1; s < 20; s += 3) {
    EntryBuilder b;
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"pt", 9.0, {}, false}});
    job.consume(b, s);
    const std::size_t before = job.answers["each"].size();
    job.beats(s + 0.9, s + 0.9);
    CHECK(job.answers["each"].size() == before);
    job.beats(s + 1.1, s + 1.1);
    CHECK(job.answers["each"].size() == before + 1);
  }
}

TEST_CASE("jobs report at one entry in the order in which their ticks were due, also a tick at a time") {
  const auto pack = SmallJob::load(heat_signals, R"lua(
      rule "hot" { summary = "s", shows = "rank {rank}", per = "rank", every = "30s", needs = { x = signal "x" { over = "60s" } },
        evaluate = function(job) return job.x:last():above(5) end })lua");
  const auto judge = [&](std::size_t most_ticks) {
    Collector collector;
    stream::Shard shard{pack, nullptr, collector, {}};
    schemas::Decoder decoder;
    std::uint64_t position = 0;
    const auto put = [&](const std::string& name, double s) {
      EntryBuilder b;
      b.about(name);
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"x", 9.0, {}, false}});
      const auto bytes = schemas::encode(b.entry());
      ++position;
      const auto entry = decoder.decode(bytes, static_cast<stream::Position>(position),
                                        static_cast<stream::Position>(position + 1), SmallJob::at(s));
      while (!shard.consume(**entry, most_ticks)) {}
    };
    for (const double s : {1.0, 1.5, 1.9})
      for (int n = 0; n < 30; ++n) put("job-" + std::to_string(n), s);
    put("another", 7200);
    return collector.transitions;
  };
  const auto whole = judge(stream::Shard::all_ticks), sliced = judge(1);
  REQUIRE(whole.size() >= 60);  // each fires, and resolves
  std::vector<std::string> names, sliced_names;
  std::vector<stream::Time> firing;
  for (const auto& one : whole) {
    names.push_back(one.subject + " " + std::to_string(one.number));
    if (one.state == stream::AlertState::firing) firing.push_back(one.at);
  }
  for (const auto& one : sliced) sliced_names.push_back(one.subject + " " + std::to_string(one.number));
  CHECK(std::is_sorted(firing.begin(), firing.end()));
  CHECK(firing.front() < firing.back());
  CHECK(sliced_names == names);
}
