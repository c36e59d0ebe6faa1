#include <doctest/doctest.h>

#include <cmath>

#include "bench.h"
#include "stream/windows/arrivals.h"

using namespace tocsin::test;

TEST_CASE(
    "an age counts from the last arrival, and before the first from the attempt's start where the source was covered") {
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
    bench.history->reduce((*bench.graph)[node], bench.window(name, over), {}, {at(60), at(60), bench.start, at(60)},
                          bench.coverage, out);
    return out[1];
  };
  CHECK(at_end(mean, "load", 30s) == 2);
  CHECK(at_end(count, "fault", 20s) == 3);  // late records are in: the one at 120 s, too
}

TEST_CASE("at the attempt's end an event that came at that moment has the age 0") {
  Bench bench;
  bench.add(signal("fault", SignalKind::event));
  const NodeId age = bench.reduce(bench.window("fault", 20s), Op::w_age);
  bench.begin();
  bench.event("fault", 1, 60, 7, 60);
  bench.history->end(at(60));
  bench.settle(60);
  std::vector<double> out(bench.topology.size(Level::rank));
  bench.history->reduce((*bench.graph)[age], bench.window("fault", 20s), {}, {at(60), at(60), bench.start, at(60)},
                        bench.coverage, out);
  CHECK(out[1] == 0);
}

TEST_CASE("a late sample is not merged, but proves life") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId age = bench.reduce(bench.window("load", 30s), Op::w_age),
               count = bench.reduce(bench.window("load", 30s), Op::w_count);
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

TEST_CASE("before a history has a clock, a sample is late by its own arrival") {
  Bench bench;
  bench.add(signal("load"));
  bench.reduce(bench.window("load", 30s), Op::w_count);
  bench.begin();
  const auto write = [&](double arrival) {
    return bench.history->sample(*bench.table.find("load"), 1, at(10), 1, at(arrival), {0, 1, 0}, absent, 0);
  };
  CHECK(write(10) == History::Write::taken);
  CHECK(write(14.9) == History::Write::taken);
  CHECK(write(15) == History::Write::late);
}

TEST_CASE("a sample at the very end of a row is of that row, also after one of the next row") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId last = bench.reduce(bench.window("load", 1s), Op::w_last);
  bench.begin();
  for (const double time : {10.5, 10.0})
    bench.sample("load", 1, time, time, 11), bench.sample("load", 2, time, -time, 11);
  CHECK(bench.look(last, 10)[1] == 10);
  CHECK(bench.look(last, 10)[2] == -10);
  CHECK(bench.look(last, 11)[1] == 10.5);
  CHECK(bench.look(last, 11)[2] == -10.5);
}

TEST_CASE("the age of a step counts from the last change of its value") {
  Bench bench;
  bench.add(signal("step", SignalKind::step));
  const NodeId age = bench.reduce(bench.attempt("step"), Op::w_age),
               last = bench.reduce(bench.attempt("step"), Op::w_last);
  bench.begin();
  bench.sample("step", 1, 10, 7, 10);
  bench.sample("step", 1, 12, 8, 12);
  for (double t = 13; t < 60; ++t) bench.sample("step", 1, t, 8, t);
  CHECK(bench.look(age, 60)[1] == 53);
  CHECK(bench.look(last, 60)[1] == 8);
}

