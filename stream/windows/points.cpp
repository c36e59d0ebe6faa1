#include "stream/windows/points.h"

#include <cstring>
#include <tuple>

#include "stream/values/packed.h"

namespace tocsin::stream {

namespace {
constexpr std::size_t remembered_steps = 64;

// Of more, sorting at a tick costs more than what it takes to keep them sorted.
constexpr std::size_t few_points = 128;

}  // namespace

PointsView::PointsView(WindowSpec spec, const Demand& demand, bool declared)
    : spec_(std::move(spec)),
      order_(declared && demand.order && full() > few_points),
      timed_(!declared || demand.times),
      sorted_(spec_.points) {
  rings_.own().capacity = std::clamp<std::size_t>(full(), 1, 16);
  if (!declared) return;
  const auto keep = [&](bool order) {
    for (const Reduction& reduction : demand.reductions) {
      const bool single = (reduction.op == Op::w_first || reduction.op == Op::w_last) && reduction.number <= 1;
      if (single || reduction.op == Op::w_count || EightSeries::gives(reduction.op))
        if (orders(reduction.op) == order) kept_.keep(reduction);
    }
  };
  keep(false), keep(true);  // what sorts comes last
}

void PointsView::widen(std::size_t members) {
  Rings& of = rings_.own();
  of.rings.resize(members);
  counts_.resize(members, 0);
  kept_.widen(members);
  of.values.resize(of.places());
  if (timed_) of.times.resize(of.places());
}

void PointsView::add(const Point& point) {
  const Slot slot = point.slot;
  if (counts_.size() <= slot) widen(std::max<std::size_t>(slot + std::size_t{1}, counts_.size() * 5 / 4));
  Rings& of = rings_.own();
  Rings::Ring& ring = of.rings[slot];
  if (ring.held == of.capacity && of.capacity < full()) grow();
  const bool full_before = ring.held == full();
  const double leaving = full_before ? of.values[of.place(slot, 0)] : 0;
  const std::size_t at = of.index(slot, ring.next);
  of.values[at] = point.value;
  if (timed_) of.times[at] = point.at;
  if (++ring.next == of.capacity) ring.next = 0;
  if (!full_before) ++ring.held;
  if (ring.held <= spec_.lag_points) return;
  counts_[slot] = ring.held - spec_.lag_points;
  kept_.changed(slot);
  if (!order_) return;
  const double entering = of.values[of.place(slot, counts_[slot] - 1)];
  if (full_before) sorted_.replace(slot, leaving, entering);
  else sorted_.insert(slot, entering);
}

// The windows of eight members from this one on. Where they came together, whole rows are copied.
void PointsView::gather(std::size_t first, EightSeries& to) const {
  const Rings& of = *rings_;
  const std::size_t members = std::min(EightSeries::members, of.rings.size() - first);
  std::uint32_t most = 0;
  Slot longest = static_cast<Slot>(first);
  for (std::size_t m = 0; m < members; ++m)
    if (counts_[first + m] > most) most = counts_[first + m], longest = static_cast<Slot>(first + m);
  to.begin(most);
  // The next eight come into the cache while these are sorted.
  if (const std::size_t next = (first / EightSeries::members + 1) * of.stride(); next + of.stride() <= of.values.size())
    for (std::size_t i = 0; i < of.stride(); i += EightSeries::members) __builtin_prefetch(of.values.data() + next + i);
  bool together = true;
  for (std::size_t m = 0; m < members; ++m) {
    const Rings::Ring &ring = of.rings[first + m], &other = of.rings[longest];
    together = together && (ring.held == 0 || (ring.held == other.held && ring.next == other.next));
  }
  for (std::size_t n = 0; n < most && together; ++n)
    std::memcpy(to.row(n), of.values.data() + of.place(longest, n) - longest % EightSeries::members,
                EightSeries::members * sizeof(double));
  for (std::size_t m = 0; m < EightSeries::members; ++m) {
    const auto slot = static_cast<Slot>(first + m);
    if (together && m < members && counts_[slot] != 0) continue;
    for (std::size_t n = 0; n < most; ++n)
      to.row(n)[m] = m < members && n < counts_[slot] ? of.values[of.place(slot, n)] : absent;
  }
  to.end();
}

void PointsView::refresh(std::vector<double>& block) {
  const Rings& all = *rings_;
  EightSeries series{block};
  std::size_t first = 0;
  const auto each = [&](std::span<double, EightSeries::members> out, auto&& of) {
    for (std::size_t m = 0; m < std::min(out.size(), all.rings.size() - first); ++m)
      if (const auto slot = static_cast<Slot>(first + m); counts_[slot] != 0) out[m] = of(slot);
  };
  const auto begin = [&](std::size_t eight) { gather(first = eight * EightSeries::members, series); };
  kept_.refresh_eights(begin, [&](Op op, double number, std::span<double, EightSeries::members> out) {
    std::ranges::fill(out, absent);
    if (op == Op::w_count) return each(out, [&](Slot slot) { return static_cast<double>(counts_[slot]); });
    if (op == Op::w_first) return each(out, [&](Slot slot) { return all.values[all.place(slot, 0)]; });
    if (op == Op::w_last) return each(out, [&](Slot slot) { return all.values[all.place(slot, counts_[slot] - 1)]; });
    if (order_ && orders(op))
      return each(out, [&](Slot slot) { return order_statistic(op, sorted_.of(slot), number); });
    series.reduce(op, number, out);
  });
}

// No ring has wrapped around while there is room to grow.
void PointsView::grow() {
  Rings& of = rings_.own();
  const std::size_t before = of.stride();
  of.capacity = std::min(of.capacity * 2, full());
  const auto move = [&](auto& from) {
    std::decay_t<decltype(from)> to(of.places());
    for (std::size_t eight = 0; eight * before < from.size(); ++eight)
      std::copy_n(from.data() + eight * before, before, to.data() + eight * of.stride());
    from = std::move(to);
  };
  move(of.values);
  if (timed_) move(of.times);
  for (Rings::Ring& ring : of.rings)
    if (ring.next == 0 && ring.held > 0) ring.next = ring.held;
}

void PointsView::means(std::span<double> out) const {
  std::vector<double> block;
  EightSeries series{block};
  std::array<double, EightSeries::members> eight;
  for (std::size_t first = 0; first < std::min(out.size(), counts_.size()); first += eight.size()) {
    gather(first, series);
    series.reduce(Op::w_mean, 0, eight);
    for (std::size_t m = 0; m < eight.size() && first + m < std::min(out.size(), counts_.size()); ++m)
      if (!is_absent(eight[m])) out[first + m] = eight[m];
  }
}

void PointsView::copy(Slot slot, std::size_t from, std::size_t to, std::vector<double>& times,
                      std::vector<double>& values) const {
  const Rings& of = *rings_;
  times.resize(to - from);
  values.resize(to - from);
  const Time first =
      timed_ && from < to ? of.times[of.place(slot, from)] : long_ago;  // then no reduction here uses times
  for (std::size_t n = from; n < to; ++n) {
    const std::size_t i = of.place(slot, n);
    times[n - from] = first != long_ago ? seconds(of.times[i] - first) : 0;
    values[n - from] = of.values[i];
  }
}

std::size_t PointsView::untimed(Slot slot) const noexcept {
  const Rings& of = *rings_;
  std::size_t n = 0;
  while (n < counts_[slot] && (!timed_ || of.times[of.place(slot, n)] == long_ago)) ++n;
  return n;
}

// Rebuilds sorted numbers and incremental columns from the rings.
void PointsView::rebuild() {
  const Rings& of = *rings_;
  sorted_.clear();
  kept_.clear(of.rings.size());
  for (Slot slot = 0; slot < of.rings.size(); ++slot) {
    if (counts_[slot] == 0) continue;
    for (std::size_t n = 0; order_ && n < counts_[slot]; ++n) sorted_.insert(slot, of.values[of.place(slot, n)]);
    kept_.changed(slot);
  }
}

void PointsView::save(Writer& out) const {
  out(1, cursor);
  out.later([lent = rings_.lend()](Writer& of) { lent->save(of); });
}

// A snapshot holds places member by member.
void PointsView::Rings::save(Writer& out) const {
  const auto by_member = [this](const auto& all) {
    std::decay_t<decltype(all)> to;
    to.reserve(all.empty() ? 0 : rings.size() * capacity);
    for (Slot slot = 0; slot < rings.size() && !all.empty(); ++slot)
      for (std::size_t at = 0; at < capacity; ++at) to.push_back(all[index(slot, at)]);
    return to;
  };
  out(2, capacity);
  pack_columns(out, 6, rings, &Ring::next, &Ring::held);
  pack(out, 7, by_member(values)), pack(out, 8, by_member(times));
}

void PointsView::Rings::load(Reader& in, std::size_t most, bool timed) {
  in(2, capacity), in(3, rings), in(4, values), in(5, times);  // of format 3
  unpack_columns(in, 6, rings, &Ring::next, &Ring::held);
  unpack(in, 7, values), unpack(in, 8, times);
  capacity = std::clamp<std::size_t>(capacity, 1, most);
  const bool fits =
      values.size() == rings.size() * capacity && times.size() == (timed ? values.size() : 0) &&
      std::all_of(rings.begin(), rings.end(), [&](const Ring& r) { return r.next < capacity && r.held <= capacity; });
  if (!fits) rings.clear(), values.clear(), times.clear();
  const auto by_eight = [this](auto& all) {
    std::decay_t<decltype(all)> to(all.empty() ? 0 : places());
    for (Slot slot = 0; slot < rings.size() && !all.empty(); ++slot)
      for (std::size_t at = 0; at < capacity; ++at) to[index(slot, at)] = all[slot * capacity + at];
    all = std::move(to);
  };
  by_eight(values), by_eight(times);
}

void PointsView::load(Reader& in) {
  in(1, cursor);
  rings_.own().load(in, full(), timed_);
  counts_.assign(rings_->rings.size(), 0);
  for (std::size_t slot = 0; slot < counts_.size(); ++slot)
    if (rings_->rings[slot].held > spec_.lag_points) counts_[slot] = rings_->rings[slot].held - spec_.lag_points;
  rebuild();
}

void PointsView::adopt(PointsView& old) {
  cursor = old.cursor;
  rings_ = std::move(old.rings_);
  counts_ = std::move(old.counts_);
  if (timed_ != old.timed_) {
    Rings& of = rings_.own();
    of.times.clear();
    if (timed_) of.times.resize(of.values.size(), long_ago);
  }
  if (order_ != old.order_ || !kept_.adopt(old.kept_)) return rebuild();
  sorted_ = std::move(old.sorted_);
}

void AttemptView::adopt(AttemptView& old, RowNumber newest, std::uint64_t taken) {
  const bool kept = accumulators.own().adopt(old.accumulators.own());
  cursor = kept ? old.cursor : taken;
  through = kept ? old.through : newest;
}

std::size_t PointsView::retained_bytes() const noexcept {
  const Rings& of = *rings_;
  return sorted_.retained_bytes() + kept_.retained_bytes() + of.rings.capacity() * sizeof(Rings::Ring) +
         counts_.capacity() * sizeof(std::uint32_t) + of.values.capacity() * sizeof(double) +
         of.times.capacity() * sizeof(Time);
}

std::size_t PointsView::retained_samples() const noexcept {
  std::size_t samples = 0;
  for (const Rings::Ring& ring : rings_->rings) samples += ring.held;
  return samples;
}

bool Points::applied_step(double step) const noexcept {
  return std::find(steps_.begin(), steps_.end(), step) != steps_.end();
}

void Points::remember_step(double step) {
  if (steps_.size() == remembered_steps) steps_.erase(steps_.begin());
  steps_.push_back(step);
}

bool Points::add(Entry entry, Time clock) {
  entry.late = clock != long_ago && clock >= entry.at + lateness_;
  if (entry.late) entry.at = clock;
  ReorderBuffer<Entry>& pending = pending_.own();
  if (!is_number(entry.step)) {
    pending.push(entry);
    return !entry.late;
  }
  if (applied_step(entry.step)) return true;
  const Entry* same = pending.find([&](const Entry& e) { return e.step == entry.step; });
  if (same == nullptr) {
    pending.push(entry);
    return !entry.late;
  }
  // The same whichever of the two came first, as long as both are pending.
  const auto rank = [](const Entry& e) { return std::tuple{e.reporter, e.at, e.order()}; };
  if (!same->late && !entry.late && rank(entry) < rank(*same)) {
    pending.erase(same);
    pending.push(entry);
  }
  return true;
}

Point Points::apply_first() {
  const Entry entry = pending_.own().pop();
  if (is_number(entry.step)) remember_step(entry.step);
  const Point point{entry.at, entry.slot, entry.value};
  log_.own().push_back(point);
  return point;
}

void Points::advance(PointsView& view, Time to) {
  for (view.cursor = std::max(view.cursor, base_); view.cursor < taken_through(); ++view.cursor) {
    const auto at = static_cast<std::size_t>(view.cursor - base_);
    const Point& point = (*log_)[at];
    if (point.at > to) break;
    view.add(point);
  }
}

void Points::advance(AttemptView& view, Time to) {
  for (view.cursor = std::max(view.cursor, base_); view.cursor < taken_through(); ++view.cursor) {
    const Point& point = (*log_)[static_cast<std::size_t>(view.cursor - base_)];
    if (point.at > to) break;
    view.accumulators.own().add(point.slot, point.at, point.value);
  }
}

void Points::trim() {
  std::uint64_t least = taken_through();
  for (const auto& view : windows) least = std::min(least, view.cursor);
  for (const auto& view : attempts) least = std::min(least, view.cursor);
  for (; base_ < least; ++base_) log_.own().pop_front();
}

void Points::save(Writer& out) const {
  out.later([pending = pending_.lend(), log = log_.lend()](Writer& of) {
    pack_columns(of, 6, pending->items(), &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence,
                 &Entry::producer, &Entry::value, &Entry::step, &Entry::late, &Entry::number);
    pack_columns(of, 7, *log, &Point::at, &Point::slot, &Point::value);
  });
  out(4, base_), out(5, steps_);
}

void Points::load(Reader& in) {
  std::vector<Entry> items;
  in.columns(1, items, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer, &Entry::value,
             &Entry::step, &Entry::late, &Entry::number);
  Queue<Point>& log = log_.own();
  in.columns(3, log, &Point::at, &Point::slot, &Point::value);  // these of format 3
  unpack_columns(in, 6, items, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer,
                 &Entry::value, &Entry::step, &Entry::late, &Entry::number);
  unpack_columns(in, 7, log, &Point::at, &Point::slot, &Point::value);
  in(4, base_), in(5, steps_);
  const auto possible = [](const auto& point) { return point.slot < Topology::most_slots; };
  if (!std::all_of(log.begin(), log.end(), possible) || !std::all_of(items.begin(), items.end(), possible))
    return log.clear(), in.fail("a point is of a member that cannot be");
  pending_.own().restore(std::move(items));
}

void Points::adopt(Points& old) {
  pending_ = std::move(old.pending_);
  log_ = std::move(old.log_);
  base_ = old.base_;
  steps_ = std::move(old.steps_);
}

std::size_t Points::retained_bytes() const noexcept {
  std::size_t bytes = pending_->size() * sizeof(Entry) + log_->size() * sizeof(Point);
  for (const auto& view : windows) bytes += view.retained_bytes();
  for (const auto& view : attempts) bytes += view.accumulators->retained_bytes();
  return bytes;
}

std::size_t Points::retained_samples() const noexcept {
  std::size_t samples = pending_->size() + log_->size();
  for (const auto& view : windows) samples += view.retained_samples();
  return samples;
}

}  // namespace tocsin::stream
