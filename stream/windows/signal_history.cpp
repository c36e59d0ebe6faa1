#include "stream/windows/signal_history.h"

#include <algorithm>

namespace tocsin::stream {
namespace {

using Span = WindowSpec::Span;

// Of few members, windows take so many rows together, but never of a longer time.
constexpr RowNumber rows_together = 8;
constexpr Duration longest_together = std::chrono::seconds{8};
constexpr std::size_t few_members = 32, points_together = 64;

Duration wait_of(const SignalDefinition& signal) {
  return std::min(longest_together, (rows_together - 1) * signal.row);
}

Duration reach_of(const WindowSpec& window, bool raw, Duration wait) {
  return (raw ? window.over : wait) + window.lag + window.settle;
}

// Baselines read rows only for `last`; "attempt" reads them until its accumulators have taken them.
bool reads_rows(const Asked& asked) { return !asked.window.baseline() || asked.demand.last; }

bool over_raw_rows(const WindowSpec& window) { return window.span == Span::time && !window.baseline(); }

// Whether the values that came last answer all that can be asked, as no scripted rule reads the window, and take less
// than the rows. Of a short one, rows take little, and the last row answers for most members at once.
bool asks_last_alone(const Asked& asked, const SignalDefinition& signal) {
  constexpr int few_rows = 30;
  if (asked.window.over <= few_rows * signal.row) return false;
  const Demand& demand = asked.demand;
  const auto reads_one = [](Op op) { return op == Op::w_last || op == Op::w_age || op == Op::w_interval; };
  return over_raw_rows(asked.window) && asked.declared && !demand.times && demand.last && demand.last_n <= 1 &&
         std::ranges::all_of(demand.reductions, reads_one, &Reduction::op);
}

}  // namespace

template <class T>
void RowSide<T>::accumulate(AttemptView& view, RowNumber through) const {
  const auto& closed = rows.closed();
  for (std::size_t r = rows.after(view.through); r < closed.size() && closed.number(r) <= through; ++r) {
    view.accumulators.own().add(rows.grid().end(closed.number(r)), closed[r].values);
    view.through = closed.number(r);
  }
}

template <class T>
void RowSide<T>::advance(const WindowSpec& spec, TimeRange time_range) {
  if (spec.accumulated()) {
    for (AttemptView& view : attempts)
      if (same_values(view.spec(), spec)) accumulate(view, rows.grid().through(time_range.to));
    return;
  }
  if (spec.baseline()) {
    for (auto& view : baselines)
      if (same_values(view.spec(), spec)) view.advance(rows, *panes, time_range);
    return;
  }
  for (auto& view : raw)
    if (same_values(view.spec(), spec)) view.advance(rows, time_range);
  for (auto& view : lasts)
    if (same_values(view.spec(), spec)) view.values.take(rows, rows.grid().through(time_range.to));
}

template struct RowSide<float>;
template struct RowSide<double>;

template <class T>
RowSide<T> SignalHistory::make_rows(const std::vector<Asked>& windows, bool rows_only) const {
  const RowGrid grid{definition_->row};
  const Duration slack = 2 * definition_->row + wait_of(*definition_);
  RowSide<T> side{Rows<T>{grid, definition_->lateness, reach_ + definition_->lateness + slack,
                          definition_->kind == SignalKind::counter},
                  {},
                  {},
                  {},
                  {},
                  {}};
  if (rows_only) return side;
  const bool baseline = std::any_of(windows.begin(), windows.end(), [](const Asked& a) { return a.window.baseline(); });
  if (baseline) {
    typename Panes<T>::Wants wants;
    for (const Asked& asked : windows) {
      if (!asked.window.baseline()) continue;
      wants.extremes = wants.extremes || asked.demand.extremes;
      wants.nonfinite = wants.nonfinite || asked.demand.nonfinite;
      for (const double mask : asked.demand.masks)
        if (std::ranges::find(wants.masks, mask) == wants.masks.end()) wants.masks.push_back(mask);
    }
    side.panes.emplace(grid, longest_, std::move(wants));
  }
  const auto count = [&](auto predicate) {
    return static_cast<std::size_t>(std::ranges::count_if(windows, predicate, &Asked::window));
  };
  side.raw.reserve(count(over_raw_rows));
  side.baselines.reserve(count([](const WindowSpec& w) { return w.baseline(); }));
  for (const Asked& asked : windows) {
    const WindowSpec& w = asked.window;
    if (w.accumulated() && !definition_->points)
      side.attempts.push_back({&w, Accumulators{asked.demand, definition_->kind == SignalKind::counter}});
    if (w.span != Span::time) continue;
    if (w.baseline()) side.baselines.emplace_back(w, asked.demand, grid.length * Panes<T>::rows_a_pane);
    else if (asks_last_alone(asked, *definition_)) side.lasts.push_back({&w, {}});
    else side.raw.emplace_back(w, asked.demand, asked.declared, *definition_);
  }
  return side;
}

SignalHistory::SignalHistory(const SignalDefinition& definition, const std::vector<Asked>& windows,
                             const Symbols* symbols, ReductionScratch& scratch, bool rows_only)
    : definition_(&definition), scratch_(&scratch) {
  if (definition.kind == SignalKind::liveness) return;
  bool rows = false, attempt = false, points = definition.points;
  for (const Asked& asked : windows) {
    const WindowSpec& w = asked.window;
    if (w.span == Span::time) longest_ = std::max(longest_, w.over + w.lag + w.settle);
    if (w.span == Span::points) points = true;
    if (w.span == Span::attempt) attempt = true;
    if (!of_rows(w, definition)) continue;
    rows = true;
    reach_ = std::max(reach_, reads_rows(asked) ? reach_of(w, over_raw_rows(w) && !asks_last_alone(asked, definition),
                                                           wait_of(definition))
                                                : w.settle);
  }
  if (definition.kind == SignalKind::event) {
    events_ = std::make_unique<Events>(
        definition.lateness,
        longest_ == Duration{0} ? Duration{0} : longest_ + definition.lateness + std::chrono::seconds{1}, attempt,
        symbols);
    for (const Asked& asked : windows) events_->add_view(asked.window);
    return;
  }
  if (rows) {
    if (definition.wide()) rows_.emplace<RowSide<double>>(make_rows<double>(windows, rows_only));
    else rows_.emplace<RowSide<float>>(make_rows<float>(windows, rows_only));
  }
  if (points && !rows_only) {
    points_ = std::make_unique<Points>(definition.lateness);
    for (const Asked& asked : windows) {
      if (asked.window.span == Span::points) points_->windows.emplace_back(asked.window, asked.demand, asked.declared);
      if (asked.window.accumulated() && definition.points)
        points_->attempts.push_back(
            {&asked.window, Accumulators{asked.demand, definition.kind == SignalKind::counter}});
    }
  }
}

const Arrivals SignalHistory::no_arrivals{false};

Arrivals& SignalHistory::own_arrivals() {
  if (!arrivals_) arrivals_ = std::make_shared<Arrivals>(definition_->kind == SignalKind::step);
  else if (arrivals_.use_count() > 1) arrivals_ = std::make_shared<Arrivals>(*arrivals_);
  return *arrivals_;
}

bool SignalHistory::write(const Points::Entry& entry, Time time, Time clock, std::size_t members) {
  bool in_time = true;
  if (auto* narrow = std::get_if<RowSide<float>>(&rows_))
    in_time = narrow->rows.write(entry.slot, time, clock, static_cast<float>(entry.value), members);
  if (auto* wide = std::get_if<RowSide<double>>(&rows_))
    in_time = wide->rows.write(entry.slot, time, clock, entry.value, members);
  return (!points_ || points_->add(entry, clock)) && in_time;
}

template <class V>
std::size_t SignalHistory::write(std::span<const Slot> slots, Time time, std::span<const V> values, const How& how) {
  std::size_t late = 0;
  if_rows([&](auto& side) { late = side.rows.write(slots, how.in_a_row, time, how.clock, values, how.members); });
  if (!points_) return late;
  return std::max(late, points_->add(slots, time, values, how.order, how.clock));
}
template std::size_t SignalHistory::write(std::span<const Slot>, Time, std::span<const float>, const How&);
template std::size_t SignalHistory::write(std::span<const Slot>, Time, std::span<const double>, const How&);

bool SignalHistory::write_event(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields,
                                Time arrival, const RecordOrder& order, Time clock) {
  return !events_ || events_->add(slot, time, fields, arrival, order, clock);
}

Time SignalHistory::next_due() const noexcept {
  Time due = never;
  if_rows([&](const auto& side) { due = side.rows.next_due(); });
  if (points_) due = std::min(due, points_->next_due());
  if (events_) due = std::min(due, events_->next_due());
  return due;
}

namespace {

// Panes are fed by rows as they close, oldest first.
template <class T>
void feed_panes(RowSide<T>& side, std::size_t fresh) {
  if (!side.panes) return;
  const auto& closed = side.rows.closed();
  for (std::size_t r = closed.size() - std::min(fresh, closed.size()); r < closed.size(); ++r)
    side.panes->add(side.rows.grid().end(closed.number(r)), closed[r].values);
}

}  // namespace

bool SignalHistory::close_rows(Time clock) {
  bool any = false;
  // One at a time, because closing a row can remove the oldest. No tick to come is as old as these, so windows of the
  // attempt that no evaluation has moved on take them now.
  if_rows([&](auto& side) {
    for (; side.rows.next_due() <= clock; any = true) {
      for (AttemptView& view : side.attempts) side.accumulate(view, side.rows.removed_next());
      for (auto& view : side.baselines) view.take_last(side.rows, side.rows.removed_next());
      for (auto& view : side.lasts) view.values.take(side.rows, side.rows.removed_next());
      side.rows.close_next(clock);
      feed_panes(side, 1);
    }
  });
  return any;
}

void SignalHistory::end(Time end) noexcept {
  if_rows([end](auto& side) { side.rows.hold(end); });
}

bool SignalHistory::lags() const noexcept {
  bool rows = false;
  if_rows([&](const auto& side) {
    const auto& closed = side.rows.closed();
    if (closed.empty()) return;
    const RowNumber newest = closed.last_number();
    rows = newest > advanced_ && (closed.members() > few_members ||
                                  newest >= advanced_ + wait_of(*definition_) / side.rows.grid().length + 1);
  });
  return rows || events_ || (points_ && points_->waiting() >= points_together);
}

namespace {

// Lags count in full until the first tick defines the start of the attempt.
TimeRange seen(const WindowSpec& spec, Time clock, std::optional<Time> attempt_start, Time end) {
  const Time tick = std::min(clock - spec.settle, end);
  return time_range(spec, tick, attempt_start ? *attempt_start : tick - 4 * spec.lag);
}

}  // namespace

void SignalHistory::advance_rows(Time clock, std::optional<Time> attempt_start, Time end) {
  if (clock == long_ago) return;
  const auto of = [&](const auto& view) { return seen(view.spec(), clock, attempt_start, end); };
  if_rows([&](auto& side) {
    for (auto& view : side.raw) view.advance(side.rows, of(view));
    for (auto& view : side.baselines) view.advance(side.rows, *side.panes, of(view));
    for (auto& view : side.lasts) view.values.take(side.rows, side.rows.grid().through(of(view).to));
    for (auto& view : side.attempts) side.accumulate(view, side.rows.grid().through(of(view).to));
    if (!side.rows.closed().empty()) advanced_ = side.rows.closed().last_number();
  });
}

void SignalHistory::advance(Time clock, std::optional<Time> attempt_start, Time end) {
  advance_rows(clock, attempt_start, end);
  if (clock == long_ago) return;
  const auto of = [&](const auto& view) { return seen(view.spec(), clock, attempt_start, end); };
  if (points_) {
    for (auto& view : points_->windows) points_->advance(view, of(view).to);
    for (auto& view : points_->attempts) points_->advance(view, of(view).to);
    points_->trim();
  }
  if (events_) {
    for (auto& view : events_->views()) events_->advance(view, of(view));
    if (end == never) events_->trim();
  }
}

std::uint64_t SignalHistory::digest() const noexcept {
  std::uint64_t digest = 0;
  if_rows([&](const auto& side) { digest = side.rows.marks().digest; });
  return digest;
}

std::size_t SignalHistory::retained_bytes() const noexcept {
  std::size_t bytes = arrivals_ ? arrivals_->retained_bytes() / static_cast<std::size_t>(arrivals_.use_count()) : 0;
  const auto rows = [&](const auto& side) {
    bytes += side.rows.retained_bytes();
    if (side.panes) bytes += side.panes->retained_bytes();
    for (const auto& view : side.raw) bytes += view.retained_bytes();
    for (const auto& view : side.baselines) bytes += view.retained_bytes();
    for (const auto& view : side.lasts) bytes += view.values.retained_bytes();
    for (const auto& view : side.attempts) bytes += view.accumulators->retained_bytes();
  };
  if_rows(rows);
  if (points_) bytes += points_->retained_bytes();
  if (events_) bytes += events_->retained_bytes();
  return bytes;
}

std::size_t SignalHistory::retained_samples() const noexcept {
  std::size_t samples = 0;
  if_rows([&](const auto& side) { samples += side.rows.retained_samples(); });
  if (points_) samples += points_->retained_samples();
  if (events_) samples += events_->retained_samples();
  return samples;
}

}  // namespace tocsin::stream
