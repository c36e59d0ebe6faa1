#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tocsin::stream {

enum class Shape : std::uint8_t;

// The words of the language that make a value, and the few operations that the builder adds by itself.
enum class Op : std::uint8_t {
  // leaves
  constant,
  window,
  finding,
  state,
  // a window to a column
  w_last,
  w_first,
  w_mean,
  w_min,
  w_max,
  w_median,
  w_quantile,
  w_sum,
  w_stddev,
  w_mad,
  w_ewma,
  w_fraction,
  w_slope,
  w_delta,
  w_rate,
  w_cusum,
  w_theil_sen,
  w_kendall,
  w_time_to,
  w_count,
  w_age,
  w_interval,
  w_nonfinite,
  w_repeats,
  w_distinct,
  // a window to a mask
  w_seen,
  w_within,
  w_older_than,
  // a window to a window
  w_where,
  w_except,
  // the job to a column
  job_age,
  // a finding to a mask
  f_now,
  f_ever,
  // columns, member by member
  add,
  subtract,
  multiply,
  divide,
  negate,
  clamp_low,
  clamp,
  log,
  abs,
  fill,
  greatest,
  least,
  greatest_known,
  least_known,
  choose,
  // columns to masks, member by member
  above,
  below,
  at_least,
  at_most,
  same,
  is,
  known,
  // masks, member by member
  conjunction,
  disjunction,
  negation,
  surely,
  maybe,
  // across members
  g_median,
  g_mad,
  g_mean,
  g_min,
  g_max,
  g_sum,
  g_quantile,
  g_count,
  g_spread,
  g_mode,
  m_any,
  m_all,
  m_at_least,
  m_at_most,
  m_count,
  // between levels, and held values
  at,
  spread,
  freeze,
  // concrete values: only a scripted rule has them
  number,
  yes,
  each,
};

// What a word takes in parentheses.
enum class Takes : std::uint8_t {
  nothing,       // :mean()
  column,        // :above(x)
  columns,       // greatest(a, b, …)
  low_high,      // :clamp(low[, high])
  literals,      // :is("eval", "checkpoint"), :is(x)
  group,         // :median("peers")
  number_group,  // :quantile(0.9, "peers")
  number,        // :quantile(0.99)
  count,         // :first([n])
  field,         // :last("code"), :repeats("code")
  fields,        // :where { code = 79 }
  bits,          // :fraction { bits = 0xC8 }
  level,         // :at("rank")
  masks,         // a & b
  choice,        // mask:choose(a, b)
};

// How the unit of the result follows from those of the arguments.
enum class UnitRule : std::uint8_t {
  keep,
  none,
  seconds,
  count,
  ratio,
  per_second,
  sum,
  product,
  quotient,
  field,
};

// The cost of one evaluation, which decides how its value is maintained.
enum class Cost : std::uint8_t { leaf, edge, panes, order, fit, event, elementwise, fold, group_order };

// One entry a word. Bindings, checks, the reference and the editor stubs are generated from this table.
struct Operation {
  Op op;
  std::string_view name;  // as written; an operator's sign; "" for what the builder adds
  Shape on;               // the receiver
  Shape gives;
  Takes takes;
  UnitRule unit;
  Cost cost;
  std::string_view documentation;  // one sentence: the meaning, and what makes it unknown
};

[[nodiscard]] std::span<const Operation> operations() noexcept;
[[nodiscard]] const Operation& operation(Op op) noexcept;
// seen() is made of count(), within() and older_than() of age(): the word of whose column a mask of a window is made.
// Any other word: itself.
[[nodiscard]] Op column_of(Op op) noexcept;
// The word `name` for a value of this shape. Functions (greatest, least) are listed under Shape::column.
[[nodiscard]] std::optional<Op> find_operation(std::string_view name, Shape on) noexcept;

}  // namespace tocsin::stream
