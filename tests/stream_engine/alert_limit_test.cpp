// A rule that fires for everybody meets the limit of alerts of its job.
#include <doctest/doctest.h>

#include <algorithm>

#include "dsl/load/loader.h"
#include "schemas/codec.h"
#include "stream/job/shard.h"

using namespace tocsin;
using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::AlertState;
using stream::ResolveReason;

namespace {

constexpr std::uint32_t ranks = 10'000, limit = 1'000;

stream::Time at(double s) { return stream::at_nanoseconds(1'790'000'000'000'000'000) + stream::from_seconds(s); }

// A job of 10,000 ranks, of which a rule says that they are hot.
struct Job {
  struct Sink final : stream::AlertSink {
    std::vector<stream::AlertTransition> reported;
    void transition(const stream::AlertTransition& t) override { reported.push_back(t); }
    void verdict(const stream::Verdict&) override {}
  } sink;
  dsl::Loaded loaded =
      dsl::load({{"signals.lua", R"lua(signals { heat = { kind = "gauge", unit = "celsius", owner = "rank" } })lua"},
                 {"hot.lua", R"lua(rule "hot" {
      family = "B3", severity = "warning", summary = "A rank is hot", per = "rank", every = "10s",
      needs = { heat = signal "heat" { over = "10s" } }, shows = "rank {rank} has {heat:.0f} degrees",
      evaluate = function(job)
        local heat = job.heat:last()
        return heat:above(90), { heat = heat }
      end })lua"}});
  stream::Shard shard{{loaded.pack, nullptr}, nullptr, sink};
  std::uint64_t messages = 0;
  double now = 0;

  void consume(EntryBuilder& b) {
    stream::Entry entry = b.entry();
    entry.appended = entry.arrival = at(now), entry.position = static_cast<stream::Position>(messages),
    entry.next = static_cast<stream::Position>(++messages);
    shard.consume(entry);
  }
  void heats(double seconds, const std::function<double(std::uint32_t)>& of) {
    for (const double end = now + seconds; now < end; ++now) {
      EntryBuilder b;
      b.about("large");
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const EntryBuilder::Value value[] = {{"heat", of(r), {}, false}};
        b.sample(at(now), EntryBuilder::rank(r), value);
      }
      consume(b);
    }
  }
  // What was reported since the last look.
  std::vector<stream::AlertTransition> look() { return std::exchange(sink.reported, {}); }
};

std::vector<std::uint32_t> ranks_of(const std::vector<stream::AlertTransition>& reported, AlertState state) {
  std::vector<std::uint32_t> all;
  for (const auto& t : reported)
    if (t.rule == "hot" && t.state == state) all.push_back(*t.member.rank);
  return all;
}

std::vector<stream::AlertTransition> summaries(const std::vector<stream::AlertTransition>& reported) {
  std::vector<stream::AlertTransition> all;
  std::copy_if(reported.begin(), reported.end(), std::back_inserter(all),
               [](const auto& t) { return t.rule == "alert_limit"; });
  return all;
}

std::vector<std::uint32_t> from_to(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t r = from; r < to; ++r) all.push_back(r);
  return all;
}

}  // namespace

TEST_CASE(
    "of 10,000 ranks that fire the lowest are named up to the limit, one summary counts the rest, and the limit "
    "resolves nobody") {
  Job job;
  REQUIRE(job.loaded.pack);
  REQUIRE(job.loaded.pack->alert_limit == limit);
  job.heats(30, [](std::uint32_t) { return 95; });
  auto reported = job.look();
  CHECK(ranks_of(reported, AlertState::firing) == from_to(0, limit));
  CHECK(reported[999].shows == "rank 999 has 95 degrees");
  REQUIRE(summaries(reported).size() == 1);
  CHECK(summaries(reported)[0].state == AlertState::firing);
  CHECK(summaries(reported)[0].shows ==
        "9000 more members than the limit of 1000 alerts of each severity allows; those that came first are named");
  CHECK(summaries(reported)[0].evidence ==
        decltype(summaries(reported)[0].evidence){{"withheld", 9000}, {"limit", 1000}});

  job.heats(60, [](std::uint32_t) { return 95; });
  CHECK(job.look().empty());  // nothing is reported again, and nothing resolved

  // Three of the named cool down: they alone resolve, and the lowest of those that wait take their places.
  const auto cooled = [](std::uint32_t r) { return r == 3 || r == 500 || r == 999; };
  job.heats(20, [&](std::uint32_t r) { return cooled(r) ? 60 : 95; });
  reported = job.look();
  CHECK(ranks_of(reported, AlertState::resolved) == std::vector<std::uint32_t>{3, 500, 999});
  CHECK(ranks_of(reported, AlertState::firing) == from_to(1000, 1003));
  CHECK(summaries(reported).empty());
  for (const auto& t : reported)
    if (t.state == AlertState::resolved) CHECK(t.reason == ResolveReason::cleared);

  // All that were over the limit cool down: the summary resolves, and none of the named does.
  job.heats(20, [&](std::uint32_t r) { return cooled(r) || r >= 1003 ? 60 : 95; });
  reported = job.look();
  CHECK(ranks_of(reported, AlertState::resolved).empty());
  REQUIRE(summaries(reported).size() == 1);
  CHECK(summaries(reported)[0].state == AlertState::resolved);

  EntryBuilder end;
  end.about("large");
  end.event(at(job.now), EntryBuilder::job(), "end", {});
  job.consume(end);
  EntryBuilder seal;
  seal.seal();
  job.consume(seal);
  reported = job.look();
  CHECK(reported.size() == limit);
  for (const auto& t : reported) CHECK((t.state == AlertState::resolved && t.reason == ResolveReason::attempt_ended));
}

TEST_CASE(
    "the summary of who is over the limit is an alert as others are: it resolves as it fired, and the next has another "
    "id") {
  Job job;
  std::vector<stream::AlertTransition> all;
  for (const double heat : {95, 60, 95, 60}) {
    job.heats(25, [&](std::uint32_t r) { return r <= limit ? heat : 60; });
    for (const auto& t : summaries(job.look())) all.push_back(t);
  }
  REQUIRE(all.size() == 4);
  for (const std::size_t fired : {0, 2}) {
    CHECK(all[fired].state == AlertState::firing);
    CHECK(all[fired + 1].state == AlertState::resolved);
    CHECK(all[fired].number == 1);
    CHECK(all[fired + 1].number == 2);
    CHECK(all[fired].id == all[fired + 1].id);
    CHECK(all[fired].since == all[fired].at);
    CHECK(all[fired].since == all[fired + 1].since);
    CHECK(all[fired].at < all[fired + 1].at);
  }
  CHECK(all[0].id != all[2].id);
}
