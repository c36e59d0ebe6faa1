#include <doctest/doctest.h>

#include "tests/stream_engine/lifecycle_bench.h"

using namespace tocsin::tests;

TEST_CASE("'3 of 5' fires with the third yes of five, an unknown fills a place, and '2 of 2' clears") {
  Bench bench;
  Rule& rule = bench.rule("slow");
  rule.fire = {false, 3, 5, {}};
  rule.clear = {false, 2, 2, {}};
  bench.begin();
  int s = 0;
  for (const Truth t : {Y, U, Y, N, Y, Y, N, Y, N, N}) bench.at(s += 10, {{t}});
  CHECK(bench.story() == Story{"50 slow firing", "100 slow resolved cleared"});
  CHECK(bench.published[0].since == tick(10));
}

TEST_CASE("'80 of 100' looks back over a hundred evaluations, and so does the clear") {
  Bench bench;
  Rule& rule = bench.rule("slow");
  rule.fire = {false, 80, 100, {}};
  rule.clear = {false, 150, 200, {}};
  bench.begin();
  int s = 0;
  const auto judge = [&](int times, Truth truth) {
    for (int i = 0; i < times; ++i) bench.at(s += 10, {{truth}});
  };
  judge(70, Y), judge(20, N), judge(9, Y);
  CHECK(bench.published.empty());
  judge(1, Y);
  CHECK(bench.story() == Story{"1000 slow firing"});
  judge(129, N);  // and 20 of the hundred before: of the last 200 as many as 149 were no
  CHECK(bench.published.size() == 1);
  judge(1, N);
  CHECK(bench.story().back() == "2300 slow resolved cleared");
  CHECK(bench.published[0].since == tick(10));
}

TEST_CASE("'for 30s' needs the first yes that long ago, every known tick, and no more than half unknown") {
  Bench bench;
  Rule& rule = bench.rule("hot");
  rule.fire = {true, 0, 0, 30s};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{N}}), bench.at(30, {{Y}}), bench.at(40, {{U}}), bench.at(50, {{U}}),
      bench.at(60, {{U}});
  CHECK(bench.published.empty());  // half is not enough known: of 30 40 50 60 three are unknown
  bench.at(70, {{Y}}), bench.at(80, {{Y}});
  CHECK(bench.story() == Story{"80 hot firing"});
}

TEST_CASE("'2 of 3 for 30s' needs both: enough evaluations, and a first yes that long ago") {
  Bench bench;
  bench.rule("hot").fire = {true, 2, 3, 30s};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{Y}});
  CHECK(bench.published.empty());  // too early
  bench.at(30, {{U}}), bench.at(40, {{U}});
  CHECK(bench.published.empty());  // too few
  bench.at(50, {{Y}}), bench.at(60, {{Y}});
  CHECK(bench.story() == Story{"60 hot firing"});
}

TEST_CASE("what was pending and hopes no more ends unsent, and the next yes has a first T of its own") {
  Bench bench;
  bench.rule("slow").fire = {false, 2, 2, {}};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{N}}), bench.at(30, {{N}}), bench.at(40, {{Y}}), bench.at(50, {{Y}});
  REQUIRE(bench.story() == Story{"50 slow firing"});
  CHECK(bench.published[0].since == tick(40));
}

TEST_CASE("a child waits while its parent is pending, and is explained when it fires") {
  Bench bench;
  bench.rule("collective_hang").fire = {false, 2, 2, {}};
  Rule& child = bench.rule("stalled");
  child.yields_to = {RuleIndex{0}};
  child.yield_depth = 1;
  bench.begin();
  bench.at(10, {{Y}, {Y}});
  CHECK(bench.published.empty());
  bench.at(20, {{Y}, {Y}});
  CHECK(bench.story() == Story{"20 collective_hang firing"});
  bench.at(30, {{N}, {Y}});  // the parent clears: the child speaks for itself
  CHECK(bench.story() ==
        Story{"20 collective_hang firing", "30 collective_hang resolved cleared", "30 stalled firing"});
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
  CHECK(bench.published.size() == 1);
  bench.at(610, {{U}});
  CHECK(bench.story() == Story{"10 slow firing", "610 slow resolved no data"});
}

TEST_CASE("a rule nobody evaluates any more expires by the clock") {
  Bench bench;
  bench.rule("slow");
  bench.begin();
  bench.at(10, {{Y}});
  CHECK(bench.lifecycle->next_expiry(bench.runs) == tick(610));
  bench.lifecycle->expire(tick(610), bench.runs, bench.topology,
                          [&](const AlertTransition& t) { bench.published.push_back(t); });
  CHECK(bench.story() == Story{"10 slow firing", "610 slow resolved no data"});
}

