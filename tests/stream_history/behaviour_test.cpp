#include <doctest/doctest.h>

#include <cmath>

#include "recorded.h"

using namespace tocsin::test;

namespace {

SignalDefinition signal(std::string name, SignalKind kind = SignalKind::gauge, bool points = false, Level owner = Level::rank) {
  SignalDefinition definition;
  definition.name = std::move(name);
  definition.kind = kind;
  definition.points = points;
  definition.owner = owner;
  definition.source = "collector";
  if (kind == SignalKind::event) {
    definition.lateness = 1s;
    definition.fields.push_back({"code", "none"});
  }
  return definition;
}

struct Bench : Recorded {
  Bench() : Recorded(4) {}
  std::optional<History> history;
  void begin() { history.emplace(open()); }
  void settle(double s) {
    history->settle(at(s), [this](const Applied& a) { applied.push_back(a); });
  }
  History::Write sample(std::string_view name, Slot slot, double time, double value, double arrival, double step = absent,
                        Slot reporter = 0) {
    settle(arrival);
    return history->sample(*table.find(name), slot, at(time), value, at(arrival), {0, 1, 0}, step, reporter);
  }
  void event(std::string_view name, Slot slot, double time, double code, double arrival) {
    settle(arrival);
    const EventField field{"code", code};
    (void)history->event(*table.find(name), slot, at(time), {&field, 1}, at(arrival), {0, 1, 0});
  }
  void listen(double from, double to) {
    for (double t = from; t <= to; t += 10) coverage.extend("collector", Level::job, 0, at(t));
  }
  std::vector<double> look(NodeId node, double tick, Time end = never) {
    const auto& r = *std::find_if(reductions.begin(), reductions.end(), [&](const Reduction& known) { return known.node == node; });
    settle(tick + seconds(r.spec.settle));
    std::vector<double> out(topology.size(table[r.spec.signal].owner));
    history->reduce((*graph)[node], r.spec, {}, {at(tick), at(tick) + r.spec.settle, start, end}, coverage, out);
    return out;
  }
};

}  // namespace

TEST_CASE("an age counts from the last arrival, and before the first from the attempt's start where the source was covered") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId age = bench.reduce(bench.window("load", 30s), Op::w_age);
  bench.begin();
  bench.sample("load", 2, 10, 1, 12);
  auto ages = bench.look(age, 50);
  CHECK(ages[2] == 43);       // 50 + 5 - 12
  CHECK(is_absent(ages[1]));  // never seen, and nobody listened
  CHECK(is_absent(ages[reserved_slot]));
  bench.listen(0, 60);
  ages = bench.look(age, 55);
  CHECK(ages[2] == 48);
  CHECK(ages[1] == 60);
  bench.topology.exited(0);
  CHECK(is_absent(bench.look(age, 60)[1]));
}

TEST_CASE("an age leaves out gaps, in which nobody listened, and stops at the attempt's end") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId age = bench.reduce(bench.window("load", 30s), Op::w_age);
  bench.begin();
  bench.sample("load", 1, 10, 1, 10);
  bench.coverage.gap(at(20), at(30));
  bench.coverage.gap(at(20), at(45));
  CHECK(bench.look(age, 50)[1] == 20);  // 45 s less 25 s of gap
  CHECK(bench.look(age, 55, at(52))[1] == 17);
}

TEST_CASE("what goes on after the attempt's end pushes nothing out of the windows that are looked at there") {
  Bench bench;
  bench.add(signal("load"));
  bench.add(signal("fault", SignalKind::event));
  const NodeId mean = bench.reduce(bench.window("load", 30s), Op::w_mean);
  const NodeId count = bench.reduce(bench.window("fault", 20s), Op::w_count);
  bench.begin();
  for (int t = 1; t <= 185; ++t) {
    bench.sample("load", 1, t, t <= 60 ? 2 : 100, t);
    if (t == 39 || t == 50 || t == 55 || t == 120) bench.event("fault", 1, t, 7, t + 0.5);
    if (t == 61) bench.history->end(at(60));
  }
  bench.settle(185);
  const auto at_end = [&](NodeId node, std::string_view name, Duration over) {
    std::vector<double> out(bench.topology.size(Level::rank));
    bench.history->reduce((*bench.graph)[node], bench.window(name, over), {}, {at(60), at(60), bench.start, at(60)}, bench.coverage, out);
    return out[1];
  };
  CHECK(at_end(mean, "load", 30s) == 2);
  CHECK(at_end(count, "fault", 20s) == 3);  // late records are in: the one at 120 s, too
}

