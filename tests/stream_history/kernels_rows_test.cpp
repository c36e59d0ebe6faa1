#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <vector>

#include "stream/kernels.h"
#include "stream/value.h"

using namespace tocsin::stream;

namespace {

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

}  // namespace

TEST_CASE("the kernels over the rows of a window give the bits of a plain loop, with either instruction set") {
  std::mt19937 random{11};
  for (const char* set : {"baseline", "avx2"}) {
    if (!choose_kernels(set)) continue;
    for (const std::size_t members : {0u, 1u, 3u, 8u, 15u, 16u, 17u, 31u, 100u, 1025u}) {
      for (const std::size_t count : {1u, 2u, 30u}) {
        std::vector<std::vector<float>> rows(count, std::vector<float>(members));
        std::vector<const float*> starts;
        for (auto& row : rows) {
          for (float& v : row) {
            const auto choice = random() % 16;
            v = choice == 0 ? absent_float : choice == 1 ? std::numeric_limits<float>::quiet_NaN()
                : choice == 2 ? std::numeric_limits<float>::infinity() : std::uniform_real_distribution<float>{-5, 50}(random);
          }
          starts.push_back(row.data());
        }
        std::vector<double> sums(members), squares(members), means(members, 20);
        std::vector<float> least(members), greatest(members);
        std::vector<std::uint32_t> numbers(members), numbers_again(members), present(members);
        kernels().sum_rows(starts.data(), count, members, sums.data(), numbers.data());
        kernels().squares_of_rows(starts.data(), count, members, means.data(), squares.data());
        kernels().least_of_rows(starts.data(), count, members, least.data(), numbers_again.data());
        kernels().greatest_of_rows(starts.data(), count, members, greatest.data(), numbers_again.data());
        kernels().count_rows(starts.data(), count, members, present.data());
        bool right = true;
        for (std::size_t i = 0; i < members; ++i) {
          double sum = 0, square = 0;
          float low = std::numeric_limits<float>::infinity(), high = -low;
          std::uint32_t known = 0, there = 0;
          for (const auto& row : rows) {
            there += !is_absent(row[i]);
            if (row[i] != row[i]) continue;
            ++known;
            sum += static_cast<double>(row[i]);
            const double off = static_cast<double>(row[i]) - means[i];
            square += off * off;
            low = std::min(low, row[i]);
            high = std::max(high, row[i]);
          }
          right = right && same(sum, sums[i]) && same(square, squares[i]) && low == least[i] && high == greatest[i] && known == numbers[i] &&
                  known == numbers_again[i] && there == present[i];
        }
        CHECK_MESSAGE(right, set, " ", members, " members, ", count, " rows");
      }
    }
  }
}
