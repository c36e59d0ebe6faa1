// Reductions of eight members at once give what those of each one give, to the bit, with either set of kernels.
#include "stream/windows/eight_series.h"

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <random>

#include "stream/graph/kernels.h"
#include "stream/graph/time_range.h"
#include "stream/windows/series.h"
#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

double drawn(std::mt19937& random, bool clean) {
  if (!clean && random() % 12 == 0) return measured_nan;
  if (!clean && random() % 20 == 0)
    return random() % 2 == 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (random() % 4 == 0) return random() % 2 == 0 ? -0.0 : 0.0;
  return static_cast<double>(random() % 40) / 7 - 2;
}

void check(std::mt19937& random, std::size_t rows, bool clean, bool equal) {
  std::vector<double> block;
  EightSeries series{block};
  std::vector<double> members[EightSeries::members];
  series.begin(rows);
  for (auto& member : members) {
    const std::size_t held = equal ? (random() % 5 == 0 ? 0 : rows) : random() % (rows + 1);
    const auto m = static_cast<std::size_t>(&member - members);
    for (std::size_t i = 0; i < rows; ++i) {
      if (i < held) member.push_back(drawn(random, clean));
      series.row(i)[m] = i < held ? member.back() : absent;
    }
  }
  series.end();
  SeriesScratch scratch;
  const Reduction all[] = {{Op::w_mean, 0},        {Op::w_sum, 0},         {Op::w_min, 0},      {Op::w_max, 0},
                           {Op::w_quantile, 0.99}, {Op::w_quantile, 0.25}, {Op::w_quantile, 1}, {Op::w_median, 0},
                           {Op::w_mad, 0},         {Op::w_quantile, 0}};
  for (const Reduction& reduction : all) {
    std::array<double, EightSeries::members> out;
    REQUIRE(EightSeries::gives(reduction.op));
    series.reduce(reduction.op, reduction.number, out);
    for (std::size_t m = 0; m < out.size(); ++m) {
      const std::vector<double> times(members[m].size());
      const double one = reduce_series(reduction.op, {times, members[m]}, {reduction.number, absent}, scratch);
      REQUIRE(std::bit_cast<std::uint64_t>(out[m]) == std::bit_cast<std::uint64_t>(one));
    }
  }
}

}  // namespace

TEST_CASE("eight members at once are reduced as each alone is, to the bit") {
  std::mt19937 random{tocsin::test::seed(4)};
  for (const auto name : {"baseline", "avx2"}) {
    if (!choose_kernels(name)) {
      MESSAGE("this machine does not run the kernels ", name, ": they are not tested");
      continue;
    }
    for (std::size_t rows = 1; rows <= 130; ++rows)
      for (const bool clean : {true, false})
        for (const bool equal : {true, false}) check(random, rows, clean, equal);
  }
}