TEST_CASE("a late sample is not merged, but proves life") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId age = bench.reduce(bench.window("load", 30s), Op::w_age), count = bench.reduce(bench.window("load", 30s), Op::w_count);
  bench.begin();
  bench.listen(0, 60);
  CHECK(bench.sample("load", 1, 10, 1, 20) == History::Write::late);
  CHECK(bench.sample("load", 2, 16, 1, 20) == History::Write::taken);
  const auto counts = bench.look(count, 30);
  CHECK(counts[1] == 0);
  CHECK(counts[2] == 1);
  CHECK(is_absent(counts[reserved_slot]));
  CHECK(bench.look(age, 30)[1] == 15);
}

TEST_CASE("the age of a step counts from the last change of its value") {
  Bench bench;
  bench.add(signal("step", SignalKind::step));
  const NodeId age = bench.reduce(bench.attempt("step"), Op::w_age), last = bench.reduce(bench.attempt("step"), Op::w_last);
  bench.begin();
  bench.sample("step", 1, 10, 7, 10);
  bench.sample("step", 1, 12, 8, 12);
  for (double t = 13; t < 60; ++t) bench.sample("step", 1, t, 8, t);
  CHECK(bench.look(age, 60)[1] == 53);
  CHECK(bench.look(last, 60)[1] == 8);
}

