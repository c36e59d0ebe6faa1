// Whose silence may be judged: covered without a break, and by whoever has read far enough.
#include <doctest/doctest.h>

#include "stream/windows/source_coverage.h"

using namespace tocsin::stream;
using namespace std::chrono_literals;

namespace {

Time at(int s) { return at_nanoseconds(1'790'000'000'000'000'000) + std::chrono::seconds{s}; }
constexpr Slot slots[] = {1, 2};

}  // namespace

TEST_CASE("a break after a window's end leaves the window covered; one within it does not") {
  Topology topology;
  topology.expect_ranks(2);
  SourceCoverage coverage;
  coverage.start(at(0));
  for (int s = 0; s <= 100; s += 10) coverage.extend("log", Level::rank, slots, at(s));
  for (int s = 200; s <= 300; s += 10) coverage.extend("log", Level::rank, slots, at(s));
  const auto over = [&](int from, int to) { return coverage.over("log", Level::rank, 1, topology, at(from), at(to)); };
  CHECK(over(20, 90));
  CHECK(over(0, 130));  // covered no more than 30 s before its end
  CHECK_FALSE(over(0, 131));
  CHECK_FALSE(over(50, 250));
  CHECK_FALSE(over(140, 160));
  CHECK(over(170, 300));
  CHECK(over(210, 320));

  Writer out;
  coverage.save(out);
  SourceCoverage again;
  Reader in{out.bytes()};
  REQUIRE(again.load(in));
  CHECK(again.over("log", Level::rank, 1, topology, at(20), at(90)));
  CHECK_FALSE(again.over("log", Level::rank, 1, topology, at(50), at(250)));
}

TEST_CASE("a source that began after a window does not cover it, also where it has broken off since") {
  Topology topology;
  topology.expect_ranks(2);
  SourceCoverage coverage;
  coverage.start(at(0));
  for (const int from : {0, 200, 400})
    for (int s = from; s <= from + 100; s += 10) coverage.extend("log", Level::rank, slots, at(s));
  const auto over = [&](int from, int to) { return coverage.over("log", Level::rank, 1, topology, at(from), at(to)); };
  CHECK_FALSE(over(180, 190));
  CHECK(over(180, 210));
  CHECK_FALSE(over(380, 390));
  CHECK(over(380, 410));
}

TEST_CASE("time within a hole of beats that has not ended is lost once, also where a source had a hole of its own") {
  const Time clock = at(130), last = at(100);
  const auto lost = [&](std::vector<std::pair<int, int>> gaps, int from, int now) {
    SourceCoverage coverage{nullptr, {&clock, &last}};
    coverage.start(at(0));
    for (const auto& [begin, end] : gaps) coverage.gap(at(begin), at(end));
    const auto before = coverage.lost(at(from), at(now));
    SourceCoverage ended;
    ended.start(at(0));
    for (const auto& [begin, end] : gaps) ended.gap(at(begin), at(end));
    ended.gap(at(100), at(131));  // the beat that ends it has come
    CHECK(ended.lost(at(from), at(now)) == before);
    return before;
  };
  CHECK(lost({}, 90, 130) == 30s);
  CHECK(lost({{95, 130}}, 90, 130) == 35s);
  CHECK(lost({{95, 130}}, 97, 120) == 23s);
  CHECK(lost({{110, 120}}, 90, 130) == 30s);
  CHECK(lost({{110, 120}}, 115, 130) == 15s);
  CHECK(lost({{20, 30}, {95, 100}}, 25, 130) == 40s);
  CHECK(lost({{95, 130}}, 90, 104) == 9s);  // of the beats it is no hole yet
}

TEST_CASE("time within several gaps is lost once") {
  SourceCoverage coverage;
  coverage.start(at(0));
  coverage.gap(at(20), at(45));
  coverage.gap(at(30), at(40));
  CHECK(coverage.lost(at(0), at(100)) == 25s);
  coverage.gap(at(44), at(50));
  coverage.gap(at(10), at(21));
  CHECK(coverage.lost(at(0), at(100)) == 40s);
  CHECK(coverage.lost(at(12), at(48)) == 36s);
  CHECK(coverage.lost(at(50), at(60)) == 0s);
}

