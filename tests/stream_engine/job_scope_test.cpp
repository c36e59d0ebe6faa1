// Rules of scope "job": their state and their alerts outlive an attempt.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::AlertState;
using stream::ResolveReason;
using stream::Truth;

namespace {

const char* signals = R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      load = { kind = "gauge", unit = "none", owner = "node" } })lua";

// The most of all attempts: it is reached again only if the state is the job's.
std::string best(const char* scope) {
  return std::string{"rule \"best\" { scope = \""} + scope +
         "\", per = \"job\", every = \"5s\", needs = { x = signal \"heat\" { over = \"20s\" } }, state = { best = 0 }, "
         "evaluate = function(job, p, state) local now = job.x:max():max(\"job\") local below = now:below(state.best) "
         "state.best = greatest(state.best, now) return below end }\n";
}
std::string hot(const char* scope, const char* per = "rank", const char* signal = "heat") {
  return std::string{"rule \"hot\" { scope = \""} + scope + "\", per = \"" + per +
         "\", every = \"5s\", needs = { x = signal \"" + signal +
         "\" { over = \"20s\" } }, shows = \"hot\", evaluate = function(job) return job.x:max():above(50) end }\n";
}

void event(SmallJob& log, double s, const char* name) {
  EntryBuilder b;
  b.event(SmallJob::at(s), EntryBuilder::job(), name, {});
  log.consume(b, s);
}

void values(SmallJob& log, double from, double to, double value, const char* signal = "heat", const char* node = "n0",
            std::uint32_t rank = 0) {
  for (double s = from; s < to; ++s) {
    EntryBuilder b;
    const EntryBuilder::Value all[] = {{signal, value, {}, false}};
    b.sample(SmallJob::at(s), {stream::Level::rank, rank, node, {}}, all);
    log.consume(b, s);
    log.beats(s + 0.1, s + 0.1);
  }
}

}  // namespace

TEST_CASE("a job's state goes over to the next attempt, an attempt's begins anew") {
  for (const char* scope : {"job", "attempt"}) {
    SmallJob log{SmallJob::load(signals, best(scope))};
    event(log, 0, "start");
    values(log, 1, 60, 30);
    event(log, 60, "end");
    log.beats(61, 400);
    event(log, 400, "start");
    values(log, 401, 440, 10);
    CHECK(log.last("best", 0) == (scope == std::string{"job"} ? Truth::yes : Truth::no));
  }
}

