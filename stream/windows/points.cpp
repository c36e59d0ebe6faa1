#include "stream/windows/points.h"

#include <cstring>
#include <tuple>

namespace tocsin::stream {

namespace {
constexpr std::size_t remembered_steps = 64;

// Of more, sorting at a tick costs more than what it takes to keep them sorted.
constexpr std::size_t few_points = 128;

}  // namespace

PointsView::PointsView(WindowSpec spec, const Demand& demand, bool declared)
    : spec_(std::move(spec)),
      capacity_(std::clamp<std::size_t>(full(), 1, 16)),
      order_(declared && demand.order && full() > few_points),
      timed_(!declared || demand.times),
      sorted_(spec_.points) {
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
  rings_.resize(members);
  counts_.resize(members, 0);
  kept_.widen(members);
  values_.resize(places());
  if (timed_) times_.resize(places());
}

void PointsView::add(const Point& point) {
  const Slot slot = point.slot;
  if (rings_.size() <= slot) widen(std::max<std::size_t>(slot + std::size_t{1}, rings_.size() * 5 / 4));
  Ring& ring = rings_[slot];
  if (ring.held == capacity_ && capacity_ < full()) grow();
  const bool full_before = ring.held == full();
  const double leaving = full_before ? values_[place(slot, 0)] : 0;
  const std::size_t at = index(slot, ring.next);
  values_[at] = point.value;
  if (timed_) times_[at] = point.at;
  if (++ring.next == capacity_) ring.next = 0;
  if (!full_before) ++ring.held;
  if (ring.held <= spec_.lag_points) return;
  counts_[slot] = ring.held - spec_.lag_points;
  kept_.changed(slot);
  if (!order_) return;
  const double entering = values_[place(slot, counts_[slot] - 1)];
  if (full_before) sorted_.replace(slot, leaving, entering);
  else sorted_.insert(slot, entering);
}

// The windows of eight members from this one on. Where they came together, whole rows are copied.
void PointsView::gather(std::size_t first, EightSeries& to) const {
  const std::size_t members = std::min(EightSeries::members, rings_.size() - first);
  std::uint32_t most = 0;
  Slot longest = static_cast<Slot>(first);
  for (std::size_t m = 0; m < members; ++m)
    if (counts_[first + m] > most) most = counts_[first + m], longest = static_cast<Slot>(first + m);
  to.begin(most);
  // The next eight come into the cache while these are sorted.
  if (const std::size_t next = (first / EightSeries::members + 1) * stride(); next + stride() <= values_.size())
    for (std::size_t i = 0; i < stride(); i += EightSeries::members) __builtin_prefetch(values_.data() + next + i);
  bool together = true;
  for (std::size_t m = 0; m < members; ++m) {
    const Ring &ring = rings_[first + m], &other = rings_[longest];
    together = together && (ring.held == 0 || (ring.held == other.held && ring.next == other.next));
  }
  for (std::size_t n = 0; n < most && together; ++n)
    std::memcpy(to.row(n), values_.data() + place(longest, n) - longest % EightSeries::members,
                EightSeries::members * sizeof(double));
  for (std::size_t m = 0; m < EightSeries::members; ++m) {
    const auto slot = static_cast<Slot>(first + m);
    if (together && m < members && counts_[slot] != 0) continue;
    for (std::size_t n = 0; n < most; ++n)
      to.row(n)[m] = m < members && n < counts_[slot] ? values_[place(slot, n)] : absent;
  }
  to.end();
}

void PointsView::refresh(std::vector<double>& block) {
  EightSeries series{block};
  std::size_t first = 0;
  const auto each = [&](std::span<double, EightSeries::members> out, auto&& of) {
    for (std::size_t m = 0; m < std::min(out.size(), rings_.size() - first); ++m)
      if (const auto slot = static_cast<Slot>(first + m); counts_[slot] != 0) out[m] = of(slot);
  };
  const auto begin = [&](std::size_t eight) { gather(first = eight * EightSeries::members, series); };
  kept_.refresh_eights(begin, [&](Op op, double number, std::span<double, EightSeries::members> out) {
    std::ranges::fill(out, absent);
    if (op == Op::w_count) return each(out, [&](Slot slot) { return static_cast<double>(counts_[slot]); });
    if (op == Op::w_first) return each(out, [&](Slot slot) { return values_[place(slot, 0)]; });
    if (op == Op::w_last) return each(out, [&](Slot slot) { return values_[place(slot, counts_[slot] - 1)]; });
    if (order_ && orders(op))
      return each(out, [&](Slot slot) { return order_statistic(op, sorted_.of(slot), number); });
    series.reduce(op, number, out);
  });
}

// No ring has wrapped around while there is room to grow.
void PointsView::grow() {
  const std::size_t before = stride();
  capacity_ = std::min(capacity_ * 2, full());
  const auto move = [&](auto& from) {
    std::decay_t<decltype(from)> to(places());
    for (std::size_t eight = 0; eight * before < from.size(); ++eight)
      std::copy_n(from.data() + eight * before, before, to.data() + eight * stride());
    from = std::move(to);
  };
  move(values_);
  if (timed_) move(times_);
  for (Ring& ring : rings_)
    if (ring.next == 0 && ring.held > 0) ring.next = ring.held;
}

void PointsView::means(std::span<double> out) const {
  std::vector<double> block;
  EightSeries series{block};
  std::array<double, EightSeries::members> eight;
  for (std::size_t first = 0; first < std::min(out.size(), rings_.size()); first += eight.size()) {
    gather(first, series);
    series.reduce(Op::w_mean, 0, eight);
    for (std::size_t m = 0; m < eight.size() && first + m < std::min(out.size(), rings_.size()); ++m)
      if (!is_absent(eight[m])) out[first + m] = eight[m];
  }
}

void PointsView::copy(Slot slot, std::size_t from, std::size_t to, std::vector<double>& times,
                      std::vector<double>& values) const {
  times.resize(to - from);
  values.resize(to - from);
  const Time first = timed_ && from < to ? times_[place(slot, from)] : long_ago;  // then no reduction here uses times
  for (std::size_t n = from; n < to; ++n) {
    const std::size_t i = place(slot, n);
    times[n - from] = first != long_ago ? seconds(times_[i] - first) : 0;
    values[n - from] = values_[i];
  }
}

std::size_t PointsView::untimed(Slot slot) const noexcept {
  std::size_t n = 0;
  while (n < counts_[slot] && (!timed_ || times_[place(slot, n)] == long_ago)) ++n;
  return n;
}

// Rebuilds sorted numbers and incremental columns from the rings.
void PointsView::rebuild() {
  sorted_.clear();
  kept_.clear(rings_.size());
  for (Slot slot = 0; slot < rings_.size(); ++slot) {
    if (counts_[slot] == 0) continue;
    for (std::size_t n = 0; order_ && n < counts_[slot]; ++n) sorted_.insert(slot, values_[place(slot, n)]);
    kept_.changed(slot);
  }
}

// A snapshot holds places member by member.
void PointsView::save(Writer& out) const {
  const auto by_member = [this](const auto& all) {
    std::decay_t<decltype(all)> to;
    for (Slot slot = 0; slot < rings_.size() && !all.empty(); ++slot)
      for (std::size_t at = 0; at < capacity_; ++at) to.push_back(all[index(slot, at)]);
    return to;
  };
  out(1, cursor), out(2, capacity_), out(3, rings_), out(4, by_member(values_)), out(5, by_member(times_));
}

void PointsView::load(Reader& in) {
  in(1, cursor), in(2, capacity_), in(3, rings_), in(4, values_), in(5, times_);
  capacity_ = std::clamp<std::size_t>(capacity_, 1, full());
  const bool fits = values_.size() == rings_.size() * capacity_ && times_.size() == (timed_ ? values_.size() : 0) &&
                    std::all_of(rings_.begin(), rings_.end(),
                                [&](const Ring& r) { return r.next < capacity_ && r.held <= capacity_; });
  if (!fits) rings_.clear(), values_.clear(), times_.clear();
  const auto by_eight = [this](auto& all) {
    std::decay_t<decltype(all)> to(all.empty() ? 0 : places());
    for (Slot slot = 0; slot < rings_.size() && !all.empty(); ++slot)
      for (std::size_t at = 0; at < capacity_; ++at) to[index(slot, at)] = all[slot * capacity_ + at];
    all = std::move(to);
  };
  by_eight(values_), by_eight(times_);
  counts_.assign(rings_.size(), 0);
  for (std::size_t slot = 0; slot < rings_.size(); ++slot)
    if (rings_[slot].held > spec_.lag_points) counts_[slot] = rings_[slot].held - spec_.lag_points;
  rebuild();
}

void PointsView::adopt(PointsView& old) {
  cursor = old.cursor;
  capacity_ = old.capacity_;
  rings_ = std::move(old.rings_);
  counts_ = std::move(old.counts_);
  values_ = std::move(old.values_);
  if (timed_) times_ = std::move(old.times_), times_.resize(values_.size(), long_ago);
  if (order_ != old.order_ || !kept_.adopt(old.kept_)) return rebuild();
  sorted_ = std::move(old.sorted_);
}

void AttemptView::adopt(AttemptView& old, RowNumber newest, std::uint64_t taken) {
  const bool kept = accumulators.adopt(old.accumulators);
  cursor = kept ? old.cursor : taken;
  through = kept ? old.through : newest;
}

std::size_t PointsView::retained_bytes() const noexcept {
  return sorted_.retained_bytes() + kept_.retained_bytes() + rings_.capacity() * sizeof(Ring) +
         counts_.capacity() * sizeof(std::uint32_t) + values_.capacity() * sizeof(double) +
         times_.capacity() * sizeof(Time);
}

std::size_t PointsView::retained_samples() const noexcept {
  std::size_t samples = 0;
  for (const Ring& ring : rings_) samples += ring.held;
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
  if (!is_number(entry.step)) {
    pending_.push(entry);
    return !entry.late;
  }
  if (applied_step(entry.step)) return true;
  const Entry* same = pending_.find([&](const Entry& e) { return e.step == entry.step; });
  if (same == nullptr) {
    pending_.push(entry);
    return !entry.late;
  }
  // The same whichever of the two came first, as long as both are pending.
  const auto rank = [](const Entry& e) { return std::tuple{e.reporter, e.at, e.order()}; };
  if (!same->late && !entry.late && rank(entry) < rank(*same)) {
    pending_.erase(same);
    pending_.push(entry);
  }
  return true;
}

Point Points::apply_first() {
  const Entry entry = pending_.pop();
  if (is_number(entry.step)) remember_step(entry.step);
  const Point point{entry.at, entry.slot, entry.value};
  log_.push_back(point);
  return point;
}

void Points::advance(PointsView& view, Time to) {
  for (view.cursor = std::max(view.cursor, base_); view.cursor < taken_through(); ++view.cursor) {
    const auto at = static_cast<std::size_t>(view.cursor - base_);
    const Point& point = log_[at];
    if (point.at > to) break;
    view.add(point);
  }
}

void Points::advance(AttemptView& view, Time to) {
  for (view.cursor = std::max(view.cursor, base_); view.cursor < taken_through(); ++view.cursor) {
    const Point& point = log_[static_cast<std::size_t>(view.cursor - base_)];
    if (point.at > to) break;
    view.accumulators.add(point.slot, point.at, point.value);
  }
}

void Points::trim() {
  std::uint64_t least = taken_through();
  for (const auto& view : windows) least = std::min(least, view.cursor);
  for (const auto& view : attempts) least = std::min(least, view.cursor);
  for (; base_ < least; ++base_) log_.pop_front();
}

void Points::save(Writer& out) const {
  out.columns(1, pending_.items(), &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer,
              &Entry::value, &Entry::step, &Entry::late, &Entry::number);
  out.columns(3, log_, &Point::at, &Point::slot, &Point::value);
  out(4, base_), out(5, steps_);
}

void Points::load(Reader& in) {
  std::vector<Entry> items;
  in.columns(1, items, &Entry::at, &Entry::slot, &Entry::reporter, &Entry::sequence, &Entry::producer, &Entry::value,
             &Entry::step, &Entry::late, &Entry::number);
  in.columns(3, log_, &Point::at, &Point::slot, &Point::value);
  in(4, base_), in(5, steps_);
  const auto possible = [](const auto& point) { return point.slot < Topology::most_slots; };
  if (!std::all_of(log_.begin(), log_.end(), possible) || !std::all_of(items.begin(), items.end(), possible))
    return log_.clear(), in.fail("a point is of a member that cannot be");
  pending_.restore(std::move(items));
}

void Points::adopt(Points& old) {
  pending_ = std::move(old.pending_);
  log_ = std::move(old.log_);
  base_ = old.base_;
  steps_ = std::move(old.steps_);
}

std::size_t Points::retained_bytes() const noexcept {
  std::size_t bytes = pending_.size() * sizeof(Entry) + log_.size() * sizeof(Point);
  for (const auto& view : windows) bytes += view.retained_bytes();
  for (const auto& view : attempts) bytes += view.accumulators.retained_bytes();
  return bytes;
}

std::size_t Points::retained_samples() const noexcept {
  std::size_t samples = pending_.size() + log_.size();
  for (const auto& view : windows) samples += view.retained_samples();
  return samples;
}

}  // namespace tocsin::stream
