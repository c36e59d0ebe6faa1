// The numbers around a rank of a window: what they answer is what sorting the whole window answers, to the bit.
#include "stream/windows/near_rank.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <random>

#include "tests/seed.h"

using namespace tocsin::stream;

namespace {

constexpr std::size_t members = 21, most = 300, held = 64;
using Row = std::vector<float>;

// One row: without order, of few values, a saw, rising, and with what is no number.
Row drawn(std::mt19937& random, std::size_t at, std::size_t size) {
  Row row(size);
  for (std::size_t slot = 0; slot < size; ++slot) {
    const auto any = static_cast<float>(random() % 1'000'000);
    switch (slot % 7) {
      case 0: row[slot] = any; break;
      case 1: row[slot] = static_cast<float>(random() % 3) - 1; break;
      case 2: row[slot] = static_cast<float>((at * 11 + slot) % 1000); break;
      case 3: row[slot] = static_cast<float>(at); break;
      case 4: row[slot] = random() % 3 == 0 ? absent_float : any; break;
      case 5:
        row[slot] = random() % 9 == 0 ? std::numeric_limits<float>::infinity() : random() % 2 == 0 ? -0.0F : any;
        break;
      default: row[slot] = at % 500 < 400 ? absent_float : any;
    }
  }
  return row;
}

std::vector<float> sorted(const std::deque<Row>& window, std::size_t slot) {
  std::vector<float> numbers;
  for (const Row& row : window)
    if (slot < row.size() && row[slot] == row[slot]) numbers.push_back(row[slot] + 0.0F);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

TEST_CASE("the numbers near a rank answer as the whole window sorted does, whatever enters and leaves") {
  const Reduction asked[] = {{Op::w_median, 0},     {Op::w_quantile, 0.25}, {Op::w_quantile, 0},
                             {Op::w_quantile, 0.9}, {Op::w_quantile, 1},    {Op::w_mad, 0}};
  for (const Reduction& reduction : asked) {
    std::mt19937 random{tocsin::test::seed(5)};
    NearRank<float> near{reduction, most, held};
    CHECK(near.answers(reduction.op, reduction.number));
    std::deque<Row> window;
    for (std::size_t at = 0; at < 2'500; ++at) {
      if (at == 1'500) near.clear(), window.clear();
      for (std::size_t leaving = window.size() >= most - at % 50 ? 1 + random() % 2 : 0; leaving > 0; --leaving) {
        near.leave(window.front());
        window.pop_front();
      }
      window.push_back(drawn(random, at, at < 100 ? members / 2 : members));
      near.enter(window.back());
      if (random() % 4 == 0) continue;  // several rows before it is asked
      near.settle([&](Slot slot, std::vector<float>& values) {
        for (const Row& row : window)
          if (slot < row.size()) values.push_back(row[slot]);
      });
      for (std::size_t slot = 0; slot < members; ++slot) {
        const auto all = sorted(window, slot);
        const auto held = near.of(static_cast<Slot>(slot));
        REQUIRE(held.size() == all.size());
        if (all.empty()) continue;
        const double expected = order_statistic(reduction.op, std::span<const float>{all}, reduction.number);
        const double found = order_statistic(reduction.op, held, reduction.number);
        REQUIRE(std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(expected));
      }
    }
  }
}

TEST_CASE("one that holds all numbers of a window answers each rank of it, and their distances") {
  CHECK(NearRank<float>{{Op::w_median, 0}, 30, held}.answers(Op::w_mad, 0));
  CHECK_FALSE(NearRank<float>{{Op::w_median, 0}, most, held}.answers(Op::w_mad, 0));
  CHECK(NearRank<float>{{Op::w_median, 0}, most, held}.answers(Op::w_quantile, 0.5));
  CHECK_FALSE(NearRank<float>{{Op::w_median, 0}, most, held}.answers(Op::w_quantile, 0.25));
  CHECK(NearRank<float>{{Op::w_mad, 0}, most, held}.answers(Op::w_quantile, 0.25));
}
