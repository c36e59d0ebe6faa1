// Events and points: what windows of them hold, and in which order they are applied.
#include <doctest/doctest.h>

#include <cmath>

#include "bench.h"
#include "stream/windows/text_pattern.h"

using namespace tocsin::test;

TEST_CASE("the time between two changes of the step becomes a point of step_gap") {
  Bench bench;
  bench.add(signal("step", SignalKind::step));
  auto gap_signal = signal("step_gap", SignalKind::gauge, true);
  gap_signal.lateness = 1s;
  bench.add(gap_signal);
  const NodeId count = bench.reduce(bench.points("step_gap", 8), Op::w_count),
               last = bench.reduce(bench.points("step_gap", 8), Op::w_last);
  bench.begin();
  bench.listen(0, 100);
  for (int i = 0; i < 5; ++i) {
    bench.sample("step", 1, 10 + 3 * i, i, 10 + 3 * i);
    bench.sample("step", 1, 11 + 3 * i, i, 11 + 3 * i);
  }
  CHECK(bench.look(count, 30)[1] == 4);
  CHECK(bench.look(last, 30)[1] == 3);
  CHECK(bench.look(count, 30)[2] == 0);
  CHECK(bench.applied.size() == 4);
  CHECK(bench.applied[0].at == at(13));
  // What a record says of it is not taken where the engine makes it.
  CHECK(bench.sample("step_gap", 1, 40, 9, 40) == History::Write::unwanted);
  CHECK(bench.sample("step_gap", 3, 40, 9, 40) == History::Write::taken);
}

TEST_CASE("a producer's step_gap is ignored in rows as well, however its samples come") {
  Bench bench;
  bench.add(signal("step", SignalKind::step));
  bench.add(signal("step_gap"));
  const NodeId last = bench.reduce(bench.window("step_gap", 30s), Op::w_last);
  bench.begin();
  for (int i = 0; i < 5; ++i) bench.sample("step", 1, 10 + 3 * i, i, 10 + 3 * i);
  // The row of the last gap is open.
  CHECK(bench.sample("step_gap", 1, 22, 9, 22) == History::Write::unwanted);
  const History::Value several[] = {{*bench.table.find("step_gap"), 1, 9}};
  bench.history->samples(several, at(22), at(22), {0, 1, 0});
  CHECK(bench.look(last, 30)[1] == 3);
}

TEST_CASE("a count of events is 0 only where their source was covered over the window, and their age infinite") {
  Bench bench;
  bench.add(signal("xid", SignalKind::event, false, Level::rank));
  const NodeId count = bench.reduce(bench.window("xid", 60s), Op::w_count),
               age = bench.reduce(bench.window("xid", 60s), Op::w_age),
               rate = bench.reduce(bench.window("xid", 60s), Op::w_rate);
  bench.begin();
  bench.event("xid", 1, 100, 79, 101);
  auto counts = bench.look(count, 110);
  CHECK(counts[1] == 1);
  CHECK(is_absent(counts[2]));
  CHECK(is_absent(bench.look(age, 110)[2]));
  bench.listen(0, 200);
  counts = bench.look(count, 120);
  CHECK(counts[2] == 0);
  CHECK(bench.look(age, 120)[1] == 24);
  CHECK(bench.look(age, 120)[2] == std::numeric_limits<double>::infinity());
  CHECK(bench.look(rate, 120)[1] == 1.0 / 60);
  CHECK(bench.look(count, 161)[1] == 0);  // it has left the window
}

TEST_CASE("a source that was covered for a node was covered for its ranks") {
  Bench bench;
  bench.add(signal("xid", SignalKind::event));
  const NodeId count = bench.reduce(bench.window("xid", 60s), Op::w_count);
  bench.topology.place(0, "n1", "0");
  bench.topology.place(1, "n2", "0");
  bench.begin();
  for (double t = 0; t < 200; t += 10) bench.coverage.extend("collector", Level::node, 0, at(t));
  CHECK(bench.look(count, 110)[1] == 0);
  CHECK(is_absent(bench.look(count, 115)[2]));
}

TEST_CASE("events are filtered by numbers and texts, and first, last, repeats and distinct look at what passes") {
  Bench bench;
  auto definition = signal("fault", SignalKind::event);
  definition.fields.push_back({"what", "text"});
  bench.add(definition);
  auto fatal = bench.window("fault", 100s), named = bench.window("fault", 100s);
  fatal.filters = {{"code", {Scalar{79.0}, Scalar{48.0}}, true}};
  named.filters = {{"what", {Scalar{std::string{"bus"}}}, false}};
  auto part = named, not_part = named;
  part.filters = {{"what", {Scalar{std::string{"*e*r*"}}}, true}};
  not_part.filters = {{"what", {Scalar{std::string{"*e*r*"}}, Scalar{std::string{"b*s"}}}, false}};
  const NodeId parts = bench.reduce(part, Op::w_count), rest = bench.reduce(not_part, Op::w_count);
  const NodeId last = bench.reduce(fatal, Op::w_last, 0, "code"), first = bench.reduce(fatal, Op::w_first, 0, "code"),
               repeats = bench.reduce(fatal, Op::w_repeats, 0, "code"),
               distinct = bench.reduce(fatal, Op::w_distinct, 0, "code"), count = bench.reduce(named, Op::w_count);
  Symbols symbols;
  std::vector<NodeId> reductions;
  for (const auto& r : bench.reductions) reductions.push_back(r.node);
  bench.history.emplace(*bench.graph, reductions, bench.windows, bench.topology, &symbols);
  const auto tell = [&](double time, double code, const std::string& what) {
    bench.settle(time);
    const EventField fields[] = {{"code", code}, {"what", symbols.intern(what)}};
    (void)bench.history->event(*bench.table.find("fault"), 1, at(time), fields, at(time), {0, 1, 0});
  };
  bench.listen(0, 100);
  tell(10, 48, "memory");
  tell(20, 79, "bus");
  tell(30, 13, "bus");
  tell(40, 79, "other");
  CHECK(bench.look(last, 60)[1] == 79);
  CHECK(bench.look(first, 60)[1] == 48);
  CHECK(bench.look(repeats, 60)[1] == 2);
  CHECK(bench.look(count, 60)[1] == 2);
  CHECK(bench.look(parts, 60)[1] == 2);  // memory, other
  CHECK(bench.look(rest, 60)[1] == 0);
  CHECK(is_absent(bench.look(last, 60)[2]));
  CHECK(bench.look(repeats, 60)[2] == 0);
  CHECK(bench.look(distinct, 60)[1] == 2);
  CHECK(bench.look(distinct, 60)[2] == 0);
}

