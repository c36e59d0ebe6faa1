#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stream/graph/mask_form.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// An argument of an elementwise kernel: a column, or one value for all members (stride 0).
struct Operand {
  const double* values;
  bool one_for_all = false;
};
struct MaskOperand {
  const Truth* values;
  bool one_for_all = false;
  MaskForm form{};  // of a conjunction or disjunction
};

// Columns of what is kept of all of a member's values.
struct Totals {
  std::int64_t *counts, *last_times;
  double *last, *sum, *least, *greatest;
};

// What is added up for each member, in this order: 0, the numbers of rows, columns.
struct Summed {
  std::span<const float* const> rows;
  std::span<const double* const> columns;
};

// The values of a row, and by member what they are compared with and counted in.
struct Limited {
  const float *values, *low, *high;
  std::uint32_t *numbers, *below;
};

// A time, and what goes with it.
struct PairOf {
  std::int64_t time;
  std::uint64_t state;
};

// The loops over members. Compiled twice from one source, for AVX2 and for the x86-64 baseline. Both give the same
// bits: sums use 16 fixed lanes, nothing is contracted, and logarithms are our own. The set is chosen at start, or by
// name. A result must not overlap an argument.
struct Kernels {
  using Binary = void (*)(Operand, Operand, double*, std::size_t);
  using Unary = void (*)(const double*, double*, std::size_t);
  using Compare = void (*)(Operand, Operand, Truth*, std::size_t);

  std::string_view name;  // "avx2" or "baseline"
  Binary add, subtract, multiply, divide, greatest, least, greatest_known, least_known, fill, clamp_low, clamp_high;
  Unary negate, log, abs;
  Compare above, below, at_least, at_most, same;
  Compare finite_above, surely_below;  // where either is unknown: no; an infinite number is not above
  void (*known)(const double*, Truth*, std::size_t);
  void (*is)(const double*, const double* values, std::size_t values_count, Truth*, std::size_t);
  void (*conjunction)(const MaskOperand*, std::size_t masks_count, Truth*, std::size_t);
  void (*disjunction)(const MaskOperand*, std::size_t masks_count, Truth*, std::size_t);
  void (*choose)(MaskOperand, Operand, Operand, double*, std::size_t);

  // Over the known numbers of a column, without NaN. The result is absent if none is known, never `measured_nan`.
  double (*sum)(const double*, std::size_t);
  double (*min)(const double*, std::size_t);
  double (*max)(const double*, std::size_t);
  std::size_t (*count_known)(const double*, std::size_t);    // without NaN
  std::size_t (*count_present)(const double*, std::size_t);  // with NaN
  // Order statistics: absent below 3 known numbers. An even count gives the mean of the middle two; a quantile
  // interpolates linearly between ranks (type 7). `scratch` holds `n` values (for quantile it can be the column
  // itself). Absent where infinities of both signs would be averaged or summed.
  double (*quantile)(const double*, std::size_t, double q, double* scratch);
  double (*mad)(const double*, std::size_t, double* scratch);  // median of the distances to the median, not scaled
  // Eight columns side by side, each ascending then, NaN as infinite; or, of more than 16 rows, two halves of them: the
  // first has a power of two, at least 16, and no less than the second. And one rank of all rows, from these halves.
  void (*sort_eights)(double*, std::size_t rows, bool whole);
  void (*rank_of_eights)(const double*, std::size_t rows, std::size_t rank, double* out);
  // Adds a row of n values, those that are not absent, to totals. Takes four members at once, beginning at `from`, and
  // stops where fewer are left, or where one of the four is not finite or the first of its member; returns where.
  std::size_t (*add_narrow)(const float*, std::size_t from, std::size_t n, std::int64_t time, const Totals&);
  std::size_t (*add_wide)(const double*, std::size_t from, std::size_t n, std::int64_t time, const Totals&);
  // How many of each column's rows are numbers.
  void (*count_eights)(const double*, std::size_t rows, std::uint32_t* numbers);
  bool (*in_a_row)(const std::uint32_t* slots, std::size_t n);       // each is the one before and 1; n > 0
  void (*copy_measured)(const float*, float* to, std::size_t n);     // every NaN as the measured one
  std::size_t (*copy_row)(const float*, double* to, std::size_t n);  // canonical; returns how many are absent
  // The samples of a row, at this offset in it, into the later ones: Rows::merge() of each.
  void (*merge)(const float* values, std::uint32_t offset, float* kept, std::uint32_t* offsets, std::size_t n);
  // The same of values that are so many places apart; few of them.
  void (*merge_apart)(const float* values, std::size_t apart, std::uint32_t offset, float* kept, std::uint32_t* offsets,
                      std::size_t n);
  // The same of one value of each message: of those that begin there, the value at `place`, for these members.
  void (*merge_each)(const float* const* messages, std::size_t place, const std::uint32_t* slots,
                     const std::uint32_t* at, float* kept, std::uint32_t* offsets, std::size_t n);
  // Gives the leading ones of n PairOf that have the expected time and, in these bits, the expected state another time.
  // Returns how many; it may stop a few before the first that differs.
  std::size_t (*repeat)(void* pairs, std::size_t n, PairOf expected, std::uint64_t bits, std::int64_t time);
  // How many of n pairs of a time and something else, the leading ones, have this time.
  std::size_t (*same_times)(const void* pairs, std::size_t n, std::int64_t time);
  // Sixteen columns side by side, of sixteen rows: each ascending then.
  void (*sort_sixteens)(std::uint16_t*);
  // Adds one to the count of each that is a number; returns how many measured NaN there are.
  std::size_t (*count_numbers)(const float*, std::uint32_t* counts, std::size_t n, std::uint32_t one);
  // Adds `one` to the count of each that is a number, and of each that is below `low`; which are within both limits.
  std::size_t (*count_within)(const Limited&, std::size_t n, std::uint32_t one, std::uint32_t* slots);
  void (*add_numbers)(const float*, double* sums, std::size_t n);  // of those that are
  void (*sum_rows)(const Summed&, double* sums, std::size_t n);
  void (*counts_as_numbers)(const std::uint32_t*, double* out, std::size_t n);  // none: absent
  // Results of at least so many numbers, else absent, to `out`; means: of sums, which become means. A NaN is not known
  // either. Returns how many are not known. Counts are less than 2^31.
  std::size_t (*known_enough)(double* results, const std::uint32_t* numbers, std::uint32_t least, bool means,
                              double* out, std::size_t n);
  // The values, or with `means` what they are divided by their counts, to `out`, where a count is no less than `least`.
  void (*take_enough)(const double* values, const std::int64_t* counts, std::int64_t least, bool means, double* out,
                      std::size_t n);
  struct Tally {
    std::size_t yes, no, unknown;
  };
  Tally (*tally)(const Truth*, std::size_t);
  std::uint64_t (*hash)(const void* bytes, std::size_t size, std::uint64_t seed);  // xxh3, for long columns
};

[[nodiscard]] const Kernels& kernels() noexcept;  // the fastest that this machine runs, or the one chosen
// Call at start, before any thread uses them. False: the name is unknown, or the machine cannot run the set.
[[nodiscard]] bool choose_kernels(std::string_view name) noexcept;
[[nodiscard]] double natural_logarithm(double x) noexcept;  // the kernels' own: absent for x <= 0 and for absent

}  // namespace tocsin::stream
