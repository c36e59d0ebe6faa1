#include <doctest/doctest.h>

#include "stream/rules/alert_lifecycle.h"
#include "stream/rules/rule_run.h"
#include "stream/rules/scheduler.h"

using namespace tocsin::stream;
using namespace std::chrono_literals;

namespace {

constexpr Truth Y = Truth::yes, N = Truth::no, U = Truth::unknown;

Time tick(int seconds) { return at_nanoseconds(1'700'000'000'000'000'000) + std::chrono::seconds{seconds}; }

// A pack of rules that have no graph: their outcomes are said by the test.
struct Bench {
  Pack pack;
  Topology topology;
  std::vector<RuleRun> runs;
  std::unique_ptr<AlertLifecycle> lifecycle;
  std::vector<AlertTransition> said;

  Rule& rule(const std::string& name, Level per = Level::job) {
    Rule rule;
    rule.name = name, rule.per = per;
    rule.every = {{Trigger::Kind::period, 10s, {}}};
    pack.rules.push_back(rule);
    return pack.rules.back();
  }
  void begin(unsigned ranks = 4) {
    topology.expect_ranks(ranks);
    runs.reserve(pack.rules.size());
    for (const Rule& r : pack.rules) runs.emplace_back(r);
    lifecycle = std::make_unique<AlertLifecycle>(pack, AlertLifecycle::Names{"job", "1"});
  }
  // Outcomes by rule, for ranks in order (the reserved slot is added), or for the job.
  void at(int seconds, const std::vector<std::vector<Truth>>& outcomes) {
    std::vector<RuleIndex> ran;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].empty()) continue;
      auto all = outcomes[i];
      if (pack.rules[i].per == Level::rank) all.insert(all.begin(), U);
      runs[i].record(tick(seconds), all, topology);
      ran.push_back(static_cast<RuleIndex>(i));
    }
    lifecycle->settle(
        tick(seconds), ran, runs, topology, [](RuleIndex, Slot, AlertTransition& t) { t.shows = "told"; },
        [&](const AlertTransition& t) { said.push_back(t); });
  }
  [[nodiscard]] std::vector<std::string> story() const {
    std::vector<std::string> lines;
    for (const auto& t : said)
      lines.push_back(std::to_string((t.at - tick(0)) / 1s) + " " + t.rule + " " + std::string{name(t.state)} +
                      (t.reason == ResolveReason::none ? "" : " " + std::string{name(t.reason)}) +
                      (t.explained_by.empty() ? "" : " by " + t.explained_by) +
                      (t.member.rank ? " rank " + std::to_string(*t.member.rank) : ""));
    return lines;
  }
};

using Story = std::vector<std::string>;

}  // namespace

TEST_CASE("'3 of 5' fires with the third yes of five, an unknown fills a place, and '2 of 2' clears") {
  Bench bench;
  Rule& rule = bench.rule("slow");
  rule.fire = {false, 3, 5, {}};
  rule.clear = {false, 2, 2, {}};
  bench.begin();
  int s = 0;
  for (const Truth t : {Y, U, Y, N, Y, Y, N, Y, N, N}) bench.at(s += 10, {{t}});
  CHECK(bench.story() == Story{"50 slow firing", "100 slow resolved cleared"});
  CHECK(bench.said[0].since == tick(10));
}

TEST_CASE("'for 30s' needs the first yes that long ago, every known tick, and no more than half unknown") {
  Bench bench;
  Rule& rule = bench.rule("hot");
  rule.fire = {true, 1, 1, 30s};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{N}}), bench.at(30, {{Y}}), bench.at(40, {{U}}), bench.at(50, {{U}}), bench.at(60, {{U}});
  CHECK(bench.said.empty());  // half is not enough known: of 30 40 50 60 three are unknown
  bench.at(70, {{Y}}), bench.at(80, {{Y}});
  CHECK(bench.story() == Story{"80 hot firing"});
}

TEST_CASE("what was pending and hopes no more ends unsent, and the next yes has a first T of its own") {
  Bench bench;
  bench.rule("slow").fire = {false, 2, 2, {}};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{N}}), bench.at(30, {{N}}), bench.at(40, {{Y}}), bench.at(50, {{Y}});
  REQUIRE(bench.story() == Story{"50 slow firing"});
  CHECK(bench.said[0].since == tick(40));
}

