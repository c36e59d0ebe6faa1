#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stream/value.h"

namespace tocsin::stream {

// An argument of an elementwise kernel: a column, or one value for all members (stride 0).
struct Operand {
  const double* values;
  bool one_for_all = false;
};
struct MaskOperand {
  const Truth* values;
  bool one_for_all = false;
};

// The loops over members. Compiled twice from one source, for AVX2 and for the x86-64 baseline; both give the same bits: sums run
// in 16 fixed lanes, no contraction, logarithms are our own. The set in use is chosen at start, or by name. No result overlaps an
// argument.
struct Kernels {
  using Binary = void (*)(Operand, Operand, double*, std::size_t);
  using Unary = void (*)(const double*, double*, std::size_t);
  using Compare = void (*)(Operand, Operand, Truth*, std::size_t);

  std::string_view name;  // "avx2" or "baseline"
  Binary add, subtract, multiply, divide, greatest, least, fill, clamp_low, clamp_high;
  Unary negate, log, abs;
  Compare above, below, at_least, at_most;
  void (*is)(const double*, const double* values, std::size_t values_count, Truth*, std::size_t);
  void (*conjunction)(MaskOperand, MaskOperand, Truth*, std::size_t);
  void (*disjunction)(MaskOperand, MaskOperand, Truth*, std::size_t);
  void (*negation)(const Truth*, Truth*, std::size_t);
  void (*surely)(const Truth*, Truth*, std::size_t);
  void (*maybe)(const Truth*, Truth*, std::size_t);
  void (*choose)(MaskOperand, Operand, Operand, double*, std::size_t);

  // Over the known numbers of a column (NaN left out); absent where none is known, `measured_nan` never.
  double (*sum)(const double*, std::size_t);
  double (*min)(const double*, std::size_t);
  double (*max)(const double*, std::size_t);
  std::size_t (*count_known)(const double*, std::size_t);     // NaN left out
  std::size_t (*count_present)(const double*, std::size_t);   // NaN counted
  // Order statistics: absent below 3 known numbers; an even count gives the mean of the middle two, a quantile interpolates
  // linearly between ranks (type 7). `scratch` has room for `n` (quantile's may be the column itself). Infinities of both signs that
  // would have to be averaged or summed give absent.
  double (*quantile)(const double*, std::size_t, double q, double* scratch);
  double (*mad)(const double*, std::size_t, double* scratch);  // median of the distances to the median, not scaled
  struct Tally { std::size_t yes, no, unknown; };
  Tally (*tally)(const Truth*, std::size_t);

  // Windows: rows of floats (one per member) are added to accumulators of one lane per member. Begin with 0, inf, -inf and 0.
  void (*accumulate_row)(const float* row, double* sum, float* min, float* max, std::uint32_t* count, std::size_t members);
  // The same over all rows of a window at once, each of at least `members` values; NaN is left out, `numbers` counts the rest, and
  // count_rows what is not absent. A member's values are added in the order of the rows.
  void (*sum_rows)(const float* const* rows, std::size_t rows_count, std::size_t members, double* sums, std::uint32_t* numbers);
  void (*squares_of_rows)(const float* const* rows, std::size_t rows_count, std::size_t members, const double* means, double* squares);
  void (*least_of_rows)(const float* const* rows, std::size_t rows_count, std::size_t members, float* least, std::uint32_t* numbers);
  void (*greatest_of_rows)(const float* const* rows, std::size_t rows_count, std::size_t members, float* greatest, std::uint32_t* numbers);
  void (*count_rows)(const float* const* rows, std::size_t rows_count, std::size_t members, std::uint32_t* present);
};

[[nodiscard]] const Kernels& kernels() noexcept;                     // the fastest that this machine runs, or the one chosen
// At start, before any thread that uses them. False: unknown, or not for this machine.
[[nodiscard]] bool choose_kernels(std::string_view name) noexcept;
[[nodiscard]] double natural_logarithm(double x) noexcept;           // the kernels' own: absent for x <= 0 and for absent

}  // namespace tocsin::stream
