// The time between steps, which the engine measures itself, over a restore.
#include <doctest/doctest.h>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

TEST_CASE("a time window of the time between steps has its rows after a restart") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "none", owner = "rank" },
      step_gap = { kind = "gauge", unit = "seconds", owner = "rank" } })lua",
                                                 R"lua(
      rule "slow" { per = "rank", every = "5s", needs = { gap = signal "step_gap" { over = "60s" } },
        shows = "rank {rank} is slow", evaluate = function(job) return job.gap:max():above(4) end })lua");
  SmallJob log{pack};
  const auto steps = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"step", i <= 20 || i >= 26 ? double(i) : 20, {}, false}};
      b.sample(SmallJob::at(i), EntryBuilder::rank(0), values);
      log.consume(b.entry(), i);
      log.beats(i, i);
    }
  };
  steps(1, 60);
  REQUIRE(log.collector.transitions.size() == 1);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  steps(60, 120);
  CHECK(log.collector.transitions.size() == 2);
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  CHECK(again.shard.digests() == log.shard.digests());
  CHECK(again.shard.row_digests() == log.shard.row_digests());
}

TEST_CASE("a restart measures a step that began long before the window of the time between steps") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "none", owner = "rank" },
      step_gap = { kind = "gauge", unit = "seconds", owner = "rank" } })lua",
                                                 R"lua(
      rule "slow" { per = "rank", every = "5s", needs = { gap = signal "step_gap" { over = "30s" } },
        shows = "rank {rank} is slow", evaluate = function(job) return job.gap:max():above(160) end })lua");
  SmallJob log{pack};
  const auto steps = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"step", static_cast<double>(i / 170), {}, false}};
      b.sample(SmallJob::at(i), EntryBuilder::rank(0), values);
      log.consume(b.entry(), i);
      log.beats(i, i);
    }
  };
  steps(1, 690);  // the step changed at 340, 510 and 680
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  steps(690, 720);
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  REQUIRE_FALSE(log.collector.transitions.empty());
  CHECK(again.shard.digests() == log.shard.digests());
  CHECK(again.shard.row_digests() == log.shard.row_digests());
}
