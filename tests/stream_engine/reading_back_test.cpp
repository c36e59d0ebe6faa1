// How much of its log a restart reads again, and that it is enough.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

TEST_CASE("a job of which many values come is saved every half minute") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                                                 R"lua(
      rule "hot" { per = "rank", every = "5s", summary = "Hot", needs = { heat = signal "heat" { over = "60s" } },
        shows = "rank {rank} is hot", evaluate = function(job) return job.heat:max():above(50) end })lua");
  Collector collector;
  stream::Shard shard{pack, nullptr, collector};
  const std::vector<float> values(2u << 20);
  const stream::SampleBlock::Signal unread{"unread", "", stream::SignalKind::gauge};
  const stream::MemberKey rank{stream::Level::rank, 0, {}, {}};
  std::uint64_t next = 1;
  const auto saved = [&](int from, int to, std::size_t count) {
    std::vector<int> at;
    for (int s = from; s < to; ++s) {
      const std::vector<stream::Time> times(count, SmallJob::at(s));
      stream::SampleBlock block;
      block.layout = "unread", block.signals = {&unread, 1}, block.members = {&rank, 1};
      block.times = times, block.narrow = std::span{values}.first(count);
      stream::Entry entry;
      entry.position = stream::Position{next}, entry.next = stream::Position{++next};
      entry.appended = entry.arrival = SmallJob::at(s);
      entry.subject = "job", entry.samples = {&block, 1};
      shard.consume(entry);
      if (shard.sections_due() && shard.take_sections().contains("job")) at.push_back(s);
    }
    return at;
  };
  CHECK(saved(1, 10, 1) == std::vector{5});
  CHECK(saved(10, 130, values.size()) == std::vector{35, 65, 95, 125});
  CHECK(saved(130, 300, 1).empty());  // some came since, but not many
}

TEST_CASE("a restart has the rows of long windows and of short ones, and reads back no further than they reach") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      fan = { kind = "gauge", unit = "none", owner = "rank" },
      moved = { kind = "counter", unit = "bytes", owner = "rank" } })lua",
                                                 R"lua(
      rule "hot" { per = "rank", every = "5s", summary = "Hot",
        needs = { heat = signal "heat" { over = "2m" }, fan = signal "fan" { over = "20s" } },
        shows = "rank {rank} is hot", evaluate = function(job) return job.heat:mean():above(job.fan:mean()) end }
      rule "moving" { per = "rank", every = "5s", summary = "Moving", needs = { moved = signal "moved" { over = "10s" } },
        shows = "rank {rank} is moving", evaluate = function(job) return job.moved:mean():above(3) end })lua");
  SmallJob log{pack};
  const auto live = [](SmallJob& to, int from, int end) {
    for (int s = from; s < end; ++s) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"heat", s % 7 + s / 100.0, {}, false},
                                            {"fan", s % 5 + 0.5, {}, false},
                                            {"moved", s * (s % 3 + 1.0), {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      to.consume(b.entry(), s);
      to.beats(s, s);
    }
  };
  live(log, 1, 600);
  for (int cut = 600; cut < 603; ++cut) {
    const auto sections = log.shard.take_sections(true);
    const auto handed_over = log.end();
    SmallJob again{pack};
    again.restore(log, sections, handed_over);
    CHECK(again.shard.counters().entries > 2 * 150);
    CHECK(again.shard.counters().entries < 2 * (180 + 30));  // a mark is half a minute older
    live(log, cut, cut + 1), live(again, cut, cut + 1);
    CHECK(again.shard.digests() == log.shard.digests());
    CHECK(again.shard.row_digests() == log.shard.row_digests());
  }
}

TEST_CASE("rows that no tick has read yet survive a restart and a reload") {
  const auto rule = [](const std::string& over, int limit) {
    return SmallJob::load(
        R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
        R"lua(rule "hot" { per = "rank", every = "2m", summary = "Hot", shows = "rank {rank} is hot",
            needs = { heat = signal "heat" { over = ")lua" +
            over +
            R"lua(", least = 1 } }, evaluate = function(job) return job.heat:last():above(99) | job.heat:last():above()lua" +
            std::to_string(limit) + R"lua() end })lua");
  };
  // Hot in the last 2 s before it falls silent, about a minute after a tick.
  const auto live = [](SmallJob& to, int from, int end, int silent) {
    for (int s = from; s < end; ++s) {
      EntryBuilder b;
      const EntryBuilder::Value heat[] = {{"heat", s < silent - 2 ? 50.0 : 100.0, {}, false}};
      if (s < silent) b.sample(SmallJob::at(s), EntryBuilder::rank(0), heat), to.consume(b, s);
      to.beats(s, s);
    }
  };
  for (const std::string over : {"attempt", "10m", "2h"})
    for (int silent = 427; silent < 431; ++silent) {
      CAPTURE(over);
      CAPTURE(silent);
      PacksByHash packs;
      const stream::LoadedPack pack = rule(over, 1000);
      packs.add(pack);
      const std::string next = packs.add(rule(over, 2000));
      SmallJob log{pack, &packs}, again{pack, &packs}, reloaded{pack, &packs};
      live(log, 1, 485, silent), live(reloaded, 1, 484, silent);
      reloaded.reload(next, 484, 484);
      live(reloaded, 484, 700, silent);
      CHECK(reloaded.collector.transitions.size() == 1);
      const auto sections = log.shard.take_sections(true);
      again.restore(log, sections, log.end());
      live(log, 485, 700, silent), live(again, 485, 700, silent);
      CHECK(log.collector.transitions.size() == 1);
      CHECK(again.digest() == log.digest());
    }
}

