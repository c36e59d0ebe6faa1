// What points save, load, and take over from another pack.
#include <algorithm>

#include "stream/values/packed.h"
#include "stream/windows/points.h"

namespace tocsin::stream {

namespace {

// A section holds single points.
struct Point {
  Time at{};
  Slot slot = 0;
  double value = 0;
};

}  // namespace

void PointsView::save(Writer& out) const {
  out(1, cursor);
  out.later([lent = rings_.lend()](Writer& of) { lent->save(of); });
}

// A snapshot holds places member by member.
void PointsView::Rings::save(Writer& out) const {
  const auto by_member = [this](const auto& all) {
    typename std::decay_t<decltype(all)>::value_type to(all.empty() ? 0 : rings.size() * capacity);
    for (Slot slot = 0; slot < rings.size() && !all.empty(); ++slot)
      if (const auto& eight = all[Eights::of(slot)]; !eight.empty())
        for (std::size_t at = 0; at < capacity; ++at) to[slot * capacity + at] = eight[index(slot, at)];
    return to;
  };
  out(2, capacity);
  pack_columns(out, 6, rings, &Ring::next, &Ring::held);
  pack(out, 7, by_member(values)), pack(out, 8, by_member(times));
}

void PointsView::Rings::load(Reader& in, std::size_t most, bool timed) {
  std::vector<double> all_values;
  std::vector<Time> all_times;
  in(2, capacity), in(3, rings), in(4, all_values), in(5, all_times);  // of format 3
  capacity = std::clamp<std::size_t>(capacity, 1, most);
  unpack_columns(in, 6, rings, most_of_column, &Ring::next, &Ring::held);
  unpack(in, 7, all_values, rings.size() * capacity), unpack(in, 8, all_times, rings.size() * capacity);
  const bool fits =
      all_values.size() == rings.size() * capacity && all_times.size() == (timed ? all_values.size() : 0) &&
      std::all_of(rings.begin(), rings.end(), [&](const Ring& r) { return r.next < capacity && r.held <= capacity; });
  if (!fits) rings.clear();
  values.assign(eights(), {}), times.assign(timed ? eights() : 0, {});
  for (Slot slot = 0; slot < rings.size(); ++slot) {
    if (rings[slot].held == 0) continue;
    const std::size_t eight = Eights::of(slot);
    if (values[eight].empty()) take_room(eight, timed);
    for (std::size_t at = 0; at < capacity; ++at) {
      values[eight][index(slot, at)] = all_values[slot * capacity + at];
      if (timed) times[eight][index(slot, at)] = all_times[slot * capacity + at];
    }
  }
}

void PointsView::load(Reader& in) {
  in(1, cursor);
  rings_.own().load(in, full(), timed_);
  counts_.assign(rings_->rings.size(), 0);
  for (std::size_t slot = 0; slot < counts_.size(); ++slot)
    if (rings_->rings[slot].held > spec_->lag_points) counts_[slot] = rings_->rings[slot].held - spec_->lag_points;
  rebuild();
}

void PointsView::adopt(PointsView& old) {
  cursor = old.cursor;
  rings_ = std::move(old.rings_);
  counts_ = std::move(old.counts_);
  if (timed_ != old.timed_) {
    Rings& of = rings_.own();
    of.times.clear();
    if (timed_)
      for (const auto& eight : of.values) of.times.emplace_back(eight.size(), long_ago);
  }
  if (order_ != old.order_ || !kept_.adopt(old.kept_)) return rebuild();
  sorted_ = std::move(old.sorted_);
}

void AttemptView::adopt(AttemptView& old, RowNumber newest, std::uint64_t taken) {
  const bool kept = accumulators.own().adopt(old.accumulators.own());
  cursor = kept ? old.cursor : taken;
  through = kept ? old.through : newest;
}

Points::Entry Points::Pending::entry(std::uint32_t i) const noexcept {
  const RecordOrder its = order.after(i);
  return {at, first + i, reporter, its.producer, its.sequence, its.number, late, values[i], step};
}

void Points::save(Writer& out) const {
  out.later([pending = pending_.lend(), log = log_.lend()](Writer& of) {
    std::vector<Entry> entries;
    for (const Pending& run : pending->items())
      for (std::uint32_t i = 0; i < run.count; ++i) entries.push_back(run.entry(i));
    std::vector<Point> points;
    for (const PointRun& run : *log)
      for (std::uint32_t i = 0; i < run.count; ++i) points.push_back({run.at, run.first + i, run.values[i]});
    pack_columns(of, 6, entries, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer,
                 &Entry::value, &Entry::step, &Entry::late, &Entry::number);
    pack_columns(of, 7, points, &Point::at, &Point::slot, &Point::value);
  });
  out(4, base_), out(5, steps_);
}

void Points::load(Reader& in) {
  std::vector<Entry> entries;
  std::vector<Point> points;
  in.columns(1, entries, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer, &Entry::value,
             &Entry::step, &Entry::late, &Entry::number);
  in.columns(3, points, &Point::at, &Point::slot, &Point::value);  // these of format 3
  constexpr std::size_t most = 256 * most_of_column;               // minutes of a point a second from each member
  unpack_columns(in, 6, entries, most, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer,
                 &Entry::value, &Entry::step, &Entry::late, &Entry::number);
  unpack_columns(in, 7, points, most, &Point::at, &Point::slot, &Point::value);
  in(4, base_), in(5, steps_);
  Queue<Logged>& log = log_.own();
  log.clear();
  through_ = base_;
  const auto possible = [](const auto& point) { return point.slot < Topology::most_slots; };
  if (!std::ranges::all_of(points, possible) || !std::ranges::all_of(entries, possible))
    return in.fail("a point is of a member that cannot be");
  for (const Point& point : points) log.push_back({{point.at, point.slot, 1, {point.value}}, through_++});
  pending_.own().restore({entries.begin(), entries.end()});
}

void Points::adopt(Points& old) {
  pending_ = std::move(old.pending_);
  log_ = std::move(old.log_);
  base_ = old.base_, through_ = old.through_;
  steps_ = std::move(old.steps_);
}

}  // namespace tocsin::stream