TEST_CASE("a star in a text stands for any part, also for none, and a star with a backslash for itself") {
  const auto matches = [](std::string_view pattern, std::string_view text) {
    return TextPattern{pattern}.matches(text);
  };
  CHECK(matches("*out of memory*", "CUDA out of memory. Tried"));
  CHECK(matches("*out of memory*", "out of memory"));
  CHECK_FALSE(matches("*out of memory*", "out of  memory"));
  CHECK(matches("a*a", "aa"));
  CHECK_FALSE(matches("a*a", "a"));
  CHECK(matches("a*b*c", "abbc"));
  CHECK_FALSE(matches("a*bc*c", "abc"));
  CHECK(matches("*", ""));
  CHECK_FALSE(matches("a", "ab"));
  CHECK(matches("2 \\* 3", "2 * 3"));
  CHECK_FALSE(matches("2 \\* 3", "2 x 3"));
  CHECK(*TextPattern{"2 \\* 3"}.literal() == "2 * 3");
  CHECK(TextPattern{"2 * 3"}.literal() == nullptr);
}

TEST_CASE("an attempt's events are counted beyond those that are kept") {
  Bench bench;
  bench.add(signal("line", SignalKind::event));
  const NodeId count = bench.reduce(bench.attempt("line"), Op::w_count),
               first = bench.reduce(bench.attempt("line"), Op::w_first, 0, "code"),
               last = bench.reduce(bench.attempt("line"), Op::w_last, 0, "code");
  bench.begin();
  constexpr int many = 20'000;
  for (int i = 0; i < many; ++i) bench.event("line", 1, 1 + i * 0.01, i, 1 + i * 0.01);
  CHECK(bench.look(count, 300)[1] == many);
  CHECK(bench.look(first, 300)[1] == 0);
  CHECK(bench.look(last, 300)[1] == many - 1);
  CHECK(bench.history->retained_samples() < 5000);
}

TEST_CASE("of the ranks that report a step's loss the lowest is taken, once a step") {
  for (const bool other_way_round : {false, true}) {
    Bench bench;
    auto loss = signal("loss", SignalKind::gauge, true, Level::job);
    bench.add(loss);
    const NodeId last = bench.reduce(bench.points("loss", 8), Op::w_last),
                 count = bench.reduce(bench.points("loss", 8), Op::w_count);
    bench.begin();
    const double a = other_way_round ? 0.2 : 0.0, b = 0.2 - a;
    if (other_way_round)
      bench.sample("loss", 0, 10 + b, 2.5, 10.3, 5, 1), bench.sample("loss", 0, 10 + a, 3.5, 10.4, 5, 4);
    else bench.sample("loss", 0, 10 + a, 3.5, 10.3, 5, 4), bench.sample("loss", 0, 10 + b, 2.5, 10.4, 5, 1);
    bench.sample("loss", 0, 11, 2.0, 11, 6, 4);
    bench.sample("loss", 0, 25, 9.0, 25, 5, 1);  // step 5 was applied long ago
    CHECK(bench.look(count, 40)[0] == 2);
    CHECK(bench.look(last, 40)[0] == 2.0);
    REQUIRE(bench.applied.size() == 2);
    CHECK(bench.applied[0].at == at(10 + b));
    // A step count that restarts far away is new.
    for (int i = 0; i < 70; ++i) bench.sample("loss", 0, 50 + i, 1, 50 + i, 100 + i, 1);
    bench.sample("loss", 0, 130, 7, 130, 5, 1);
    CHECK(bench.look(last, 140)[0] == 7);
  }
}

TEST_CASE("points are applied in the order of their times, and one that comes too late when it is read") {
  Bench bench;
  bench.add(signal("dot", SignalKind::gauge, true));
  const NodeId last = bench.reduce(bench.points("dot", 4), Op::w_last);
  bench.begin();
  bench.sample("dot", 1, 12, 1, 12);
  bench.sample("dot", 1, 11, 2, 13);
  CHECK(bench.sample("dot", 1, 3, 3, 14) == History::Write::late);
  bench.settle(30);
  REQUIRE(bench.applied.size() == 3);
  CHECK(bench.applied[0].at == at(11));
  CHECK(bench.applied[1].at == at(12));
  CHECK(bench.applied[2].at == at(14));
  CHECK(bench.look(last, 30)[1] == 3);
}
