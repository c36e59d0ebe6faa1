// The table of operations: the only place that defines the words of the language.
#include "stream/graph/operations.h"

#include <array>

#include "stream/graph/graph.h"
#include "stream/values/named.h"

namespace tocsin::stream {
namespace {

using enum Shape;
using T = Takes;
using U = UnitRule;
using C = Cost;

// In the order of Op, so that an Op is its entry's index.
constexpr std::array table{
    // leaves
    Operation{Op::constant, "", column, column, T::nothing, U::keep, C::leaf,
              "A number of the rule's text or of its params, the same for every member."},
    Operation{Op::window, "", window, window, T::nothing, U::keep, C::leaf,
              "A signal over the span that a need names."},
    Operation{Op::finding, "", finding, finding, T::nothing, U::none, C::leaf,
              "The answer of another rule, or of several."},
    Operation{Op::state, "", column, column, T::nothing, U::keep, C::leaf,
              "A state field as the evaluation before left it; read after a write, what was written."},

    // a window to a column
    Operation{Op::w_last, "last", window, column, T::count, U::keep, C::edge,
              "The newest value; `last(n)`: the median of the newest n points; of events, `last(\"field\")`: that "
              "field of the newest one. Unknown where none came."},
    Operation{Op::w_first, "first", window, column, T::count, U::keep, C::edge,
              "The oldest value; `first(n)`: the median of the oldest n points; of events, `first(\"field\")`: that "
              "field of the oldest one. Unknown where none came."},
    Operation{Op::w_mean, "mean", window, column, T::nothing, U::keep, C::panes,
              "The mean of the values. Unknown where too few values came."},
    Operation{Op::w_min, "min", window, column, T::nothing, U::keep, C::panes,
              "The least value. Unknown where too few values came."},
    Operation{Op::w_max, "max", window, column, T::nothing, U::keep, C::panes,
              "The greatest value. Unknown where too few values came."},
    Operation{
        Op::w_median, "median", window, column, T::nothing, U::keep, C::order,
        "The median of the values; beyond 5 minutes, of the means of their panes. Unknown where too few values came."},
    Operation{Op::w_quantile, "quantile", window, column, T::number, U::keep, C::order,
              "The quantile q, from 0 to 1, between values by interpolation. Unknown where too few values came."},
    Operation{Op::w_sum, "sum", window, column, T::nothing, U::keep, C::panes,
              "The sum of the values. Unknown where too few values came."},
    Operation{Op::w_stddev, "stddev", window, column, T::nothing, U::keep, C::panes,
              "The standard deviation of the values. Unknown where too few values came."},
    Operation{Op::w_mad, "mad", window, column, T::nothing, U::keep, C::order,
              "The median distance to the median; times 1.4826 it compares with a standard deviation. Unknown where "
              "too few values came."},
    Operation{Op::w_ewma, "ewma", window, column, T::number, U::keep, C::fit,
              "The mean in which a value weighs less the older it is, with a span of n values. Unknown where too few "
              "values came."},
    Operation{Op::w_fraction, "fraction", window, column, T::bits, U::ratio, C::panes,
              "`fraction { bits = m }`: the share of samples with a bit of m. Unknown where too few values came."},
    Operation{Op::w_slope, "slope", window, column, T::nothing, U::per_second, C::fit,
              "The slope of the least-squares line, per second. Unknown where too few values came."},
    Operation{Op::w_delta, "delta", window, column, T::nothing, U::keep, C::edge,
              "The newest value less the oldest; of a counter, how much it grew. Unknown where fewer than two values "
              "came, or too few."},
    Operation{Op::w_rate, "rate", window, column, T::nothing, U::per_second, C::edge,
              "The growth per second from the oldest value to the newest; of events, how many came per second. Unknown "
              "where fewer than two values came, or the events' source was not covered."},
    Operation{Op::w_cusum, "cusum", window, column, T::nothing, U::none, C::fit,
              "The running sum of how far the values lie above the window's median, in deviations of 1.4826 mad, cut "
              "at 4, less 1 each, never below 0: large where the level shifted up. Unknown where too few values came."},
    Operation{Op::w_theil_sen, "theil_sen", window, column, T::nothing, U::per_second, C::fit,
              "The median of the slopes between pairs of values, per second: a slope that outliers do not move. "
              "Unknown where too few values came."},
    Operation{Op::w_kendall, "kendall", window, column, T::nothing, U::none, C::fit,
              "Kendall's rank correlation of value and time in standard deviations of chance (z, with ties): above 2 "
              "the values rise, below -2 they fall. Unknown where too few values came."},
    Operation{Op::w_time_to, "time_to", window, column, T::column, U::seconds, C::fit,
              "The seconds until the values reach the goal at the pace of their Theil-Sen slope; infinite where they "
              "do not approach it: beyond it, too, if they move on. Unknown where the slope or the goal is."},
    Operation{Op::w_count, "count", window, column, T::nothing, U::count, C::panes,
              "How many values or events there are. Needs no cover; of a signal with a source, 0 only where the source "
              "was covered over the whole window."},
    Operation{Op::w_age, "age", window, column, T::nothing, U::seconds, C::edge,
              "The seconds since the newest value (of a step: since its last change), without the time in which the "
              "source was not live. Never seen: since the attempt began, and of events infinite, where the source was "
              "covered. Unknown while unobserved and where the member is not expected."},
    Operation{Op::w_interval, "interval", window, column, T::nothing, U::seconds, C::edge,
              "The usual time between two arrivals: the median of the member's last 16; before there are 3, the row "
              "length. Unknown where nothing came."},
    Operation{Op::w_nonfinite, "nonfinite", window, column, T::nothing, U::count, C::panes,
              "How many values are NaN or infinite. Unknown where too few values came."},
    Operation{Op::w_repeats, "repeats", window, column, T::field, U::count, C::event,
              "`repeats(\"field\")`: how often the most frequent value of that field came. 0 only where the source was "
              "covered over the whole window."},
    Operation{Op::w_distinct, "distinct", window, column, T::field, U::count, C::event,
              "`distinct(\"field\")`: how many different values of that field came. 0 only where the source was "
              "covered over the whole window; unknown where more events came than are retained."},

    // a window to a mask
    Operation{Op::w_seen, "seen", window, mask, T::nothing, U::none, C::panes,
              "Yes where there is a value or an event, else no: never unknown. Where none came and the source was not "
              "covered, the assumption is reported."},
    Operation{Op::w_within, "within", window, mask, T::column, U::none, C::edge,
              "`within(\"10s\")`: yes where the newest value or event is younger than that. No where it is older, "
              "where none came, and while unobserved: never unknown."},
    Operation{Op::w_older_than, "older_than", window, mask, T::column, U::none, C::edge,
              "`older_than(\"10s\")`: yes where the newest value or event is older than that. No where it is younger, "
              "where none came, and while unobserved: never unknown. Silence from the start on is `:age():above(…)`."},

    // a window to a window
    Operation{Op::w_where, "where", window, window, T::fields, U::keep, C::event,
              "Only the events whose fields have these values: `where { code = 79 }`, or one of several: `where { code "
              "= { 79, 48 } }`. In a text `*` stands for any part, `where { message = \"*out of memory*\" }`, and "
              "`\\\\*` for a star."},
    Operation{Op::w_except, "except", window, window, T::fields, U::keep, C::event,
              "Only the events of which no field has these values: `except { code = 45 }`."},

    // the job to a column
    Operation{
        Op::job_age, "age", job, column, T::nothing, U::seconds, C::leaf,
        "`job:age()`: the seconds since the attempt began, without the time in which no recorder wrote. Always known."},

    // a finding to a mask
    Operation{Op::f_now, "now", finding, mask, T::nothing, U::none, C::edge,
              "Whether the rule says yes at its newest tick, after `fire` and `clear`, before yielding."},
    Operation{
        Op::f_ever, "ever", finding, mask, T::nothing, U::none, C::edge,
        "Whether the rule fired in this attempt; no where it was known in 90 % of its evaluations, else unknown."},

    // columns, member by member
    Operation{Op::add, "+", column, column, T::column, U::sum, C::elementwise, "The sum. Unknown where either is."},
    Operation{Op::subtract, "-", column, column, T::column, U::sum, C::elementwise,
              "The difference. Unknown where either is."},
    Operation{Op::multiply, "*", column, column, T::column, U::product, C::elementwise,
              "The product. Unknown where either is."},
    Operation{Op::divide, "/", column, column, T::column, U::quotient, C::elementwise,
              "The quotient. Unknown where either is, and where the divisor is 0."},
    Operation{Op::negate, "-", column, column, T::nothing, U::keep, C::elementwise,
              "The value with its sign changed. Unknown where it is."},
    Operation{Op::clamp_low, "", column, column, T::column, U::sum, C::elementwise,
              "The value, or the limit where the value is below it. Unknown where either is."},
    Operation{
        Op::clamp, "clamp", column, column, T::low_high, U::sum, C::elementwise,
        "`clamp(low)`, `clamp(low, high)`: the value, or the limit that it passes. Unknown where any of them is."},
    Operation{Op::log, "log", column, column, T::nothing, U::none, C::elementwise,
              "The natural logarithm. Unknown where the value is unknown or not positive."},
    Operation{Op::abs, "abs", column, column, T::nothing, U::keep, C::elementwise,
              "The value without its sign. Unknown where it is."},
    Operation{Op::fill, "fill", column, column, T::column, U::sum, C::elementwise,
              "The value, or the other where it is unknown; the assumption is reported under \"cannot decide\"."},
    Operation{Op::greatest, "greatest", column, column, T::columns, U::sum, C::elementwise,
              "`greatest(a, b)`: the greatest of them, NaN left out. Unknown where any of them is."},
    Operation{Op::least, "least", column, column, T::columns, U::sum, C::elementwise,
              "`least(a, b)`: the least of them, NaN left out. Unknown where any of them is."},
    Operation{Op::greatest_known, "greatest_known", column, column, T::columns, U::sum, C::elementwise,
              "`greatest_known(a, b)`: the greatest of those that are known, NaN left out. Unknown where none is."},
    Operation{Op::least_known, "least_known", column, column, T::columns, U::sum, C::elementwise,
              "`least_known(a, b)`: the least of those that are known, NaN left out. Unknown where none is."},
    Operation{Op::choose, "choose", mask, column, T::choice, U::sum, C::elementwise,
              "`m:choose(a, b)`: a where the mask is yes, b where it is no. Unknown where the mask is."},

    // columns to masks, member by member
    Operation{Op::above, "above", column, mask, T::column, U::none, C::elementwise,
              "Whether the value is greater. Unknown where either is unknown or NaN."},
    Operation{Op::below, "below", column, mask, T::column, U::none, C::elementwise,
              "Whether the value is less. Unknown where either is unknown or NaN."},
    Operation{Op::at_least, "at_least", column, mask, T::column, U::none, C::elementwise,
              "Whether the value is greater or equal. Unknown where either is unknown or NaN."},
    Operation{Op::at_most, "at_most", column, mask, T::column, U::none, C::elementwise,
              "Whether the value is less or equal. Unknown where either is unknown or NaN."},
    Operation{Op::same, "", column, mask, T::column, U::none, C::elementwise,
              "Whether two values are equal. Unknown where either is unknown or NaN."},
    Operation{Op::is, "is", column, mask, T::literals, U::none, C::elementwise,
              "Whether the value is any of these numbers or texts; `is(x)`: whether it equals another column. Unknown "
              "where a value is unknown or NaN."},
    Operation{Op::known, "known", column, mask, T::nothing, U::none, C::elementwise,
              "Yes where there is a value, a measured NaN included, else no: never unknown."},

    // masks, member by member
    Operation{Op::conjunction, "&", mask, mask, T::masks, U::none, C::elementwise,
              "Both: no where either is no, else unknown where either is."},
    Operation{Op::disjunction, "|", mask, mask, T::masks, U::none, C::elementwise,
              "Either: yes where one is yes, else unknown where either is."},
    Operation{Op::negation, "~", mask, mask, T::nothing, U::none, C::elementwise,
              "The opposite. Unknown stays unknown."},
    Operation{Op::surely, "surely", mask, mask, T::nothing, U::none, C::elementwise,
              "Yes only where it is known to be yes: unknown counts as no, and the assumption is reported."},
    Operation{Op::maybe, "maybe", mask, mask, T::nothing, U::none, C::elementwise,
              "Yes unless it is known to be no: unknown counts as yes, and the assumption is reported."},

    // across members
    Operation{Op::g_median, "median", column, column, T::group, U::keep, C::group_order,
              "The median of the known members. Unknown below three."},
    Operation{Op::g_mad, "mad", column, column, T::group, U::keep, C::group_order,
              "The median distance of the known members to their median. Unknown below three."},
    Operation{Op::g_mean, "mean", column, column, T::group, U::keep, C::fold,
              "The mean of the known members. Unknown where none is known; of peers, below three."},
    Operation{Op::g_min, "min", column, column, T::group, U::keep, C::fold,
              "The least of the known members. Unknown where none is known; of peers, below three."},
    Operation{Op::g_max, "max", column, column, T::group, U::keep, C::fold,
              "The greatest of the known members. Unknown where none is known; of peers, below three."},
    Operation{Op::g_sum, "sum", column, column, T::group, U::keep, C::fold,
              "The sum of the known members. Unknown where none is known; of peers, below three."},
    Operation{Op::g_quantile, "quantile", column, column, T::number_group, U::keep, C::group_order,
              "`quantile(q, group)`: the quantile of the known members. Unknown below three."},
    Operation{Op::g_count, "count", column, column, T::group, U::count, C::fold, "How many members are known."},
    Operation{Op::g_spread, "spread", column, column, T::group, U::keep, C::group_order,
              "The greatest less the least of the known members. Unknown below three."},
    Operation{Op::g_mode, "mode", column, column, T::group, U::keep, C::group_order,
              "The most frequent number or text of the known members; of several the one of the first member that has "
              "one of them. Unknown where none is known; of peers, below three."},
    Operation{Op::m_any, "any", mask, mask, T::group, U::none, C::fold,
              "Yes where a member is yes; no where all are no."},
    Operation{Op::m_all, "all", mask, mask, T::group, U::none, C::fold,
              "Yes where all members are yes; no where one is no."},
    Operation{Op::m_at_least, "at_least", mask, mask, T::number_group, U::none, C::fold,
              "`at_least(n, group)`: yes where n members are yes, no where the unknown ones could not make up n."},
    Operation{
        Op::m_at_most, "at_most", mask, mask, T::number_group, U::none, C::fold,
        "`at_most(n, group)`: no where more than n members are yes, yes where the unknown ones could not exceed n."},
    Operation{Op::m_count, "count", mask, column, T::group, U::count, C::fold,
              "How many members are yes, of those that are known. Unknown where none is known."},

    // between levels, and held values
    Operation{Op::at, "at", column, column, T::level, U::keep, C::elementwise,
              "`at(\"rank\")`: the same value for every member of a finer level."},
    Operation{Op::spread, "", column, column, T::nothing, U::keep, C::elementwise,
              "A value of a coarser level beside each member of a finer one."},
    Operation{Op::freeze, "", column, column, T::nothing, U::keep, C::elementwise,
              "The value as it was when the rule's alert on the member began to be pending."},

    // concrete values
    Operation{Op::number, "number", column, column, T::nothing, U::keep, C::leaf,
              "The one number of a column per job, or nil; makes the rule scripted."},
    Operation{Op::yes, "yes", mask, mask, T::nothing, U::none, C::leaf,
              "Whether a mask per job is yes, or nil where it is unknown; makes the rule scripted."},
    Operation{Op::each, "each", column, column, T::nothing, U::keep, C::leaf,
              "Member and value in turn, for a loop; makes the rule scripted."},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].op) != i) return false;
  return static_cast<std::size_t>(Op::each) + 1 == table.size();
}
static_assert(in_order(), "an entry of the table stands where its Op does not");

