// Reads what a signal retains, as of a tick.
#include <algorithm>
#include <limits>
#include <utility>

#include "stream/windows/signal_history.h"

namespace tocsin::stream {
namespace {

using Span = WindowSpec::Span;

// Of so many points in a window those that a reduction reads: last(n) and first(n) need n of them.
std::pair<std::size_t, std::size_t> points_needed(const RowReduction& reduction, std::size_t count) {
  if (reduction.op != Op::w_last && reduction.op != Op::w_first) return {0, count};
  const std::size_t n = std::min(count, static_cast<std::size_t>(std::max(reduction.arguments.number, 1.0)));
  return reduction.op == Op::w_last ? std::pair{count - n, count} : std::pair{std::size_t{0}, n};
}

}  // namespace

RowReduction SignalHistory::row_reduction(const Node& node, const WindowSpec& window, Column other) const {
  return {node.op, {node.attributes.number, absent}, other, &window, &arrivals(), definition_->kind, scratch_};
}

SignalHistory::Found SignalHistory::reduce_attempt(AttemptView& view, const Node& node, const WindowSpec& window,
                                                   Column other, std::span<double> out) const {
  if (view.accumulators->members() == 0) return Found::nothing;
  std::fill(out.begin(), out.end(), absent);
  const RowReduction reduction = row_reduction(node, window, other);
  const std::size_t least = reduction.needs_cover() ? least_of(window) : 1;
  if (view.accumulators->reduce_all(node.op, node.attributes.number, std::max<std::size_t>(least, 1), out))
    return Found::something;
  for (Slot slot = 0; slot < out.size(); ++slot) {
    const std::uint64_t count = view.accumulators->count(slot);
    if (!reduction.enough(count) || count < least) continue;
    out[slot] = view.accumulators->reduce(node.op, slot, reduction.at(slot), scratch_->series);
  }
  return Found::something;
}

template <class T>
SignalHistory::Found SignalHistory::reduce_rows(RowSide<T>& side, const Node& node, const WindowSpec& window,
                                                Column other, Time tick, Time applied_to, Time attempt_start,
                                                std::span<double> out) {
  if (window.span == Span::attempt) {
    AttemptView* view = find_view(side.attempts, window);
    if (view == nullptr) return Found::not_retained;
    side.advance(window, time_range(window, applied_to, attempt_start));
    return reduce_attempt(*view, node, window, other, out);
  }
  const TimeRange of = time_range(window, tick, attempt_start);
  const RowReduction reduction = row_reduction(node, window, other);
  if (window.baseline()) {
    BaselineView<T>* view = find_view(side.baselines, window);
    if (view == nullptr) return Found::not_retained;
    view->advance(side.rows, *side.panes, of);
    return view->reduce(*side.panes, of, reduction, out) ? Found::something : Found::nothing;
  }
  if (LastView<T>* const last = find_view(side.lasts, window)) {
    last->values.take(side.rows, side.rows.grid().through(of.to));
    return last->values.reduce(of.from, out) ? Found::something : Found::nothing;
  }
  RawView<T>* view = find_view(side.raw, window);
  if (view == nullptr) return Found::not_retained;
  view->advance(side.rows, of);
  return view->reduce(side.rows, of, reduction, out) ? Found::something : Found::nothing;
}

SignalHistory::Found SignalHistory::reduce_points(const Node& node, const WindowSpec& window, Column other,
                                                  Time applied_to, Time attempt_start, std::span<double> out) {
  const Time to = time_range(window, applied_to, attempt_start).to;
  if (window.span == Span::attempt) {
    AttemptView* view = find_view(points_->attempts, window);
    if (view == nullptr) return Found::not_retained;
    points_->advance(*view, to);
    return reduce_attempt(*view, node, window, other, out);
  }
  PointsView* view = find_view(points_->windows, window);
  if (view == nullptr) return Found::not_retained;
  points_->advance(*view, to);
  view->refresh(scratch_->block);
  const auto counts = view->counts();
  if (counts.empty()) return Found::nothing;
  std::fill(out.begin(), out.end(), absent);
  const RowReduction reduction = row_reduction(node, window, other);
  const std::size_t least = window.full ? window.points : reduction.needs_cover() ? least_of(window) : 1;
  if (const auto* column = view->kept(node.op, node.attributes.number)) {
    take_known(*column, counts, static_cast<std::uint32_t>(least), out);
    return Found::something;
  }
  auto &times = scratch_->times, &values = scratch_->values;
  for (Slot slot = 0; slot < std::min(out.size(), counts.size()); ++slot) {
    const std::size_t untimed = uses_times(node.op) ? view->untimed(slot) : 0, count = counts[slot] - untimed;
    if (!reduction.enough(count) || count < least) continue;
    const auto [from, through] = points_needed(reduction, count);
    view->copy(slot, untimed + from, untimed + through, times, values);
    out[slot] = reduce_series(node.op, {times, values}, reduction.at(slot), scratch_->series);
  }
  return Found::something;
}

EventView* SignalHistory::event_view(const WindowSpec& window, TimeRange of, std::optional<EventView>& made) {
  EventView* view = events_->find(window);
  if (view == nullptr)
    view = &made.emplace(events_->make_view(window));  // the filter of a scripted rule: built from what is retained
  events_->advance(*view, of);
  return view;
}

SignalHistory::Found SignalHistory::reduce_events(const Node& node, const WindowSpec& window, Time tick,
                                                  Time applied_to, Time attempt_start, std::span<double> out) {
  TimeRange of = time_range(window, tick, attempt_start);
  if (applied_to == never) of.to = never;
  std::optional<EventView> made;
  const EventView* view = event_view(window, of, made);
  const Op op =
      node.op == Op::w_rate ? Op::w_count : node.op;  // a rate is a count, divided by a time that the caller knows
  if (made && op != Op::w_last && !events_->complete_after(of.from)) {
    std::fill(out.begin(), out.end(), measured_nan);  // an unknown count must not become 0
    return Found::something;
  }
  if (view->members.empty()) return Found::nothing;
  std::fill(out.begin(), out.end(), absent);
  const std::uint32_t field = node.attributes.field.empty() ? 0 : events_->field(node.attributes.field);
  for (Slot slot = 0; slot < out.size(); ++slot) {
    const double value = events_->reduce(*view, slot, op, field);
    if (value != 0 || (op != Op::w_count && op != Op::w_repeats && op != Op::w_distinct)) out[slot] = value;
  }
  return Found::something;
}

bool SignalHistory::last_event_arrivals(const WindowSpec& window, Time tick, Time applied_to, Time attempt_start,
                                        Time now, std::vector<Time>& last) {
  if (!events_) return false;
  TimeRange of = time_range(window, tick, attempt_start);
  if (applied_to == never) of.to = never;
  std::optional<EventView> made;
  const EventView* view = event_view(window, of, made);
  events_->last_arrivals(*view, of.from, applied_to == never ? never : now, last);  // at the end, all that came
  return true;
}

Time SignalHistory::unchanged_until(const WindowSpec& window, TimeRange range) const {
  // While nothing enters a window over time, it changes when the oldest that it holds leaves: its lag grows at most.
  const auto leaves = [&](Time oldest) {
    return oldest == never || oldest == long_ago ? oldest : oldest + window.over;
  };
  const bool attempt = window.span == Span::attempt;
  if (events_) {
    const EventView* const view = events_->find(window);
    if (view == nullptr) return long_ago;
    const Time oldest = events_->oldest(*view);
    return attempt && oldest != long_ago ? never : leaves(oldest);
  }
  if (points_ && (window.span == Span::points || (attempt && definition_->points))) {
    const std::uint64_t all = points_->taken_through();
    const auto taken = [&](const auto& views) {
      return std::ranges::any_of(
          views, [&](const auto& view) { return view.cursor == all && same_values(view.spec(), window); });
    };
    return (attempt ? taken(points_->attempts) : taken(points_->windows)) ? never : long_ago;
  }
  Time until = long_ago;
  if_rows([&](const auto& side) {
    const auto& closed = side.rows.closed();
    const RowGrid& grid = side.rows.grid();
    const Time newest = closed.empty() ? long_ago : grid.end(closed.last_number());
    if (newest > range.to) return;
    if (window.baseline()) {  // its panes stay where a restart has no rows
      const auto& panes = *side.panes;
      if (panes.after(panes.grid().through(range.from) - 2) == panes.after(std::numeric_limits<RowNumber>::max()))
        until = never;
      return;
    }
    if (const auto* last = find_view(side.lasts, window)) {
      until = leaves(last->values.first_after(range.from));
      return;
    }
    const std::size_t first = side.rows.after(grid.through(range.from));
    until = attempt || first == closed.size() ? never : leaves(grid.end(closed.number(first)));
  });
  return until;
}

SignalHistory::Found SignalHistory::reduce(const Node& node, const WindowSpec& window, Column other, Time tick,
                                           Time applied_to, Time attempt_start, std::span<double> out) {
  if (events_) return reduce_events(node, window, tick, applied_to, attempt_start, out);
  if (points_ && (window.span == Span::points || (window.span == Span::attempt && definition_->points)))
    return reduce_points(node, window, other, applied_to, attempt_start, out);
  if (auto* narrow = std::get_if<RowSide<float>>(&rows_))
    return reduce_rows(*narrow, node, window, other, tick, applied_to, attempt_start, out);
  if (auto* wide = std::get_if<RowSide<double>>(&rows_))
    return reduce_rows(*wide, node, window, other, tick, applied_to, attempt_start, out);
  return Found::not_retained;
}

}  // namespace tocsin::stream
