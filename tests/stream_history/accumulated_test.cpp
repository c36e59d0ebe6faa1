// What an attempt's accumulators keep of values that they do not hold: bins of less than 1 %, and means of neighbours.
#include "stream/windows/accumulators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "stream/graph/kernels.h"
#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

Time at(double s) { return at_nanoseconds(1'790'000'000'000'000'000) + from_seconds(s); }

double over_attempt(Op op, const std::vector<double>& values) {
  Demand demand;
  demand.add(op, 0);
  Accumulators accumulators{demand, false};
  for (std::size_t i = 0; i < values.size(); ++i) accumulators.add(0, at(static_cast<double>(i)), values[i]);
  SeriesScratch scratch;
  return accumulators.reduce(op, 0, {}, scratch);
}

}  // namespace

TEST_CASE("the median of a histogram is off by no more than half a bin, 0.4 %") {
  std::mt19937 random{tocsin::test::seed(3)};
  for (int round = 0; round < 2000; ++round) {
    const double middle =
        std::ldexp(1.0 + static_cast<double>(random() % 1'000'000) / 1e6, static_cast<int>(random() % 40) - 20);
    for (const double sign : {1.0, -1.0}) {
      Histogram histogram;
      for (const double value : {sign * middle / 3, sign * middle, sign * middle * 3}) histogram.add(value);
      CHECK(std::fabs(histogram.median() - sign * middle) <= middle / 256);
    }
  }
}

TEST_CASE("numbers below zero are ordered in a histogram as others are") {
  Histogram histogram;
  for (int i = -100; i <= 100; ++i) histogram.add(i);
  CHECK(histogram.quantile(0) == -100);
  CHECK(histogram.quantile(1) == 100);
  CHECK(histogram.median() == 0);
  CHECK(std::fabs(histogram.quantile(0.25) + 50) <= 0.25);
  CHECK(std::fabs(histogram.quantile(0.75) - 50) <= 0.25);
  CHECK(std::fabs(histogram.mad() - 50) <= 0.5);
}

TEST_CASE("minus zero is zero among sorted numbers, whether it is inserted or replaces another") {
  SortedColumns<float> numbers;
  numbers.insert(0, -0.0F);
  CHECK_FALSE(std::signbit(median_of_sorted(numbers.of(0))));
  numbers.replace(0, 0.0F, -0.0F);
  CHECK_FALSE(std::signbit(median_of_sorted(numbers.of(0))));
}

TEST_CASE("what is fitted over a long attempt has the whole of it thinned evenly") {
  std::vector<double> values(2'000);
  for (std::size_t i = 1'200; i < values.size(); ++i) values[i] = static_cast<double>(i - 1'200);
  std::vector<double> slopes;
  for (std::size_t j = 10; j < values.size(); j += 10)
    for (std::size_t i = 0; i < j; i += 10) slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  std::sort(slopes.begin(), slopes.end());
  CHECK(over_attempt(Op::w_theil_sen, values) == doctest::Approx(slopes[slopes.size() / 2]).epsilon(0.05));
}

TEST_CASE("an attempt's last and first n are those of all its values") {
  Demand demand;
  demand.add(Op::w_last, 5);
  demand.add(Op::w_first, 3);
  Accumulators accumulators{demand, false};
  SeriesScratch scratch;
  for (int i = 1; i <= 40; ++i) {
    accumulators.add(0, at(i), i);
    if (i >= 5) CHECK(accumulators.reduce(Op::w_last, 0, {5, absent}, scratch) == i - 2);
    if (i >= 3) CHECK(accumulators.reduce(Op::w_first, 0, {3, absent}, scratch) == 2);
  }
}

TEST_CASE("an attempt's deviation is that of the sample") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(over_attempt(Op::w_stddev, values) == doctest::Approx(std::sqrt(32.0 / 7)));
}

TEST_CASE("accumulators to which later ones are appended are those of all values") {
  std::mt19937 random{tocsin::test::seed(5)};
  Demand demand;
  const std::pair<Op, double> asked[] = {
      {Op::w_count, 0}, {Op::w_first, 0},    {Op::w_last, 0},       {Op::w_sum, 0},  {Op::w_mean, 0},
      {Op::w_min, 0},   {Op::w_max, 0},      {Op::w_stddev, 0},     {Op::w_mad, 0},  {Op::w_median, 0},
      {Op::w_first, 7}, {Op::w_last, 9},     {Op::w_quantile, 0.9}, {Op::w_ewma, 8}, {Op::w_fraction, 4},
      {Op::w_ewma, 1},  {Op::w_nonfinite, 0}};
  for (const auto& [op, number] : asked) demand.add(op, number);
  SeriesScratch scratch;
  for (int round = 0; round < 300; ++round) {
    Accumulators all{demand, false}, kept{demand, false};
    double now = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      Accumulators one{demand, false};
      const std::size_t count = random() % 4 == 0 ? random() % 3 : random() % 60;
      for (std::size_t i = 0; i < count; ++i) {
        const double value = random() % 10 == 0 ? measured_nan : static_cast<double>(random() % 2000) / 8 - 100;
        now += 1;
        one.add(3, at(now), value), all.add(1, at(now), value);
      }
      kept.append(2, one, 3);
      now += 500;
    }
    for (const auto& [op, number] : asked) {
      INFO("round ", round, ", operation ", static_cast<int>(op), " of ", number);
      const double expected = all.reduce(op, 1, {number, absent}, scratch),
                   found = kept.reduce(op, 2, {number, absent}, scratch);
      CHECK(is_absent(found) == is_absent(expected));
      CHECK(std::isnan(found) == std::isnan(expected));
      if (!std::isnan(expected)) CHECK(found == doctest::Approx(expected).epsilon(1e-9));
    }
  }
}