TEST_CASE("a child waits while its parent is pending, and is explained when it fires") {
  Bench bench;
  bench.rule("collective_hang").fire = {false, 2, 2, {}};
  Rule& child = bench.rule("stalled");
  child.yields_to = {RuleIndex{0}};
  child.yield_depth = 1;
  bench.begin();
  bench.at(10, {{Y}, {Y}});
  CHECK(bench.said.empty());
  bench.at(20, {{Y}, {Y}});
  CHECK(bench.story() == Story{"20 collective_hang firing"});
  bench.at(30, {{N}, {Y}});  // the parent clears: the child speaks for itself
  CHECK(bench.story() == Story{"20 collective_hang firing", "30 collective_hang resolved cleared", "30 stalled firing"});
  bench.at(40, {{Y}, {Y}}), bench.at(50, {{Y}, {Y}});
  CHECK(bench.story().back() == "50 stalled resolved explained by collective_hang");
}

TEST_CASE("a parent explains only members that it overlaps") {
  Bench bench;
  bench.rule("throttle", Level::rank);
  Rule& child = bench.rule("straggler", Level::rank);
  child.yields_to = {RuleIndex{0}};
  child.yield_depth = 1;
  bench.begin();
  bench.at(10, {{N, Y, N, N}, {Y, Y, N, N}});
  CHECK(bench.story() == Story{"10 throttle firing rank 1", "10 straggler firing rank 0"});
}

TEST_CASE("ten minutes without a known outcome resolve an alert with the reason no data") {
  Bench bench;
  bench.rule("slow");
  bench.begin();
  bench.at(10, {{Y}});
  for (int s = 20; s <= 600; s += 10) bench.at(s, {{U}});
  CHECK(bench.said.size() == 1);
  bench.at(610, {{U}});
  CHECK(bench.story() == Story{"10 slow firing", "610 slow resolved no data"});
}

TEST_CASE("a rule nobody evaluates any more expires by the clock") {
  Bench bench;
  bench.rule("slow");
  bench.begin();
  bench.at(10, {{Y}});
  CHECK(bench.lifecycle->next_expiry(bench.runs) == tick(610));
  bench.lifecycle->expire(tick(610), bench.runs, bench.topology, [&](const AlertTransition& t) { bench.said.push_back(t); });
  CHECK(bench.story() == Story{"10 slow firing", "610 slow resolved no data"});
}

TEST_CASE("over the subject's limit the lowest members are named and one summary gives the count; a limit never resolves") {
  Bench bench;
  bench.rule("slow", Level::rank);
  bench.pack.alert_limit = 100;
  bench.begin(10'000);
  bench.at(10, {std::vector<Truth>(10'000, Y)});
  REQUIRE(bench.said.size() == 101);
  CHECK(bench.said[0].member.rank == 0);
  CHECK(bench.said[99].member.rank == 99);
  CHECK(bench.said[100].rule == "alert_limit");
  CHECK(bench.said[100].shows.find("9900 more") == 0);
  bench.at(20, {std::vector<Truth>(10'000, Y)});
  CHECK(bench.said.size() == 101);
  auto fewer = std::vector<Truth>(10'000, Y);
  fewer[0] = N;
  bench.at(30, {fewer});
  REQUIRE(bench.said.size() == 103);
  CHECK(bench.said[101].state == AlertState::resolved);
  CHECK(bench.said[102].member.rank == 100);  // there is room again
}

TEST_CASE("periodic ticks lie on the subject's grid, record ticks at their records, and the last tick is at the end") {
  Pack pack;
  Rule slow, loss;
  slow.name = "slow", slow.settle = 5s, slow.every = {{Trigger::Kind::period, 10s, {}}};
  loss.name = "loss", loss.settle = 5s, loss.every = {{Trigger::Kind::record, {}, SignalId{3}}, {Trigger::Kind::end, {}, {}}};
  pack.rules = {slow, loss};
  Scheduler scheduler{pack, 13, tick(0)};
  scheduler.applied(SignalId{3}, tick(2));
  scheduler.applied(SignalId{3}, tick(2));
  scheduler.applied(SignalId{4}, tick(2));
  auto due = scheduler.take();
  CHECK(due.tick == tick(2));
  CHECK(due.run_at == tick(7));
  CHECK(due.rules == std::vector{RuleIndex{1}});
  due = scheduler.take();
  CHECK(due.tick == tick(3));  // 13 modulo ten whole seconds, after the start
  CHECK(due.rules == std::vector{RuleIndex{0}});
  scheduler.end(tick(15) + 300ms);
  CHECK(scheduler.take().tick == tick(13));
  due = scheduler.take();
  CHECK(due.tick == tick(15) + 300ms);
  CHECK(due.rows_to == tick(16));  // the row that holds the end
  CHECK(due.rules == std::vector{RuleIndex{0}});
  due = scheduler.take();
  CHECK(due.at_end);
  CHECK(due.rules == std::vector{RuleIndex{1}});
  CHECK(due.run_at == tick(15) + 300ms + 120s + 5s);
  CHECK(scheduler.next() == never);
}