TEST_CASE("a job's state goes over where the next attempt begins before the one before is over") {
  SmallJob log{SmallJob::load(signals, best("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 30);
  event(log, 60, "end");
  event(log, 61, "start");
  values(log, 62, 90, 10);
  CHECK(log.last("best", 0) == Truth::yes);
  values(log, 90, 300, 10);
  CHECK(log.last("best", 0) == Truth::yes);
  event(log, 300, "end");
  event(log, 301, "start");
  values(log, 302, 340, 20);
  CHECK(log.last("best", 0) == Truth::yes);
}

TEST_CASE("an alert of a job outlives an attempt: one alert, of the attempt in which it fired first") {
  SmallJob log{SmallJob::load(signals, hot("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 90);
  event(log, 60, "end");
  log.beats(61, 299);
  event(log, 300, "start");
  values(log, 301, 400, 90);
  REQUIRE(log.collector.transitions.size() == 1);
  const auto fired = log.collector.transitions[0];
  values(log, 400, 460, 10);
  REQUIRE(log.collector.transitions.size() == 2);
  CHECK(log.collector.transitions[1].state == AlertState::resolved);
  CHECK(log.collector.transitions[1].reason == ResolveReason::cleared);
  CHECK(log.collector.transitions[1].id == fired.id);
  CHECK(log.collector.transitions[1].number == 2);
  CHECK(log.collector.transitions[1].attempt == fired.attempt);
  event(log, 460, "end");
  log.beats(461, 700);
  REQUIRE(log.collector.verdicts.size() == 2);
}

TEST_CASE("an alert of a job that no attempt follows resolves for want of data, ten minutes after the last answer") {
  SmallJob log{SmallJob::load(signals, hot("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 90);
  event(log, 60, "end");
  log.beats(61, 640);
  CHECK(log.collector.transitions.size() == 1);
  log.beats(641, 700);
  REQUIRE(log.collector.transitions.size() == 2);
  CHECK(log.collector.transitions[1].reason == ResolveReason::no_data);
  CHECK(log.shard.firing().empty());
}

TEST_CASE("an alert of a job resolves with its last attempt where nothing follows") {
  SmallJob log{SmallJob::load(signals, hot("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 90);
  EntryBuilder b;
  b.seal();
  log.consume(b.entry(), 61);
  REQUIRE(log.collector.transitions.size() == 2);
  CHECK(log.collector.transitions[1].reason == ResolveReason::attempt_ended);
}

TEST_CASE("records after an attempt is over are strays although an alert of the job is open in it") {
  SmallJob log{SmallJob::load(signals, hot("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 90);
  event(log, 60, "end");
  log.beats(61, 250);
  values(log, 250, 255, 10);
  CHECK(log.shard.counters().strays == 5);
  CHECK(log.collector.transitions.size() == 1);
}

TEST_CASE("a node's alert goes over to the attempt that has the node, and not to one that lacks it") {
  for (const char* node : {"n0", "n7"}) {
    SmallJob log{SmallJob::load(signals, hot("job", "node", "load"))};
    event(log, 0, "start");
    values(log, 1, 60, 90, "load");
    event(log, 60, "end");
    event(log, 61, "start");
    values(log, 62, 70, 10, "load", "n5", 1);  // another node comes first: n0 has another place
    values(log, 70, 200, 10, "load", node);
    REQUIRE(log.collector.transitions.size() >= 1);
    const bool same = node == std::string{"n0"};
    CHECK(log.collector.transitions.size() == (same ? 2 : 1));
    if (same) CHECK(log.collector.transitions[1].reason == ResolveReason::cleared);
    values(log, 200, 800, 10, "load", node);
    REQUIRE(log.collector.transitions.size() == 2);
    if (!same) CHECK(log.collector.transitions[1].reason == ResolveReason::no_data);
    CHECK(log.collector.transitions[1].member.node == "n0");
  }
}

TEST_CASE("a job's state and alert are the same after a restart between its attempts and while two are side by side") {
  const auto pack = SmallJob::load(signals, best("job") + hot("job"));
  for (const double stop : {40.0, 100.0, 250.0, 305.0, 330.0, 500.0}) {
    SmallJob log{pack};
    stream::Shard::Sections sections;
    stream::Position handed_over{};
    event(log, 0, "start");
    for (double s = 1; s < 600; ++s) {
      if (s == stop) sections = log.shard.take_sections(true), handed_over = log.end();
      if (s == 60) event(log, s, "end");
      if (s == 300 || s == 320) event(log, s, "start");
      if (s < 60) values(log, s, s + 1, 90);
      else if (s > 300) values(log, s, s + 1, s < 400 ? 70 : 10);
      else log.beats(s, s);
    }
    CHECK(log.last("best", 0) == Truth::yes);
    CHECK(log.collector.transitions.size() == 3);
    SmallJob again{pack};
    again.restore(log, sections, handed_over);
    CHECK(again.shard.digests() == log.shard.digests());
    CHECK(again.shard.firing().size() == log.shard.firing().size());
    CHECK(again.last("best", 0) == Truth::yes);
  }
}

TEST_CASE("a job's state goes over where a reload comes between its attempts") {
  PacksByHash packs;
  const std::string hash = packs.add(SmallJob::load(signals, best("job") + hot("job")));
  SmallJob log{SmallJob::load(signals, best("job")), &packs};
  event(log, 0, "start");
  values(log, 1, 60, 30);
  event(log, 60, "end");
  log.beats(61, 250);
  log.reload(hash, 255, 250);
  log.beats(251, 400);
  event(log, 400, "start");
  values(log, 401, 440, 10);
  CHECK(log.last("best", 0) == Truth::yes);
}

TEST_CASE("attempts side by side share the limit of alerts of their job") {
  SmallJob log{SmallJob::load(signals, hot("attempt"))};
  constexpr std::uint32_t ranks = 1'100;
  const auto all_hot = [&](double s) {
    EntryBuilder b;
    const EntryBuilder::Value hot[] = {{"heat", 90, {}, false}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) b.sample(SmallJob::at(s), EntryBuilder::rank(rank), hot);
    log.consume(b, s);
    log.beats(s + 0.1, s + 0.1);
  };
  const auto open = [&] {
    std::size_t named = 0;
    for (const auto& alert : log.shard.firing()) named += alert.rule == "hot";
    return named;
  };
  event(log, 0, "start");
  for (double s = 1; s < 50; s += 5) all_hot(s);
  CHECK(open() == 1'000);
  event(log, 50, "end");
  event(log, 51, "start");
  for (double s = 52; s < 120; s += 5) all_hot(s);
  CHECK(open() == 1'000);
  for (double s = 120; s < 240; s += 5) all_hot(s);
  CHECK(open() == 1'000);
  const auto resolved =
      std::count_if(log.collector.transitions.begin(), log.collector.transitions.end(),
                    [](const auto& t) { return t.rule == "hot" && t.reason == ResolveReason::attempt_ended; });
  CHECK(resolved == 1'000);
}

TEST_CASE("an alert of a job that ends with its log ends at the same time after a restart and after a reload") {
  // It takes more than an hour to end for want of data.
  const std::string rule =
      "rule \"hot\" { scope = \"job\", per = \"rank\", every = \"30m\", shows = \"hot\", "
      "needs = { x = signal \"heat\" { over = \"20s\" } }, evaluate = function(job) return job.x:max():above(50) end "
      "}\n";
  const auto pack = SmallJob::load(signals, rule);
  PacksByHash packs;
  const std::string same = packs.add(SmallJob::load(signals, "-- another text\n" + rule));
  const auto judge = [&](bool restart, bool reload) {
    auto log = std::make_unique<SmallJob>(pack, &packs);
    event(*log, 0, "start");
    values(*log, 1, 4'000, 90);
    EntryBuilder end;  // before ticks that have run
    end.event(SmallJob::at(100), EntryBuilder::job(), "end", {});
    log->consume(end, 4'000);
    log->beats(4'001, 4'200);
    if (reload) { log->reload(same, 4'201, 4'200); }
    log->beats(4'201, 4'205);
    if (restart) {
      const auto sections = log->shard.take_sections(true);
      const auto handed_over = log->end();
      auto again = std::make_unique<SmallJob>(pack, &packs);
      again->restore(*log, sections, handed_over);
      log = std::move(again);
    }
    EntryBuilder b;
    b.seal();
    log->consume(b.entry(), 4'210);
    REQUIRE(!log->collector.transitions.empty());
    CHECK(log->collector.transitions.back().reason == ResolveReason::attempt_ended);
    return std::pair{log->collector.reported.back(), log->digest()};
  };
  const auto whole = judge(false, false);
  CHECK(judge(true, false) == whole);
  CHECK(judge(false, true) == whole);
  CHECK(judge(true, true) == whole);
}

TEST_CASE(
    "what a job's rule has learned goes not back to what the attempt before had, while that is there and when it "
    "goes") {
  SmallJob log{SmallJob::load(signals, best("job"))};
  event(log, 0, "start");
  values(log, 1, 60, 30);
  event(log, 60, "end");
  event(log, 61, "start");
  values(log, 62, 90, 50);
  values(log, 90, 120, 40);
  CHECK(log.last("best", 0) == Truth::yes);
  values(log, 120, 300, 40);  // the first attempt is over, and gone
  CHECK(log.last("best", 0) == Truth::yes);
}
