// The time between steps, which the engine measures itself, over a restore.
#include <doctest/doctest.h>

#include <string>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

stream::LoadedPack slow_steps(const std::string& over, const std::string& limit) {
  return SmallJob::load(R"lua(signals {
      step = { kind = "step", unit = "none", owner = "rank" },
      step_gap = { kind = "gauge", unit = "seconds", owner = "rank" } })lua",
                        R"lua(
      rule "slow" { per = "rank", every = "5s", needs = { gap = signal "step_gap" { over = ")lua" +
                            over + R"lua(" } },
        shows = "rank {rank} is slow", evaluate = function(job) return job.gap:max():above()lua" +
                            limit + R"lua() end })lua");
}

// Of rank 0, each second.
void report(SmallJob& to, int from, int end, int (*step)(int)) {
  for (int i = from; i < end; ++i) {
    EntryBuilder b;
    b.about("job");
    const EntryBuilder::Value values[] = {{"step", static_cast<double>(step(i)), {}, false}};
    b.sample(SmallJob::at(i), EntryBuilder::rank(0), values);
    to.consume(b.entry(), i);
    to.beats(i, i);
  }
}

}  // namespace

TEST_CASE("a time window of the time between steps has its rows after a restart") {
  const stream::LoadedPack pack = slow_steps("60s", "4");
  SmallJob log{pack};
  const auto step = [](int i) { return i <= 20 || i >= 26 ? i : 20; };
  report(log, 1, 60, step);
  REQUIRE(log.collector.transitions.size() == 1);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  report(log, 60, 120, step);
  CHECK(log.collector.transitions.size() == 2);
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  CHECK(again.shard.digests() == log.shard.digests());
  CHECK(again.shard.row_digests() == log.shard.row_digests());
}

TEST_CASE("a restart measures a step that began long before the window of the time between steps") {
  const stream::LoadedPack pack = slow_steps("30s", "160");
  SmallJob log{pack};
  const auto step = [](int i) { return i / 170; };
  report(log, 1, 690, step);  // the step changed at 340, 510 and 680
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  report(log, 690, 720, step);
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  REQUIRE_FALSE(log.collector.transitions.empty());
  CHECK(again.shard.digests() == log.shard.digests());
  CHECK(again.shard.row_digests() == log.shard.row_digests());
}
