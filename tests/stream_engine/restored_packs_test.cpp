// Packs that cannot be had, and jobs and GPUs that are gone: a restart changes nothing of them.
#include <doctest/doctest.h>

#include <memory>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

constexpr const char* nobody_has = "0123456789abcdef";

// A pack whose one rule has this name and limit.
stream::LoadedPack pack_of(const std::string& name, int limit) {
  return SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                        "rule \"" + name +
                            R"lua(" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "20s" } },
                            evaluate = function(job) return job.heat:last():above()lua" +
                            std::to_string(limit) + ") end }");
}

void heats(SmallJob& log, const char* job, double from, double to) {
  for (double s = from; s < to; ++s) {
    EntryBuilder b;
    b.about(job);
    const EntryBuilder::Value values[] = {{"heat", 60, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    log.consume(b.entry(), s);
    log.beats(s, s);
  }
}

}  // namespace

TEST_CASE("after a restart a job goes on under the pack that judged it, where a newer one could not be had") {
  for (const double stop : {40.0, 1'000.0}) {
    for (const char* second : {"hot", "hotter"}) {
      CAPTURE(stop);
      CAPTURE(second);
      PacksByHash packs;
      const auto first = pack_of("hot", 50);
      packs.add(first);
      const std::string other = packs.add(pack_of(second, 70));
      SmallJob log{first, &packs};
      heats(log, "job", 1, 10);
      log.reload(other, 10, 10);
      heats(log, "job", 11, 20);
      log.reload(nobody_has, 20, 20);
      for (double s = 21; s < stop; ++s) {
        heats(log, "job", s, s + 1);
        if (log.shard.sections_due()) (void)log.shard.take_sections();
      }
      const auto sections = log.shard.take_sections(true);
      const auto handed_over = log.end();
      heats(log, "job", stop, stop + 20);
      SmallJob again{first, &packs};
      again.restore(log, sections, handed_over);
      CHECK(again.shard.digests() == log.shard.digests());
    }
  }
}

TEST_CASE("rows that a restart reads again come under a pack that took effect behind the job's last record") {
  for (const char* signals :
       {R"lua(signals { air = { kind = "step", unit = "none", owner = "rank" },
                                              heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
        R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank", row = "2s" } })lua"}) {
    CAPTURE(signals);
    PacksByHash packs;
    const auto first = pack_of("hot", 50);
    packs.add(first);
    const std::string second = packs.add(SmallJob::load(signals, R"lua(
      rule "hot" { per = "rank", every = "1s",
        needs = { heat = signal "heat" { over = "60s" }, air = signal "heat" { over = "30s" } },
        evaluate = function(job) return job.heat:mean():above(50) & job.air:mean():above(50) end })lua"));
    SmallJob log{first, &packs};
    heats(log, "job", 1, 30);
    log.reload(second, 31, 31);
    for (const double stop : {31.0, 40.0}) {  // before and after the job changes its pack
      CAPTURE(stop);
      log.beats(32, stop);
      const auto sections = log.shard.take_sections(true);
      const auto handed_over = log.end();
      heats(log, "job", stop + 1, stop + 9);
      SmallJob again{first, &packs};
      again.restore(log, sections, handed_over);
      CHECK(again.shard.digests() == log.shard.digests());
      CHECK(again.shard.row_digests() == log.shard.row_digests());
    }
  }
}

TEST_CASE("a pack that could not be had leaves the one in force each time that it is named") {
  PacksByHash packs;
  const auto first = pack_of("first", 50);
  packs.add(first);
  const std::string second = packs.add(pack_of("second", 50));
  SmallJob log{first, &packs};
  heats(log, "job", 1, 10);
  log.reload(nobody_has, 10, 10);
  heats(log, "job", 11, 20);
  log.reload(second, 20, 20);
  heats(log, "job", 21, 30);
  const std::size_t of_first = log.answers.at("first").size(), of_second = log.answers.at("second").size();
  log.reload(nobody_has, 30, 30);
  heats(log, "job", 31, 60);
  CHECK(log.answers.at("first").size() == of_first);
  CHECK(log.answers.at("second").size() > of_second + 20);
}

TEST_CASE("a job that was forgotten is not there again after a restart") {
  const auto pack = pack_of("hot", 50);
  SmallJob log{pack};
  heats(log, "job", 1, 20);
  EntryBuilder b;
  b.about("job");
  b.event(SmallJob::at(20), EntryBuilder::job(), "end", {});
  log.consume(b.entry(), 20);
  log.beats(21, 200);
  constexpr double forgotten = 86'400 + 20;
  for (double s = forgotten - 300; s < forgotten + 20; ++s) {
    heats(log, "other", s, s + 1);
    if (s == forgotten - 40) heats(log, "job", s, s + 1);  // a stray
  }
  CHECK(log.shard.subjects() == 1);
  const auto own = log.shard.take_own_section();  // what is kept with a report
  REQUIRE(own.contains("job"));
  CHECK(own.at("job").empty());
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  CHECK(again.shard.subjects() == 1);
  CHECK(again.shard.digests() == log.shard.digests());
}

TEST_CASE(
    "a signal that a reload begins to retain has the same rows after a restart, where a job's clock is behind its "
    "records") {
  const char* signals =
      R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" }, load = { kind = "gauge", unit = "none", owner = "rank" } })lua";
  const auto rule = [&](const char* signal) {
    return SmallJob::load(signals,
                          std::string{"rule \"r\" { per = \"rank\", every = \"1s\", needs = { x = signal \""} + signal +
                              "\" { over = \"60s\" } }, evaluate = function(job) return job.x:max():above(50) end }");
  };
  PacksByHash packs;
  const auto first = rule("load");
  packs.add(first);
  const std::string second = packs.add(rule("heat"));
  SmallJob log{first, &packs};
  for (double s = 1; s < 60; ++s) {
    EntryBuilder b, mark;
    b.about("job");
    const EntryBuilder::Value values[] = {{"heat", s, {}, false}, {"load", s, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    stream::Entry entry = b.entry();
    entry.origin_source = "node/0", entry.origin_offset = static_cast<std::uint64_t>(s),
    entry.arrival = SmallJob::at(s);
    log.consume(entry, s);
    mark.watermark("node/0", SmallJob::at(s - 10));
    log.consume(mark.entry(), s);
    if (s == 20) log.reload(second, 25, 25);
  }
  const auto sections = log.shard.take_sections(true);
  SmallJob again{first, &packs};
  again.restore(log, sections, log.end());
  for (SmallJob* one : {&log, &again}) {
    EntryBuilder mark;
    mark.watermark("node/0", SmallJob::at(60));
    one->consume(mark.entry(), 70);
  }
  CHECK(again.shard.row_digests() == log.shard.row_digests());
  CHECK(again.shard.digests() == log.shard.digests());
}

TEST_CASE("after a restart what was read before a reload has the names and units of the rules of that time") {
  const auto pack = [](const char* aliases) {
    return SmallJob::load(
        "signals { heat = { kind = \"gauge\", unit = \"none\", owner = \"rank\", aliases = { " + std::string{aliases} +
            " } } }",
        R"lua(rule "hot" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "30s" } },
                            evaluate = function(job) return job.heat:max():above(50) end })lua",
        R"lua(parser "warmth" { line = [[^warmth (?P<x>NUM)]], samples = { warmth = "x" } })lua");
  };
  for (const char* later : {"warmth = 0.01", "\"warm\""}) {
    PacksByHash packs;
    const auto first = pack("warmth = 1");
    packs.add(first);
    const std::string second = packs.add(pack(later));
    SmallJob log{first, &packs};
    for (double s = 1; s < 30; ++s) {
      EntryBuilder b, line;
      const EntryBuilder::Value values[] = {{"warmth", 90 - s, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      log.consume(b, s);
      line.line(SmallJob::at(s), EntryBuilder::rank(1), "warmth 80");
      log.consume(line, s);
      log.beats(s, s);
      if (s == 20) log.reload(second, 20, 20);
    }
    const auto sections = log.shard.take_sections(true);
    const auto handed_over = log.end();
    log.beats(30, 100);
    SmallJob again{first, &packs};
    again.restore(log, sections, handed_over);
    CHECK(again.shard.digests() == log.shard.digests());
  }
}

TEST_CASE("a pack that could not be had ends no record of several lines") {
  const auto pack = SmallJob::load(
      R"lua(signals { boom = { kind = "event", owner = "rank", fields = { why = "text" } } })lua",
      R"lua(rule "boom" { per = "rank", every = "boom", needs = { boom = signal "boom" { over = "60s" } },
                                     evaluate = function(job) return job.boom:where { why = "heat" }:count():above(0) end })lua",
      R"lua(pattern "boom" { line = [[^boom]], continues = [[^ ]], event = "boom", fields = { why = { find = [[by (\w+)]] } } })lua");
  const auto judge = [&](bool reloaded, bool restarted) {
    PacksByHash packs;
    packs.add(pack);
    auto log = std::make_unique<SmallJob>(pack, &packs);
    const auto line = [&](double s, const char* text) {
      EntryBuilder b;
      b.line(SmallJob::at(s), EntryBuilder::rank(0), text);
      log->consume(b, s);
    };
    line(1, "nothing");
    log->beats(2, 9);
    line(9.5, "boom");
    if (reloaded) log->reload(nobody_has, 9.6, 9.6);
    log->beats(9.7, 9.7);
    if (restarted) {
      const auto sections = log->shard.take_sections(true);
      const auto handed_over = log->end();
      auto again = std::make_unique<SmallJob>(pack, &packs);
      again->restore(*log, sections, handed_over);
      log = std::move(again);
    }
    line(9.8, " by heat");
    log->beats(10, 40);
    return log->digest();
  };
  const std::uint64_t whole = judge(false, false);
  CHECK(judge(false, true) == whole);
  CHECK(judge(true, false) == whole);
  CHECK(judge(true, true) == whole);
}

TEST_CASE("after a restart the values of a GPU that left the cluster are not those of the next new one") {
  const auto moving =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "gpu" } })lua", R"lua(
    rule "hot" { scope = "cluster", per = "gpu", every = "5s", needs = { heat = signal "heat" { over = "4m" } }, shows = "x",
      evaluate = function(cluster) return cluster.heat:max():above(80) | cluster.heat:count():above(1) end })lua");
  SmallJob log{moving};
  const auto feed = [&](double from, double to, const char* node, const char* name, double heat) {
    for (double s = from; s < to; s += 5) {
      EntryBuilder b;
      b.about(stream::cluster_subject);
      const EntryBuilder::Member gpu{stream::Level::gpu, 0, node, name};
      const EntryBuilder::Field uuid[] = {{"gpu_uuid", 0, "GPU-aaaa", true}};
      if (s == from && heat > 80) b.event(SmallJob::at(s), gpu, "member", uuid);
      const EntryBuilder::Value values[] = {{"heat", heat, {}, false}};
      b.sample(SmallJob::at(s), gpu, values);
      log.consume(b.entry(), s);
      log.beats(s, s);
    }
  };
  constexpr double look = 2800;  // an hour is full, and the GPU is looked for in the node that it has left
  constexpr const char *first = "0000:1b:00.0", *second = "0000:2b:00.0", *third = "0000:3b:00.0";
  feed(look - 200, look - 20, "n1", first, 90);
  feed(look - 20, look + 10, "n2", second, 81);
  SUBCASE("nothing follows") {}
  SUBCASE("another of its name follows") { feed(look + 10, look + 20, "n1", first, 50); }
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  feed(look + 20, look + 40, "n3", third, 50);
  feed(look + 40, look + 60, "n1", first, 50);
  SmallJob again{moving};
  again.restore(log, sections, handed_over);
  CHECK(again.shard.digests() == log.shard.digests());
}
