#include <doctest/doctest.h>

#include "bench.h"

using namespace tocsin::test;

namespace {

// A signal of points and rows, whose windows are reduced by some words besides the median.
struct Asking : Bench {
  explicit Asking(std::initializer_list<Op> further) {
    add(signal("dots", SignalKind::gauge, true));
    WindowSpec last = points("dots", 12);
    last.least = 4;
    for (const WindowSpec& spec : {last, window("dots", 6min)}) {
      medians.push_back(reduce(spec, Op::w_median));
      for (const Op op : further) others.push_back(reduce(spec, op));
    }
    begin();
  }
  // `jitter`: in seconds; no two neighbours come at the same distance.
  void write(int from, int to, double jitter = 0) {
    for (int t = from; t < to; ++t) sample("dots", 1, t - jitter * (t * t % 7), t, t);
    settle(to + 5);
  }
  std::size_t bytes() {
    Writer out;
    history->save(out);
    return out.bytes().size();
  }
  std::vector<NodeId> medians, others;
};

}  // namespace

TEST_CASE("panes and points keep what some reduction asks for, and no more") {
  const auto bytes = [](std::initializer_list<Op> further) {
    Asking asking{further};
    asking.write(1, 400, 0.05);
    return asking.bytes();
  };
  const std::size_t least = bytes({}), members = 2;  // the reserved one, and rank 1
  CHECK(bytes({Op::w_mean, Op::w_last}) < least + 100);
  const std::size_t times = 12 * 4, extremes = 36 * members * 2 * sizeof(float);
  CHECK(bytes({Op::w_kendall}) >= least + times);
  CHECK(bytes({Op::w_max}) >= least + extremes);
}

TEST_CASE("what a reload asks of panes and points for the first time is known of those that come after it") {
  Asking before{Op::w_nonfinite}, after{Op::w_min, Op::w_slope};
  before.write(1, 605);
  after.history->adopt(*before.history);
  for (const NodeId median : after.medians) CHECK(is_number(after.look(median, 605)[1]));
  const NodeId slope_of_points = after.others[1], least_of_rows = after.others[2];
  CHECK(is_absent(after.look(slope_of_points, 605)[1]));
  CHECK(is_absent(after.look(least_of_rows, 605)[1]));
  after.write(607, 617);  // the first of them in a pane that has begun
  CHECK(after.look(slope_of_points, 617)[1] == doctest::Approx(1));
  after.write(617, 660);
  CHECK(after.look(slope_of_points, 660)[1] == doctest::Approx(1));
  CHECK(after.look(least_of_rows, 660)[1] == 611);
}

TEST_CASE("panes from before a reload that asks for more do not count for what it asks") {
  Asking before{}, after{Op::w_nonfinite};
  before.write(1, 635);
  after.history->adopt(*before.history);
  const NodeId nonfinite = after.others[1];
  after.write(635, 655);
  CHECK(is_absent(after.look(nonfinite, 655)[1]));  // one whole pane that counts them
  after.write(655, 665);
  CHECK(after.look(nonfinite, 665)[1] == 0);
}

TEST_CASE("a pane has the values of members that come before it ends") {
  Bench bench;
  bench.add(signal("load"));
  const NodeId sum = bench.reduce(bench.window("load", 6min), Op::w_sum);
  bench.begin();
  for (int t = 1; t <= 400; ++t) {
    bench.sample("load", 1, t, 1, t);
    if (t == 228) (void)bench.topology.rank(29);
    if (t >= 228) bench.sample("load", 30, t, 1, t);
    bench.settle(t);
  }
  const auto sums = bench.look(sum, 400);
  CHECK(sums[1] == 360);
  CHECK(sums[30] == 173);
}