TEST_CASE("rows of all members, in both kernel sets, add up to the same bits as their values one by one") {
  std::mt19937 random{tocsin::test::seed(7)};
  Demand demand;
  const Op asked[] = {Op::w_count, Op::w_first, Op::w_last, Op::w_sum,       Op::w_mean,
                      Op::w_min,   Op::w_max,   Op::w_rate, Op::w_nonfinite, Op::w_delta};
  for (const Op op : asked) demand.add(op, 0);
  const auto drawn = [&](bool uncommon) -> float {
    switch (random() % (uncommon ? 40 : 8)) {
      case 0: return absent_float;
      case 1: return random() % 2 == 0 ? 0.0f : -0.0f;
      case 20: return static_cast<float>(measured_nan);
      case 21: return std::numeric_limits<float>::infinity();
      case 22: return -std::numeric_limits<float>::infinity();
      default: return static_cast<float>(random() % 2000) / 7 - 100;
    }
  };
  SeriesScratch scratch;
  for (int round = 0; round < 60; ++round)
    for (const char* set : {"baseline", "avx2"}) {
      if (!choose_kernels(set)) continue;
      Accumulators narrow{demand, round % 2 == 0}, wide = narrow, singly = narrow;
      std::size_t members = random() % 12;
      for (int row = 0; row < 12; ++row) {
        members += random() % 3;
        std::vector<float> values;
        for (std::size_t i = 0; i < members; ++i) values.push_back(drawn(round % 3 == 0 && row > 4));
        const std::vector<double> doubles(values.begin(), values.end());
        narrow.add(at(row), std::span<const float>{values}), wide.add(at(row), std::span<const double>{doubles});
        for (Slot slot = 0; slot < members; ++slot)
          if (!is_absent(values[slot])) singly.add(slot, at(row), canonical(doubles[slot]));
        for (const Op op : asked) {
          INFO("round ", round, ", row ", row, ", kernels ", set, ", operation ", static_cast<int>(op));
          std::vector<double> all(members, absent), of_narrow(members, absent);
          const bool kept = narrow.reduce_all(op, 0, 2, of_narrow);
          CHECK(wide.reduce_all(op, 0, 2, all) == kept);
          for (Slot slot = 0; slot < members; ++slot) {
            const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
            const double one = singly.reduce(op, slot, {}, scratch);
            CHECK(bits(narrow.reduce(op, slot, {}, scratch)) == bits(one));
            CHECK(bits(wide.reduce(op, slot, {}, scratch)) == bits(one));
            if (kept) CHECK(bits(of_narrow[slot]) == bits(singly.count(slot) >= 2 ? one : absent));
            if (kept) CHECK(bits(all[slot]) == bits(of_narrow[slot]));
          }
        }
      }
    }
}

TEST_CASE("accumulators are the same after a snapshot, values that are no numbers among them") {
  std::mt19937 random{tocsin::test::seed(8)};
  for (const bool moments : {false, true}) {
    Demand demand;
    const Op asked[] = {Op::w_count, Op::w_first, Op::w_last, Op::w_sum, Op::w_min, Op::w_nonfinite, Op::w_rate};
    for (const Op op : asked) demand.add(op, 0);
    if (moments) demand.add(Op::w_stddev, 0), demand.add(Op::w_slope, 0);
    for (const unsigned nans : {0u, 5u}) {
      Accumulators before{demand, false}, after{demand, false};
      for (int i = 0; i < 60; ++i)
        before.add(static_cast<Slot>(1 + random() % 5), at(i),
                   random() % 20 < nans ? measured_nan : static_cast<double>(random() % 100));
      Writer out;
      before.save(out);
      Reader in{out.bytes()};
      after.load(in);
      REQUIRE(in.ok());
      SeriesScratch scratch;
      for (Slot slot = 0; slot < 6; ++slot) {
        before.add(slot, at(70), 5), after.add(slot, at(70), 5);
        for (const Op op : {Op::w_count, Op::w_first, Op::w_last, Op::w_sum, Op::w_min, Op::w_nonfinite, Op::w_rate,
                            Op::w_stddev, Op::w_slope})
          CHECK(std::bit_cast<std::uint64_t>(after.reduce(op, slot, {}, scratch)) ==
                std::bit_cast<std::uint64_t>(before.reduce(op, slot, {}, scratch)));
      }
    }
  }
}