// Words that masks and columns share.
constexpr bool either(Op op) { return op == Op::at || op == Op::each; }

}  // namespace

std::span<const Operation> operations() noexcept { return table; }

const Operation& operation(Op op) noexcept { return table[static_cast<std::size_t>(op)]; }

Op column_of(Op op) noexcept {
  if (op == Op::w_seen) return Op::w_count;
  return op == Op::w_within || op == Op::w_older_than ? Op::w_age : op;
}

std::optional<Op> find_operation(std::string_view name, Shape on) noexcept {
  if (name.empty()) return std::nullopt;
  for (const Operation& entry : table)
    if (entry.name == name && (entry.on == on || (on == Shape::mask && either(entry.op)))) return entry.op;
  return std::nullopt;
}

namespace {

constexpr std::array<std::string_view, 5> groups{"peers", "gpu", "node", "rack", "job"};

}  // namespace

std::string_view name(Group group) noexcept { return groups[static_cast<std::size_t>(group)]; }
std::optional<Group> group_named(std::string_view text) noexcept { return find_named<Group>(groups, text); }

std::string_view name(Shape shape) noexcept {
  constexpr std::array<std::string_view, 5> names{"window", "finding", "column", "mask", "job"};
  return names[static_cast<std::size_t>(shape)];
}

}  // namespace tocsin::stream