TEST_CASE("members of an origin that was not read so far are unobserved, also after a restore") {
  Origins origins;
  const std::size_t near = origins.index("lines/0", at(1)), far = origins.index("lines/1", at(1));
  SourceCoverage coverage{&origins};
  constexpr Slot first[] = {1}, second[] = {2, 3};
  coverage.carried(near, Level::rank, first);
  coverage.carried(far, Level::rank, second);
  std::vector<std::uint8_t> members;
  std::vector<std::string> left;
  coverage.reads(near), coverage.reads(far);
  const auto follow = [&](Time now, const Watermarks& watermarks) {
    for (const char* moved : {"lines/1", "lines/0"}) origins.follow(now, watermarks, moved);
    coverage.follow_origins([&](std::string_view origin, bool behind) {
      left.push_back(std::string{origin} + (behind ? " left" : " is back"));
    });
  };

  follow(at(60), {{"lines/0", at(60)}, {"lines/1", at(50)}});
  CHECK(origins.clock() == at(50));
  CHECK_FALSE(coverage.unobserved(Level::rank, at(50), members));

  follow(at(171), {{"lines/0", at(171)}});
  CHECK(left == std::vector<std::string>{"lines/1 left"});
  CHECK(origins.clock() == at(171));
  REQUIRE(coverage.unobserved(Level::rank, at(171), members));
  CHECK(members == std::vector<std::uint8_t>{0, 0, 1, 1});

  Writer out;
  out(1, origins), out(2, coverage);
  Origins kept;
  SourceCoverage again{&kept};
  Reader in{out.bytes()};
  in(1, kept), in(2, again);
  REQUIRE(in.status());
  REQUIRE(again.unobserved(Level::rank, at(171), members));
  CHECK(members == std::vector<std::uint8_t>{0, 0, 1, 1});
  again.follow_origins([](std::string_view, bool) { FAIL("it was reported before"); });

  follow(at(172), {{"lines/0", at(172)}, {"lines/1", at(160)}});
  CHECK(left.back() == "lines/1 is back");
  CHECK(origins.clock() == at(171));  // never back
  CHECK(coverage.unobserved(Level::rank, at(171), members));
  follow(at(173), {{"lines/0", at(173)}, {"lines/1", at(172)}});
  CHECK(origins.clock() == at(172));
  CHECK_FALSE(coverage.unobserved(Level::rank, at(172), members));
}

TEST_CASE("an origin of another attempt is not reported as behind") {
  Origins origins;
  origins.index("of another attempt/0", at(1));
  const std::size_t own = origins.index("lines/0", at(1));
  SourceCoverage coverage{&origins};
  coverage.reads(own);
  origins.follow(at(300), {{"lines/0", at(300)}}, "lines/0");
  coverage.follow_origins([](std::string_view, bool) { FAIL("its own origin is not behind"); });
}

TEST_CASE("following says when the clock moves, an origin is left, comes back or ends, and else that nothing did") {
  Origins origins;
  origins.index("a", at(1)), origins.index("b", at(1));
  Watermarks marks{{"a", at(10)}, {"b", at(5)}};
  CHECK(origins.follow(at(10), marks, "a"));  // both are new
  CHECK(origins.clock() == at(5));
  marks["a"] = at(20);
  CHECK_FALSE(origins.follow(at(20), marks, "a"));
  CHECK_FALSE(origins.follow(at(20), marks, "of another job"));
  marks["b"] = at(15);
  CHECK(origins.follow(at(20), marks, "b"));
  CHECK(origins.clock() == at(15));
  marks["a"] = at(200);
  CHECK(origins.follow(at(200), marks, "a"));  // b is left
  CHECK(origins.clock() == at(200));
  marks["b"] = at(199);
  CHECK(origins.follow(at(201), marks, "b"));  // and back
  CHECK_FALSE(origins.left(1));
  CHECK(origins.clock() == at(200));
  marks["a"] = never;
  CHECK(origins.follow(at(202), marks, "a"));
  CHECK(origins.clock() == at(200));
}

TEST_CASE("where no origin is waited for, the clock is that of the log's control records") {
  Time controlled = at(1);
  Origins origins{&controlled};
  origins.index("lines/0", at(1));
  controlled = at(5);
  CHECK(origins.clock() < at(5));
  origins.follow(at(300), {{"lines/0", at(1)}}, "lines/0");  // it is left behind
  REQUIRE(!origins.waits());
  controlled = at(310);
  CHECK(origins.clock() == at(310));
}

TEST_CASE("a source is kept from when signals name it on, and no other") {
  const auto named = [](std::string source) {
    SignalTable table;
    SignalDefinition definition;
    definition.name = "heat", definition.source = std::move(source);
    REQUIRE(table.add(std::move(definition)));
    return table;
  };
  const SignalTable before = named("log"), after = named("sensor");
  Topology topology;
  topology.expect_ranks(2);
  SourceCoverage coverage;
  coverage.start(at(0));
  for (int s = 0; s <= 300; s += 10) {
    coverage.keep(s < 100 ? before : after);
    const auto version = coverage.version();
    for (const char* source : {"log", "sensor", "file"}) coverage.extend(source, Level::rank, slots, at(s));
    CHECK(coverage.version() == version + (s < 100 ? 1 : 2));
  }
  const auto over = [&](const char* source, int from, int to) {
    return coverage.over(source, Level::rank, 1, topology, at(from), at(to));
  };
  CHECK(over("log", 0, 300));
  CHECK(over("sensor", 100, 300));
  CHECK_FALSE(over("sensor", 50, 300));
  CHECK_FALSE(coverage.ever("file"));
}