TEST_CASE("an alert that cleared is over: the next on the same member has another id and starts at 1") {
  Bench bench;
  bench.rule("slow").fire = {false, 2, 5, {}};
  bench.begin();
  bench.at(10, {{Y}}), bench.at(20, {{Y}}), bench.at(30, {{N}}), bench.at(40, {{Y}});  // a yes of before still counts
  REQUIRE(bench.story() == Story{"20 slow firing", "30 slow resolved cleared", "40 slow firing"});
  CHECK(bench.published[1].id == bench.published[0].id);
  CHECK(bench.published[1].number == 2);
  CHECK(bench.published[1].shows == "shown");  // the text under which it fired
  CHECK(bench.published[2].id != bench.published[0].id);
  CHECK(bench.published[2].number == 1);
  CHECK(bench.published[2].since == tick(40));
}

TEST_CASE("an alert that was explained and fires again goes on; one that cleared while it was explained is over") {
  Bench bench;
  bench.rule("parent");
  bench.child("child").fire = {false, 1, 5, {}};
  bench.begin();
  bench.at(10, {{N}, {Y}}), bench.at(20, {{Y}, {Y}}), bench.at(30, {{N}, {Y}});
  REQUIRE(bench.story() == Story{"10 child firing", "20 parent firing", "20 child resolved explained by parent",
                                 "30 parent resolved cleared", "30 child firing"});
  CHECK(bench.published[4].id == bench.published[0].id);
  CHECK(bench.published[4].number == 3);
  bench.at(40, {{Y}, {Y}}), bench.at(50, {{Y}, {N}}), bench.at(60, {{N}, {Y}});
  REQUIRE(bench.story().back() == "60 child firing");
  CHECK(bench.published.back().id != bench.published[0].id);
  CHECK(bench.published.back().number == 1);
  CHECK(bench.published.back().since == tick(60));
}

TEST_CASE("an alert that was explained does not fire when its parent clears, if its rule says no by then") {
  Bench bench;
  bench.rule("parent");
  bench.child("child").clear = {false, 4, 4, {}};
  bench.begin();
  bench.at(10, {{Y}, {Y}}), bench.at(20, {{Y}, {N}}), bench.at(30, {{N}, {N}});
  CHECK(bench.story() == Story{"10 parent firing", "30 parent resolved cleared"});
  SUBCASE("and goes on if it says yes again before it has cleared") {
    bench.at(40, {{N}, {Y}});
    CHECK(bench.story().back() == "40 child firing");
  }
  SUBCASE("and is over once it has cleared") {
    bench.at(40, {{N}, {N}}), bench.at(50, {{N}, {N}});
    CHECK(bench.runs[1].lives().empty());
    CHECK(bench.published.size() == 2);
  }
}

TEST_CASE("children of a parent that fires are explained at once, although they are not due") {
  Bench bench;
  bench.rule("parent");
  bench.child("child");
  bench.rule("grandchild").yields_to = {RuleIndex{1}};
  bench.pack.rules.back().yield_depth = 2;
  bench.begin();
  bench.at(10, {{}, {}, {Y}});
  bench.at(15, {{}, {Y}, {}});
  bench.at(20, {{Y}, {}, {}});
  CHECK(bench.story() == Story{"10 grandchild firing", "15 child firing", "15 grandchild resolved explained by child",
                               "20 parent firing", "20 child resolved explained by parent"});
}

TEST_CASE("an alert that is explained expires, and does not fire from data that is gone when its parent clears") {
  Bench bench;
  bench.rule("parent");
  bench.child("child");
  bench.begin();
  bench.at(10, {{Y}, {Y}});
  REQUIRE(bench.story() == Story{"10 parent firing"});
  bench.at(600, {{Y}, {}});
  CHECK(bench.lifecycle->next_expiry(bench.runs) == tick(610));
  SUBCASE("by the clock") { bench.silence_to(1000); }
  SUBCASE("at its next evaluation") {}
  bench.at(1100, {{N}, {U}});
  CHECK(bench.story().back() == "1100 parent resolved cleared");
  CHECK(bench.runs[1].lives().empty());
}

TEST_CASE("an alert that waits for its parent, or is pending, expires") {
  Bench bench;
  bench.rule("parent").fire = {false, 2, 2, {}};
  bench.child("child");
  bench.begin();
  bench.at(10, {{Y}, {Y}});
  bench.silence_to(609);
  CHECK(bench.runs[0].lives().size() == 1);
  CHECK(bench.runs[1].lives().size() == 1);
  bench.silence_to(610);
  CHECK(bench.runs[0].lives().empty());
  CHECK(bench.runs[1].lives().empty());
  CHECK(bench.published.empty());
}

