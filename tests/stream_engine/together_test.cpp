// Signals of one message, whose arrivals are noted together.
#include <doctest/doctest.h>

#include "stream/rules/rule_run.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;
using Value = EntryBuilder::Value;

TEST_CASE("a member that lacks one of a message's signals is silent in that one") {
  SmallJob job{SmallJob::load(R"lua(signals {
      x = { kind = "gauge", unit = "none", owner = "rank" },
      y = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                              R"lua(
      rule "x_old" { per = "rank", every = "5s", needs = { x = signal "x" { over = "30s" } },
        evaluate = function(job) return job.x:older_than("20s") end }
      rule "y_old" { per = "rank", every = "5s", needs = { y = signal "y" { over = "30s" } },
        evaluate = function(job) return job.y:older_than("20s") end })lua")};
  for (double s = 1; s <= 60; ++s) {
    EntryBuilder b;
    for (unsigned rank = 0; rank < 9; ++rank)
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank),
               std::array{Value{"x", 1, {}, false}, Value{"y", rank == 2 && s > 20 ? stream::absent : 2, {}, false}});
    job.consume(b, s);
    job.beats(s, s);
  }
  for (std::size_t slot = 1; slot <= 9; ++slot) {
    INFO("slot ", slot);
    CHECK(job.last("x_old", slot) == Truth::no);
    CHECK(job.last("y_old", slot) == (slot == 3 ? Truth::yes : Truth::no));
  }
}

TEST_CASE("signals of GPUs that come with ranks of which one has no GPU are those of the others") {
  SmallJob job{SmallJob::load(R"lua(signals {
      x = { kind = "gauge", unit = "none", owner = "gpu" },
      y = { kind = "gauge", unit = "none", owner = "gpu" } })lua",
                              R"lua(
      rule "old" { per = "gpu", every = "5s", needs = { x = signal "x" { over = "30s" }, y = signal "y" { over = "30s" } },
        evaluate = function(job) return job.x:older_than("20s") | job.y:older_than("20s") end })lua")};
  for (double s = 1; s <= 40; ++s) {
    EntryBuilder b;
    for (unsigned rank = 0; rank < 9; ++rank) {
      EntryBuilder::Member member = EntryBuilder::rank(rank);
      if (rank != 4) member.node = "n1", member.gpu = std::to_string(rank);
      b.sample(SmallJob::at(s), member, std::array{Value{"x", 1, {}, false}, Value{"y", 2, {}, false}});
    }
    job.consume(b, s);
    job.beats(s, s);
  }
  for (std::size_t slot = 0; slot < 8; ++slot) CHECK(job.last("old", slot) == Truth::no);
}

TEST_CASE("the estimate of a job's state grows with its members, and with its signals") {
  SmallJob job{SmallJob::load(R"lua(signals {
      x = { kind = "gauge", unit = "none", owner = "rank" },
      y = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                              R"lua(
      rule "old" { per = "rank", every = "5s", needs = { x = signal "x" { over = "30s" }, y = signal "y" { over = "30s" } },
        evaluate = function(job) return job.x:older_than("20s") | job.y:older_than("20s") end })lua")};
  const auto after = [&](double s, unsigned ranks, std::string_view signal) {
    EntryBuilder b;
    for (unsigned rank = 0; rank < ranks; ++rank)
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank), std::array{Value{signal, 1, {}, false}});
    job.consume(b, s);
    static_cast<void>(job.counted());
    return job.shard.state_bytes();
  };
  const std::size_t few = after(1, 2, "x"), more = after(2, 20, "x"), both = after(3, 20, "y");
  CHECK(few < more);
  CHECK(more < both);
  CHECK(after(4, 20, "y") == both);
}

TEST_CASE("a member that is learned counts from then on, though the outcomes are as before") {
  stream::Rule rule;
  rule.name = "one", rule.per = stream::Level::rank;
  stream::Topology topology;
  topology.rank(5);
  stream::RuleRun run{rule};
  std::vector<Truth> outcomes(topology.size(stream::Level::rank), Truth::unknown);
  outcomes[6] = Truth::no;
  run.record(SmallJob::at(0), outcomes, topology);
  CHECK(run.known_share() == 1);
  topology.rank(3);
  run.record(SmallJob::at(10), outcomes, topology);
  CHECK(run.known_share() == doctest::Approx(2.0 / 3));
}
