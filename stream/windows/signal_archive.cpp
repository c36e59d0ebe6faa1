// What a snapshot holds of a signal, and what another pack's history adopts.
#include <algorithm>
#include <type_traits>

#include "stream/windows/signal_history.h"

namespace tocsin::stream {
namespace {

// The tags of a signal; its rows' are its own, too.
enum : Tag {
  arrivals_tag = 1,
  step_values_tag,
  step_changes_tag,
  digest_tag = 6,
  floor_tag,
  panes_tag,
  baselines_tag,
  row_attempts_tag,
  points_tag,
  point_windows_tag,
  point_attempts_tag,
  events_tag,
  lasts_tag,
};

// Views are in the order of the pack's windows, and the pack is the same.
template <class View>
void load_views(Reader& in, Tag tag, std::vector<View>& views) {
  std::size_t view = 0;
  in.list(tag, [&](Reader& of) {
    if (view < views.size()) views[view++].load(of);
  });
}

template <class T>
void save_rows(Writer& out, const RowSide<T>& side) {
  out(digest_tag, side.rows.marks().digest), out(floor_tag, side.rows.marks().floor);
  out(panes_tag, side.panes), out(baselines_tag, side.baselines), out(row_attempts_tag, side.attempts);
  if (!side.lasts.empty()) out(lasts_tag, side.lasts);
}

template <class T>
void load_rows(Reader& in, RowSide<T>& side) {
  typename Rows<T>::Marks marks;
  in(digest_tag, marks.digest), in(floor_tag, marks.floor);
  side.rows.set_marks(marks);
  if (side.panes) in(panes_tag, *side.panes);
  for (auto& view : side.raw) view.forget();
  load_views(in, baselines_tag, side.baselines);
  load_views(in, row_attempts_tag, side.attempts);
  load_views(in, lasts_tag, side.lasts);
}

template <class T>
void adopt_rows(RowSide<T>& side, RowSide<T>& old, Time clock) {
  side.rows.adopt(old.rows, clock);
  const RowNumber newest = clock == long_ago ? std::numeric_limits<RowNumber>::min() : side.rows.grid().through(clock);
  for (auto& view : side.raw)
    if (auto* before = find_view(old.raw, view.spec())) view.adopt(*before);
  if (side.panes && old.panes) side.panes->adopt(*old.panes);
  for (auto& view : side.baselines) {
    if (auto* before = find_view(old.baselines, view.spec())) view.adopt(*before);
    else view.begin_after(newest);
  }
  // What a restore would not read again is taken now.
  for (auto& view : side.lasts) {
    if (auto* before = find_view(old.lasts, view.spec())) view.values = std::move(before->values);
    else if (clock != long_ago)
      view.values.take(side.rows, side.rows.grid().through(clock - view.spec().settle - view.spec().lag));
  }
  for (auto& view : side.attempts) {
    if (auto* before = find_view(old.attempts, view.spec())) view.adopt(*before, newest, 0);
    else view.through = newest;
  }
}

}  // namespace

void SignalHistory::take_rows(SignalHistory& other) {
  ++changes_;
  if_rows([&](auto& side) {
    if (auto* taken = std::get_if<std::remove_reference_t<decltype(side)>>(&other.rows_)) side.rows.take(taken->rows);
  });
}

void SignalHistory::adopt(SignalHistory& old, Time clock) {
  arrivals_ = std::move(old.arrivals_);
  step_values = std::move(old.step_values);
  step_changes = std::move(old.step_changes);
  if_rows([&](auto& side) {
    if (auto* same = std::get_if<std::remove_reference_t<decltype(side)>>(&old.rows_)) adopt_rows(side, *same, clock);
  });
  if (points_ && old.points_) {
    points_->adopt(*old.points_);
    for (auto& view : points_->windows) {
      if (auto* before = find_view(old.points_->windows, view.spec())) view.adopt(*before);
      else view.cursor = points_->taken_through();
    }
    for (auto& view : points_->attempts) {
      if (auto* before = find_view(old.points_->attempts, view.spec()))
        view.adopt(*before, 0, points_->taken_through());
      else view.cursor = points_->taken_through();
    }
  }
  if (events_ && old.events_) events_->adopt(*old.events_);
}

void SignalHistory::save(Writer& out, const std::shared_ptr<const Arrivals>& arrivals) const {
  out.object(arrivals_tag, [&](Writer& of) { of.later([arrivals](Writer& in) { arrivals->save(in); }); });
  out(step_values_tag, step_values), out(step_changes_tag, step_changes);
  if_rows([&](const auto& side) { save_rows(out, side); });
  if (points_)
    out(points_tag, *points_), out(point_windows_tag, points_->windows), out(point_attempts_tag, points_->attempts);
  if (events_) out(events_tag, *events_);
}

void SignalHistory::load(Reader& in) {
  in(arrivals_tag, own_arrivals()), in(step_values_tag, step_values), in(step_changes_tag, step_changes);
  step_changes.resize(step_values.size(), long_ago);
  if_rows([&](auto& side) { load_rows(in, side); });
  if (points_) {
    in(points_tag, *points_);
    load_views(in, point_windows_tag, points_->windows);
    load_views(in, point_attempts_tag, points_->attempts);
  }
  if (events_) in(events_tag, *events_);
}

}  // namespace tocsin::stream