TEST_CASE("an alert that the limit withholds expires, and the summary resolves") {
  Bench bench;
  bench.rule("slow", Level::rank);
  bench.pack.alert_limit = 1;
  bench.begin(2);
  bench.at(10, {{Y, Y}});
  for (int s = 20; s < 610; s += 10) bench.at(s, {{Y, U}});
  REQUIRE(bench.story() == Story{"10 slow firing rank 0", "10 alert_limit firing"});
  bench.at(610, {{Y, U}});
  CHECK(bench.story().back() == "610 alert_limit resolved cleared");
}

TEST_CASE("what is not evaluated for three intervals expires: the T of its resolve is the tick, not the clock") {
  Bench bench;
  Rule& rule = bench.rule("slow");
  rule.every = {{Trigger::Kind::period, 300s, {}}};
  rule.settle = 60s;
  bench.begin();
  bench.at(10, {{Y}});
  CHECK(bench.lifecycle->next_expiry(bench.runs) == tick(970));
  bench.silence_to(970);
  CHECK(bench.story() == Story{"10 slow firing", "910 slow resolved no data"});
}

TEST_CASE("of two rules whose alerts expire at one tick the one whose data is complete later goes later") {
  Bench bench;
  bench.rule("fast");
  bench.rule("slow").settle = 60s;
  bench.begin();
  bench.at(10, {{Y}, {Y}});
  bench.silence_to(669);
  CHECK(bench.story() == Story{"10 fast firing", "10 slow firing", "610 fast resolved no data"});
  bench.silence_to(670);
  CHECK(bench.story().back() == "610 slow resolved no data");
}

TEST_CASE("a rule that records trigger has three of its own intervals, and ten minutes at least") {
  Bench bench;
  bench.rule("loss").every = {{Trigger::Kind::record, {}, SignalId{3}}};
  bench.begin();
  bench.at(0, {{N}}), bench.at(100, {{N}});
  CHECK(bench.runs[0].patience() == 10min);
  bench.at(600, {{Y}});
  CHECK(bench.runs[0].patience() == 1500s);
  CHECK(bench.lifecycle->next_expiry(bench.runs) == tick(2100));
}

TEST_CASE(
    "what a finding reads of a member that is pending is what is known of it, and ever only what is known often "
    "enough") {
  Bench bench;
  bench.rule("hot").fire = {false, 2, 2, {}};
  bench.begin();
  bench.at(10, {{Y}});
  CHECK(bench.runs[0].answers(tick(10))[0] == N);
  bench.at(20, {{U}});
  CHECK(bench.runs[0].answers(tick(20))[0] == U);
  for (const int known : {89, 90}) {
    CAPTURE(known);
    Bench often;
    often.rule("hot");
    often.begin();
    for (int i = 0; i < 100; ++i) often.at(10 * i, {{i < known ? N : U}});
    CHECK(often.runs[0].ever(0) == (known < 90 ? U : N));
  }
}

TEST_CASE("times of an alert's transitions never run backwards, although a child's ticks run later than its parent's") {
  Bench bench;
  bench.rule("parent");
  bench.child("child").settle = 60s;
  bench.begin();
  bench.at(30, {{}, {Y}});
  bench.at(90, {{Y}, {}});
  bench.at(95, {{N}, {}});
  bench.at(40, {{}, {Y}});  // runs at 100
  CHECK(bench.story() == Story{"30 child firing", "90 parent firing", "90 child resolved explained by parent",
                               "95 parent resolved cleared", "90 child firing"});
}

TEST_CASE("a shadow or canary rule neither explains a live one nor lets it wait") {
  for (const Mode mode : {Mode::canary, Mode::shadow}) {
    CAPTURE(name(mode));
    Bench bench;
    bench.rule("firing").mode = mode;
    bench.child("child");
    bench.rule("pending").mode = mode;
    bench.pack.rules.back().fire = {false, 2, 2, {}};
    bench.child("waiting");
    bench.begin();
    bench.at(10, {{N}, {Y}, {}, {}});
    bench.at(20, {{Y}, {Y}, {Y}, {Y}});
    CHECK(bench.story() == Story{"10 child firing", "20 firing firing", "20 waiting firing"});
  }
}

TEST_CASE("a live rule explains one in shadow") {
  Bench bench;
  bench.rule("parent");
  bench.child("child").mode = Mode::shadow;
  bench.begin();
  bench.at(10, {{N}, {Y}}), bench.at(20, {{Y}, {Y}});
  CHECK(bench.story() == Story{"10 child firing", "20 parent firing", "20 child resolved explained by parent"});
}

TEST_CASE("a rule without a severity has no alert, and explains its children while it is on") {
  Bench bench;
  bench.rule("phase").severity = Severity::none;
  bench.child("child");
  bench.begin();
  bench.at(10, {{N}, {Y}}), bench.at(20, {{Y}, {Y}}), bench.at(30, {{N}, {Y}});
  CHECK(bench.story() == Story{"10 child firing", "20 child resolved explained by phase", "30 child firing"});
}
