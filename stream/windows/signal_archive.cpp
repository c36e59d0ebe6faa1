// What a snapshot holds of a signal, and what another pack's history takes over.
#include <algorithm>

#include "stream/windows/signal_history.h"

namespace tocsin::stream {
namespace {

template <class T>
void save_rows(Writer& out, const RowSide<T>& side) {
  const auto& marks = side.rows.marks();
  out.put(marks.digest), out.put(marks.floor);
  if (side.panes) side.panes->save(out);
  for (const auto& view : side.baselines) view.save(out);
  for (const auto& view : side.attempts) {
    out.put(view.through);
    view.accumulators.save(out);
  }
}

template <class T>
void load_rows(Reader& in, RowSide<T>& side) {
  typename Rows<T>::Marks marks;
  marks.digest = in.get<std::uint64_t>(), marks.floor = in.get<RowNumber>();
  side.rows.set_marks(marks);
  if (side.panes) side.panes->load(in);
  for (auto& view : side.raw) view.forget();
  for (auto& view : side.baselines) view.load(in);
  for (auto& view : side.attempts) {
    view.through = in.get<RowNumber>();
    view.accumulators.load(in);
  }
}

template <class View>
View* same(std::vector<View>& views, const WindowSpec& spec) {
  for (View& view : views) {
    if constexpr (requires { view.spec(); }) {
      if (same_values(view.spec(), spec)) return &view;
    } else if (same_values(view.spec, spec)) {
      return &view;
    }
  }
  return nullptr;
}

template <class T>
void adopt_rows(RowSide<T>& side, RowSide<T>& old, Time clock) {
  side.rows.take_over(old.rows, clock);
  const RowNumber newest = clock == long_ago ? std::numeric_limits<RowNumber>::min() : side.rows.grid().through(clock);
  if (side.panes && old.panes) side.panes->take_over(*old.panes);
  for (auto& view : side.baselines) {
    if (auto* before = same(old.baselines, view.spec())) view.take_over(*before);
    else view.begin_after(newest);
  }
  for (auto& view : side.attempts) {
    if (auto* before = same(old.attempts, view.spec)) view.take_over(*before, newest, 0);
    else view.through = newest;
  }
}

}  // namespace

void SignalHistory::adopt(SignalHistory& old, Time clock) {
  arrivals = std::move(old.arrivals);
  step_values = std::move(old.step_values);
  step_changes = std::move(old.step_changes);
  taken_since = old.taken_since;
  repeated_steps_ = old.repeated_steps_;
  auto* narrow = std::get_if<RowSide<float>>(&rows_);
  auto* wide = std::get_if<RowSide<double>>(&rows_);
  auto* old_narrow = std::get_if<RowSide<float>>(&old.rows_);
  auto* old_wide = std::get_if<RowSide<double>>(&old.rows_);
  if (narrow && old_narrow) adopt_rows(*narrow, *old_narrow, clock);
  else if (wide && old_wide) adopt_rows(*wide, *old_wide, clock);
  else if (narrow || wide) taken_since = clock;
  if (points_ && old.points_) {
    points_->take_over(*old.points_);
    for (auto& view : points_->windows) {
      if (auto* before = same(old.points_->windows, view.spec())) view.take_over(*before);
      else view.cursor = points_->taken_through();
    }
    for (auto& view : points_->attempts) {
      if (auto* before = same(old.points_->attempts, view.spec)) view.take_over(*before, 0, points_->taken_through());
      else view.cursor = points_->taken_through();
    }
  }
  if (events_ && old.events_) events_->take_over(*old.events_);
}

void SignalHistory::save(Writer& out) const {
  arrivals.save(out);
  out.put_all(step_values);
  out.put_all(step_changes);
  out.put(taken_since);
  out.put(repeated_steps_);
  if (const auto* narrow = std::get_if<RowSide<float>>(&rows_)) save_rows(out, *narrow);
  if (const auto* wide = std::get_if<RowSide<double>>(&rows_)) save_rows(out, *wide);
  if (points_) {
    points_->save(out);
    for (const auto& view : points_->windows) view.save(out);
    for (const auto& view : points_->attempts) {
      out.put(view.cursor);
      view.accumulators.save(out);
    }
  }
  if (events_) events_->save(out);
}

void SignalHistory::load(Reader& in) {
  arrivals.load(in);
  step_values = in.get_all<double>();
  step_changes = in.get_all<Time>();
  step_changes.resize(step_values.size(), long_ago);
  taken_since = in.get_time();
  repeated_steps_ = in.get<std::uint64_t>();
  if (auto* narrow = std::get_if<RowSide<float>>(&rows_)) load_rows(in, *narrow);
  if (auto* wide = std::get_if<RowSide<double>>(&rows_)) load_rows(in, *wide);
  if (points_) {
    points_->load(in);
    for (auto& view : points_->windows) view.load(in);
    for (auto& view : points_->attempts) {
      view.cursor = in.get<std::uint64_t>();
      view.accumulators.load(in);
    }
  }
  if (events_) events_->load(in);
}

}  // namespace tocsin::stream