TEST_CASE("a restart after an end that came a minute late has no more rows than there were") {
  const stream::LoadedPack pack =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                     R"lua(rule "hot" { per = "rank", every = "end", summary = "Hot", shows = "rank {rank} was hot",
          needs = { heat = signal "heat" { over = "20s", least = 1 } },
          evaluate = function(job) return job.heat:count():above(10) end })lua");
  SmallJob log{pack}, again{pack};
  for (int s = 1; s <= 490; ++s) {
    EntryBuilder b;
    const EntryBuilder::Value heat[] = {{"heat", 50, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), heat);
    log.consume(b, s);
  }
  EntryBuilder end;
  end.event(SmallJob::at(430), EntryBuilder::job(), "end", {});
  log.consume(end, 490);
  const auto sections = log.shard.take_sections(true);
  again.restore(log, sections, log.end());
  log.beats(490, 700), again.beats(490, 700);
  REQUIRE(log.answers.at("hot").size() == 1);
  CHECK(again.answers.at("hot") == log.answers.at("hot"));
  CHECK(again.digest() == log.digest());
}

TEST_CASE("a baseline of a signal that fell silent before a restart goes on losing its oldest values") {
  const stream::LoadedPack pack =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                     R"lua(rule "hot" { per = "rank", every = "5s", summary = "Hot", shows = "rank {rank} is hot",
          needs = { heat = signal "heat" { over = "20m", least = 1 } },
          evaluate = function(job) return job.heat:mean():above(40) end })lua");
  SmallJob log{pack}, again{pack};
  for (int s = 1; s <= 400; ++s) {
    EntryBuilder b;
    const EntryBuilder::Value heat[] = {{"heat", s < 200 ? 0.0 : 60.0, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), heat);
    log.consume(b, s);
  }
  log.beats(400, 600);
  const auto sections = log.shard.take_sections(true);
  again.restore(log, sections, log.end());
  log.beats(600, 2'000), again.beats(600, 2'000);
  CHECK(log.collector.transitions.size() == 1);
  CHECK(again.digest() == log.digest());
}

namespace {

stream::LoadedPack hot_pack(const std::string& over) {
  return SmallJob::load(
      R"lua(signals { x = { kind = "gauge", unit = "none", owner = "rank", row = "1s", lateness = "1s" } })lua",
      R"lua(
      rule "hot" { per = "rank", every = "10s", shows = "hot", needs = { x = signal "x" { over = ")lua" +
          over + R"lua(" } },
        evaluate = function(job) return job.x:mean():above(5) end })lua");
}

// A sample of rank 0, directly, or re-keyed with the next of these offsets.
void heat(SmallJob& log, double s, std::uint64_t* offset = nullptr) {
  EntryBuilder b;
  b.about("job");
  b.sample(SmallJob::at(s), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"x", 9.0, {}, false}});
  stream::Entry entry = b.entry();
  if (offset != nullptr)
    entry.origin_source = "node/0", entry.origin_offset = ++*offset, entry.arrival = SmallJob::at(s);
  log.consume(entry, s);
}

}  // namespace

TEST_CASE("samples that a silent re-keyed job sent after one restart are read back in time by the next one") {
  const auto pack = hot_pack("20s");
  SmallJob whole{pack};
  std::uint64_t offset = 0;
  heat(whole, 1, &offset), heat(whole, 2, &offset);
  EntryBuilder of_another;
  of_another.about("another");
  of_another.sample(SmallJob::at(200), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"x", 1.0, {}, false}});
  whole.consume(of_another.entry(), 200);
  for (double s = 210; s < 230; ++s) heat(whole, s, &offset);
  whole.relay_watermark(229, 230);
  const auto last = static_cast<std::size_t>(whole.end());
  whole.relay_watermark(240, 241);

  SmallJob first{pack};
  first.log = whole.log;
  for (std::size_t number = 1; number <= 2; ++number) first.read(number);
  auto sections = first.shard.take_sections(true);
  first.read(3);
  for (auto& [name, content] : first.shard.take_own_section()) sections[name] = content;
  SmallJob second{pack};
  second.log = whole.log;
  const auto from = second.shard.load(sections, stream::Position{4});
  REQUIRE(from);
  for (auto number = std::max<std::size_t>(1, static_cast<std::size_t>(*from)); number < last; ++number)
    second.read(number);
  const auto later = second.shard.take_sections(true);
  SmallJob third{pack};
  third.restore(whole, later, static_cast<stream::Position>(last));
  CHECK(third.shard.row_digests() == whole.shard.row_digests());
  CHECK(third.shard.digests() == whole.shard.digests());
}

TEST_CASE("samples of a job that came before its first re-keyed ones are read back in time") {
  const auto pack = hot_pack("2m");
  SmallJob whole{pack};
  std::uint64_t offset = 0;
  for (double s = 1; s < 400; ++s) heat(whole, s);
  for (double s = 400; s < 402; ++s) heat(whole, s, &offset);
  whole.relay_watermark(401, 402);
  const auto last = static_cast<std::size_t>(whole.end());
  whole.relay_watermark(430, 431);

  SmallJob first{pack};
  first.log = whole.log;
  for (std::size_t number = 1; number < last; ++number) first.read(number);
  SmallJob second{pack};
  second.restore(whole, first.shard.take_sections(true), static_cast<stream::Position>(last));
  CHECK(second.shard.row_digests() == whole.shard.row_digests());
  CHECK(second.shard.digests() == whole.shard.digests());
}