TEST_CASE("a state holds its last value over the attempt, and needs no cover") {
  Bench bench;
  auto phase = signal("phase", SignalKind::state);
  phase.unit = "text";
  bench.add(phase);
  const NodeId last = bench.reduce(bench.attempt("phase"), Op::w_last),
               recent = bench.reduce(bench.window("phase", 20s), Op::w_last),
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

TEST_CASE("a window of the attempt that nobody looks at until late has all values, however rarely they come") {
  for (const int between : {1, 7, 40}) {
    CAPTURE(between);
    Bench bench;
    bench.add(signal("load"));
    const NodeId count = bench.reduce(bench.attempt("load", 8s), Op::w_count);  // settled later than its rows close
    bench.begin();
    int samples = 0;
    for (int t = 1; t < 300; ++t) {
      bench.settle(t);
      if (t % between == 0) bench.sample("load", 1, t, 3, t), ++samples;
    }
    CHECK(bench.look(count, 400)[1] == samples);
  }
}

TEST_CASE(
    "any ages by every record of the member, and arrivals ahead of the clock are not seen by a tick before them") {
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

TEST_CASE("members that report together change their usual interval together") {
  Arrivals arrivals{false};
  const std::vector<Slot> slots{1, 2, 3};
  double now = 0;
  for (int i = 0; i < 20; ++i) arrivals.note(slots, false, at(now += 1), 4);
  for (int i = 0; i < 7; ++i) arrivals.note(slots, false, at(now += 2), 4);
  std::vector<double> usual(4, 0);
  arrivals.usual(9, usual);
  CHECK(usual == std::vector<double>{0, 1, 1, 1});
  arrivals.note(slots, false, at(now += 2), 4);  // 8 of 16: the greater of the middle two
  arrivals.usual(9, usual);
  CHECK(usual == std::vector<double>{0, 2, 2, 2});
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
  const NodeId rate = bench.reduce(spec, Op::w_rate), delta = bench.reduce(spec, Op::w_delta),
               count = bench.reduce(spec, Op::w_count);
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
  const NodeId mean = bench.reduce(bench.window("load", 30s), Op::w_mean),
               median = bench.reduce(bench.window("load", 30s), Op::w_median);
  bench.begin();
  for (double t = 1; t <= 60; ++t) {
    for (Slot slot = 1; slot <= (t < 30 ? 4u : 40u); ++slot) {
      (void)bench.topology.rank(slot - 1);
      bench.sample("load", slot, t, slot, t);
    }
  }
  CHECK(bench.look(mean, 60)[40] == 40);
  CHECK(bench.look(median, 60)[4] == 4);
  bench.sample("load", 1, 63, 1, 63);  // the first interval of another length
  bench.settle(70);
  const std::size_t before = bench.history->retained_bytes();
  constexpr double days = 86'400 * 30;
  bench.settle(days);
  CHECK(is_absent(bench.look(mean, days)[1]));
  bench.sample("load", 1, days + 100, 5, days + 100);
  bench.settle(days + 200);
  CHECK(bench.history->retained_bytes() <= before);
}

TEST_CASE("a window of which only the last value is asked keeps no rows") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId last = bench.reduce(bench.window("load", 240s), Op::w_last),
               mean = bench.reduce(bench.window("load", 10s), Op::w_mean);
  bench.begin();
  bench.sample("load", 2, 1, 7, 1);
  for (double t = 1; t <= 240; ++t) bench.sample("load", 1, t, t, t);
  CHECK(bench.look(last, 240)[2] == 7);
  CHECK(is_absent(bench.look(last, 241)[2]));
  for (double t = 247; t <= 300; ++t) bench.sample("load", 1, t, t, t);
  CHECK(bench.history->retained_samples() < 40);
  CHECK(bench.look(last, 300)[1] == 300);
  CHECK(bench.look(mean, 300)[1] == 295.5);
}

TEST_CASE("a sample from the far future takes the place of its arrival, and open rows stay few") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId last = bench.reduce(bench.window("load", 30s), Op::w_last);
  bench.begin();
  bench.settle(10);
  for (int i = 0; i < 100'000; ++i)
    (void)bench.history->sample(*bench.table.find("load"), 1, at(1e6 + i), i, at(10), {0, 1, 0});
  CHECK(bench.history->retained_samples() <= 10);
  CHECK(bench.look(last, 15)[1] == 99'999);  // all at one time: the greatest value bits
  for (int i = 0; i < 100'000; ++i)
    (void)bench.history->sample(*bench.table.find("load"), 1, at(-1e6 - i), i, at(20), {0, 1, 0});
  CHECK(bench.history->retained_samples() <= 10);
}

TEST_CASE("a slope needs values in half of its window, not in all of it") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId slope = bench.reduce(bench.window("load", 30s), Op::w_slope);
  bench.begin();
  for (int t = 1; t <= 20; ++t) bench.sample("load", 1, t, t, t);
  CHECK(is_absent(bench.look(slope, 14)[1]));
  CHECK(bench.look(slope, 20)[1] == doctest::Approx(1));
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
