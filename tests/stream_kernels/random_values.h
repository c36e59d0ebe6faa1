#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "stream/values/value.h"

namespace tocsin::stream {

// Columns and masks as bad as they come: absences, NaN, infinities, zeros of both signs, ties.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : random_(seed) {}

  double number() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (below(24)) {
      case 0: return absent;
      case 1: return measured_nan;
      case 2: return below(4) ? 0.0 : infinity;
      case 3: return below(4) ? -0.0 : -infinity;
      case 4:
      case 5:
      case 6:
      case 7: return static_cast<double>(below(5)) - 2;
      case 8: return std::ldexp(1.0 + uniform(), static_cast<int>(below(2000)) - 1000);
      default: return uniform() * 200 - 50;
    }
  }
  std::vector<double> column(std::size_t n) {
    std::vector<double> all(n);
    const auto kind = below(4);  // mostly absent, ties, smooth, all sorts
    for (double& x : all)
      x = kind == 0 && below(10) ? absent
          : kind == 1            ? static_cast<double>(below(3))
          : kind == 2            ? uniform()
                                 : number();
    return all;
  }
  std::vector<Truth> mask(std::size_t n) {
    std::vector<Truth> all(n);
    for (Truth& t : all) t = static_cast<Truth>(below(3));
    return all;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 random_;
};

[[nodiscard]] inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
// Equal as values of a column: zeros of both signs are one.
[[nodiscard]] inline bool same_value(double a, double b) { return a == b || same_bits(a, b); }

}  // namespace tocsin::stream
