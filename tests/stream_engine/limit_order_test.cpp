// The limit of open alerts: of each severity and mode, by the order in which they came.
#include <doctest/doctest.h>

#include "tests/stream_engine/lifecycle_bench.h"

using namespace tocsin::tests;

TEST_CASE(
    "over the limit the lowest members of one tick are named and one summary gives the count; a limit never resolves") {
  Bench bench;
  bench.rule("slow", Level::rank);
  bench.pack.alert_limit = 100;
  bench.begin(10'000);
  bench.at(10, {std::vector<Truth>(10'000, Y)});
  REQUIRE(bench.published.size() == 101);
  CHECK(bench.published[0].member.rank == 0);
  CHECK(bench.published[99].member.rank == 99);
  CHECK(bench.published[100].rule == "alert_limit");
  CHECK(bench.published[100].shows.find("9900 more") == 0);
  bench.at(20, {std::vector<Truth>(10'000, Y)});
  CHECK(bench.published.size() == 101);
  auto fewer = std::vector<Truth>(10'000, Y);
  fewer[0] = N;
  bench.at(30, {fewer});
  REQUIRE(bench.published.size() == 103);
  CHECK(bench.published[101].state == AlertState::resolved);
  CHECK(bench.published[102].member.rank == 100);  // there is room again
}

TEST_CASE("alerts of one severity take no room from those of another") {
  Bench bench;
  bench.rule("a_warning", Level::rank);
  bench.rule("b_critical", Level::rank).severity = Severity::critical;
  bench.pack.alert_limit = 2;
  bench.begin(4);
  bench.at(10, {{Y, Y, Y, N}, {N, N, Y, Y}});
  CHECK(bench.story() == Story{"10 a_warning firing rank 0", "10 a_warning firing rank 1",
                               "10 b_critical firing rank 2", "10 b_critical firing rank 3", "10 alert_limit firing"});
  CHECK(bench.published.back().shows ==
        "1 more members than the limit of 2 alerts of each severity allows; those that came first are named");
}

TEST_CASE("rules in shadow and canary take no room from live ones, and what they withhold is no live alert") {
  for (const Mode mode : {Mode::canary, Mode::shadow}) {
    CAPTURE(name(mode));
    Bench bench;
    bench.rule("a_tried", Level::rank).mode = mode;
    bench.rule("b_live", Level::rank);
    bench.pack.alert_limit = 2;
    bench.begin(4);
    bench.at(10, {{Y, Y, Y, Y}, {N, N, N, N}});
    REQUIRE(bench.story() == Story{"10 a_tried firing rank 0", "10 a_tried firing rank 1", "10 alert_limit firing"});
    CHECK(bench.published.back().mode == mode);
    bench.at(20, {{Y, Y, Y, Y}, {Y, Y, N, N}});
    CHECK(bench.published.size() == 5);
    CHECK(bench.story().back() == "20 b_live firing rank 1");
    bench.at(30, {{Y, Y, Y, Y}, {Y, Y, Y, N}});
    CHECK(bench.story().back() == "30 alert_limit firing");
    CHECK(bench.published.back().mode == Mode::live);
    CHECK(bench.published.back().id != bench.published[2].id);
  }
}

TEST_CASE("room that becomes free goes to who came first, not to the lower member") {
  Bench bench;
  bench.rule("slow", Level::rank);
  bench.pack.alert_limit = 1;
  bench.begin(4);
  bench.at(10, {{N, N, N, Y}}), bench.at(20, {{N, N, Y, Y}}), bench.at(30, {{N, Y, Y, Y}});
  REQUIRE(bench.story() == Story{"10 slow firing rank 3", "20 alert_limit firing"});
  bench.at(40, {{Y, Y, Y, N}});  // and not to who comes now
  CHECK(bench.story().back() == "40 slow firing rank 2");
  bench.at(50, {{Y, Y, N, N}});
  CHECK(bench.story().back() == "50 slow firing rank 1");
  bench.at(60, {{Y, N, N, N}});
  CHECK(bench.story()[bench.published.size() - 2] == "60 slow firing rank 0");
  CHECK(bench.story().back() == "60 alert_limit resolved cleared");
}

TEST_CASE("a member that is withheld fires with the values of its own rule's tick, and its place is kept until then") {
  Bench bench;
  bench.rule("a", Level::rank);
  bench.rule("b", Level::rank);
  bench.pack.alert_limit = 1;
  bench.begin(2);
  bench.at(10, {{Y, N}, {}}), bench.at(15, {{}, {Y, N}});
  bench.at(20, {{N, Y}, {}});  // rank 1 of a comes after rank 0 of b
  CHECK(bench.story().back() == "20 a resolved cleared rank 0");
  bench.at(25, {{}, {Y, N}});
  CHECK(bench.story().back() == "25 b firing rank 0");
}

TEST_CASE("a member that is withheld explains its children as one that fires does") {
  Bench bench;
  bench.rule("parent", Level::rank);
  bench.child("child", Level::rank).severity = Severity::critical;
  bench.pack.alert_limit = 1;
  bench.begin(2);
  bench.at(10, {{Y, Y}, {N, Y}});
  CHECK(bench.story() == Story{"10 parent firing rank 0", "10 alert_limit firing"});
  bench.at(20, {{Y, N}, {N, Y}});
  CHECK(bench.story() == Story{"10 parent firing rank 0", "10 alert_limit firing", "20 child firing rank 1",
                               "20 alert_limit resolved cleared"});
}

TEST_CASE("who is withheld is explained when its parent fires, and leaves its place to others") {
  Bench bench;
  bench.rule("parent", Level::rank).severity = Severity::critical;
  bench.child("child", Level::rank);
  bench.pack.alert_limit = 1;
  bench.begin(3);
  bench.at(10, {{N, N, N}, {Y, Y, Y}});
  bench.at(20, {{N, Y, N}, {}});
  bench.at(30, {{N, Y, N}, {N, Y, Y}});
  CHECK(bench.story() == Story{"10 child firing rank 0", "10 alert_limit firing", "20 parent firing rank 1",
                               "30 child resolved cleared rank 0", "30 child firing rank 2",
                               "30 alert_limit resolved cleared"});
}