TEST_CASE("the time between two changes of the step becomes a point of step_gap") {
  Bench bench;
  bench.add(signal("step", SignalKind::step));
  auto gap_signal = signal("step_gap", SignalKind::gauge, true);
  gap_signal.lateness = 1s;
  bench.add(gap_signal);
  const NodeId count = bench.reduce(bench.points("step_gap", 8), Op::w_count), last = bench.reduce(bench.points("step_gap", 8), Op::w_last);
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

TEST_CASE("a count of events is 0 only where their source was covered over the window, and their age infinite") {
  Bench bench;
  bench.add(signal("xid", SignalKind::event, false, Level::rank));
  const NodeId count = bench.reduce(bench.window("xid", 60s), Op::w_count), age = bench.reduce(bench.window("xid", 60s), Op::w_age),
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

TEST_CASE("events are filtered by numbers and texts, and first, last and repeats look at what passes") {
  Bench bench;
  auto definition = signal("fault", SignalKind::event);
  definition.fields.push_back({"what", "text"});
  bench.add(definition);
  auto fatal = bench.window("fault", 100s), named = bench.window("fault", 100s);
  fatal.filters = {{"code", {Scalar{79.0}, Scalar{48.0}}, true}};
  named.filters = {{"what", {Scalar{std::string{"bus"}}}, false}};
  const NodeId last = bench.reduce(fatal, Op::w_last, 0, "code"), first = bench.reduce(fatal, Op::w_first, 0, "code"),
               repeats = bench.reduce(fatal, Op::w_repeats, 0, "code"), count = bench.reduce(named, Op::w_count);
  std::map<std::string, double, std::less<>> symbols;
  std::vector<NodeId> reductions;
  for (const auto& r : bench.reductions) reductions.push_back(r.node);
  bench.history.emplace(*bench.graph, reductions, bench.windows, bench.topology, [&](std::string_view text) {
    const auto known = symbols.find(text);
    return known == symbols.end() ? absent : known->second;
  });
  const auto tell = [&](double time, double code, const std::string& what) {
    symbols.try_emplace(what, static_cast<double>(symbols.size()));
    bench.settle(time);
    const EventField fields[] = {{"code", code}, {"what", symbols[what]}};
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
  CHECK(is_absent(bench.look(last, 60)[2]));
  CHECK(bench.look(repeats, 60)[2] == 0);
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
    const NodeId last = bench.reduce(bench.points("loss", 8), Op::w_last), count = bench.reduce(bench.points("loss", 8), Op::w_count);
    bench.begin();
    const double a = other_way_round ? 0.2 : 0.0, b = 0.2 - a;
    if (other_way_round) bench.sample("loss", 0, 10 + b, 2.5, 10.3, 5, 1), bench.sample("loss", 0, 10 + a, 3.5, 10.4, 5, 4);
    else bench.sample("loss", 0, 10 + a, 3.5, 10.3, 5, 4), bench.sample("loss", 0, 10 + b, 2.5, 10.4, 5, 1);
    bench.sample("loss", 0, 11, 2.0, 11, 6, 4);
    bench.sample("loss", 0, 25, 9.0, 25, 5, 1);  // step 5 was applied long ago
    CHECK(bench.look(count, 40)[0] == 2);
    CHECK(bench.look(last, 40)[0] == 2.0);
    CHECK(bench.history->repeated_steps() == 2);
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

TEST_CASE("a state holds its last value over the attempt, and needs no cover") {
  Bench bench;
  auto phase = signal("phase", SignalKind::state);
  phase.unit = "text";
  bench.add(phase);
  const NodeId last = bench.reduce(bench.attempt("phase"), Op::w_last), recent = bench.reduce(bench.window("phase", 20s), Op::w_last),
               baseline = bench.reduce(bench.window("phase", 10min), Op::w_last);
  bench.begin();
  bench.sample("phase", 1, 10, 3, 10);
  CHECK(bench.look(last, 20)[1] == 3);
  CHECK(bench.look(recent, 20)[1] == 3);
  CHECK(bench.look(baseline, 20)[1] == 3);
  CHECK(bench.look(last, 500)[1] == 3);
  CHECK(is_absent(bench.look(recent, 500)[1]));
  CHECK(bench.look(baseline, 500)[1] == 3);
  CHECK(is_absent(bench.look(baseline, 700)[1]));
}

TEST_CASE("any ages by every record of the member, and arrivals ahead of the clock are not seen by a tick before them") {
  Bench bench;
  bench.add(signal("any", SignalKind::liveness));
  const NodeId age = bench.reduce(bench.attempt("any"), Op::w_age);
  bench.begin();
  bench.settle(10);
  bench.history->alive(Level::rank, 1, at(10));
  bench.history->alive(Level::rank, 1, at(40));  // its source is ahead of the others
  bench.history->alive(Level::node, 1, at(12));
  CHECK(bench.look(age, 25)[1] == 20);
  CHECK(bench.look(age, 40)[1] == 5);
  CHECK(is_absent(bench.look(age, 40)[2]));
}

TEST_CASE("the usual interval is the median of the last 16, records that arrive together being one") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId interval = bench.reduce(bench.window("load", 60s), Op::w_interval),
               mean = bench.reduce(bench.window("load", 60s), Op::w_mean);
  bench.begin();
  bench.sample("load", 1, 5, 1, 5);
  CHECK(bench.look(interval, 5)[1] == 1);  // before 3 intervals: the row length
  for (double t = 20; t <= 200; t += 10) {
    bench.sample("load", 1, t, 1, t);
    bench.sample("load", 1, t, 1, t);
  }
  CHECK(bench.look(interval, 200)[1] == 10);
  CHECK(bench.look(mean, 200)[1] == 1);  // 6 rows of 10 s cover 60 s
  CHECK(is_absent(bench.look(interval, 200)[2]));
  CHECK(bench.look(mean, 230)[1] == 1);  // 3 of 6
  CHECK(is_absent(bench.look(mean, 240)[1]));
}

TEST_CASE("a NaN that was measured is a value: last passes it on, the mean leaves it out, nonfinite counts it") {
  Bench bench;
  bench.add(signal("grad"));
  const auto spec = bench.window("grad", 10s);
  const NodeId last = bench.reduce(spec, Op::w_last), mean = bench.reduce(spec, Op::w_mean),
               nonfinite = bench.reduce(spec, Op::w_nonfinite), count = bench.reduce(spec, Op::w_count);
  bench.begin();
  for (double t = 1; t <= 10; ++t) {
    bench.sample("grad", 1, t, t == 10 ? measured_nan : t, t);
    bench.sample("grad", 2, t, measured_nan, t);
  }
  CHECK(!is_absent(bench.look(last, 10)[1]));
  CHECK(is_nan(bench.look(last, 10)[1]));
  CHECK(bench.look(mean, 10)[1] == 5);
  CHECK(is_absent(bench.look(mean, 10)[2]));
  CHECK(bench.look(nonfinite, 10)[1] == 1);
  CHECK(bench.look(nonfinite, 10)[2] == 10);
  CHECK(bench.look(count, 10)[2] == 10);
}

TEST_CASE("a counter's growth and rate come from its rates, and 120 s of silence leave no rate") {
  Bench bench;
  bench.add(signal("bytes", SignalKind::counter));
  const auto spec = bench.window("bytes", 20s);
  const NodeId rate = bench.reduce(spec, Op::w_rate), delta = bench.reduce(spec, Op::w_delta), count = bench.reduce(spec, Op::w_count);
  bench.begin();
  bench.listen(0, 400);
  for (double t = 1; t <= 40; ++t) bench.sample("bytes", 1, t, 50 * t, t);
  CHECK(bench.look(rate, 40)[1] == 50);
  CHECK(bench.look(delta, 40)[1] == 1000);
  bench.sample("bytes", 1, 200, 9e9, 200);
  CHECK(bench.look(count, 205)[1] == 0);
}

TEST_CASE("members appear at any time, and a long silence costs nothing") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId mean = bench.reduce(bench.window("load", 30s), Op::w_mean), median = bench.reduce(bench.window("load", 30s), Op::w_median);
  bench.begin();
  for (double t = 1; t <= 60; ++t) {
    for (Slot slot = 1; slot <= (t < 30 ? 4u : 40u); ++slot) {
      (void)bench.topology.rank(slot - 1);
      bench.sample("load", slot, t, slot, t);
    }
  }
  CHECK(bench.look(mean, 60)[40] == 40);
  CHECK(bench.look(median, 60)[4] == 4);
  const std::size_t before = bench.history->retained_bytes();
  constexpr double days = 86'400 * 30;
  bench.settle(days);
  CHECK(is_absent(bench.look(mean, days)[1]));
  bench.sample("load", 1, days + 100, 5, days + 100);
  bench.settle(days + 200);
  CHECK(bench.history->retained_bytes() <= before);
}

TEST_CASE("a sample from the far future takes the place of its arrival, and open rows stay few") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId last = bench.reduce(bench.window("load", 30s), Op::w_last);
  bench.begin();
  bench.settle(10);
  for (int i = 0; i < 100'000; ++i) (void)bench.history->sample(*bench.table.find("load"), 1, at(1e6 + i), i, at(10), {0, 1, 0});
  CHECK(bench.history->retained_samples() <= 10);
  CHECK(bench.look(last, 15)[1] == 99'999);  // all at one time: the greatest value bits
  for (int i = 0; i < 100'000; ++i) (void)bench.history->sample(*bench.table.find("load"), 1, at(-1e6 - i), i, at(20), {0, 1, 0});
  CHECK(bench.history->retained_samples() <= 10);
}

TEST_CASE("signals that no window asks for are not taken") {
  Bench bench;
  bench.add(signal("load"));
  const SignalId other = bench.add(signal("other"));
  bench.reduce(bench.window("load", 30s), Op::w_mean);
  bench.begin();
  CHECK(bench.history->wants(*bench.table.find("load")));
  CHECK_FALSE(bench.history->wants(other));
  CHECK(bench.sample("other", 1, 1, 1, 1) == History::Write::unwanted);
}
