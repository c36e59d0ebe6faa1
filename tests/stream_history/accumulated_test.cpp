// What an attempt's accumulators keep of values that they do not hold: bins of less than 1 %, and means of neighbours.
#include "stream/windows/accumulators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

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
