#include "stream/windows/points.h"

#include <limits>
#include <tuple>

namespace tocsin::stream {

namespace {
constexpr std::size_t remembered_steps = 64;

// The least or greatest number, or the initial value. Four at a time, because each comparison depends on the one before
// it.
template <bool least>
double extreme_from(double begin, std::span<const double> values) {
  const auto better = [](double value, double than) { return (least ? value < than : value > than) ? value : than; };
  double a = begin, b = begin, c = begin, d = begin;
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    a = better(values[i], a), b = better(values[i + 1], b);
    c = better(values[i + 2], c), d = better(values[i + 3], d);
  }
  for (; i < values.size(); ++i) a = better(values[i], a);
  return better(better(a, b), better(c, d));
}

// The extreme of both; absent if there is no number.
double extreme_of(bool least, std::span<const double> first, std::span<const double> second) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double none = least ? infinity : -infinity;
  const double extreme = least ? extreme_from<true>(extreme_from<true>(none, first), second)
                               : extreme_from<false>(extreme_from<false>(none, first), second);
  const auto any = [](std::span<const double> values) {
    return std::any_of(values.begin(), values.end(), [](double x) { return is_number(x); });
  };
  return extreme != none || any(first) || any(second) ? extreme + 0.0 : absent;  // one zero
}
}  // namespace

PointsView::PointsView(WindowSpec spec, const Demand& demand, bool declared)
    : spec_(std::move(spec)),
      capacity_(std::clamp<std::size_t>(full(), 1, 16)),
      order_(declared && demand.order),
      timed_(!declared || demand.times),
      sorted_(spec_.points) {
  if (!declared) return;
  for (const Reduction& reduction : demand.reductions) {
    const bool single = (reduction.op == Op::w_first || reduction.op == Op::w_last) && reduction.number <= 1;
    const bool extreme = reduction.op == Op::w_min || reduction.op == Op::w_max;
    if (single || extreme || reduction.op == Op::w_count || orders(reduction.op)) kept_.keep(reduction);
  }
}

void PointsView::add(const Point& point) {
  const Slot slot = point.slot;
  if (rings_.size() <= slot) {
    const std::size_t members = std::max<std::size_t>(slot + std::size_t{1}, rings_.size() * 5 / 4);
    rings_.resize(members);
    counts_.resize(members, 0);
    values_.resize(members * capacity_);
    if (timed_) times_.resize(members * capacity_);
    kept_.widen(members);
  }
  Ring& ring = rings_[slot];
  if (ring.held == capacity_ && capacity_ < full()) grow();
  const bool full_before = ring.held == full();
  const double leaving = full_before ? values_[place(slot, 0)] : 0;
  const std::size_t at = slot * capacity_ + ring.next;
  values_[at] = point.value;
  if (timed_) times_[at] = point.at;
  if (++ring.next == capacity_) ring.next = 0;
  if (!full_before) ++ring.held;
  if (ring.held <= spec_.lag_points) return;
  counts_[slot] = ring.held - spec_.lag_points;
  const double entering = values_[place(slot, counts_[slot] - 1)];
  if (order_) {
    if (full_before) sorted_.replace(slot, leaving, entering);
    else sorted_.insert(slot, entering);
  }
  kept_.changed(slot);
}

double PointsView::extreme(Op op, Slot slot) const {
  const Pieces at = pieces(slot);
  const std::span<const double> all{values_};
  return extreme_of(op == Op::w_min, all.subspan(at.first, at.first_count), all.subspan(at.second, at.second_count));
}

void PointsView::refresh() {
  kept_.refresh([&](Slot slot, Op op, double number) {
    switch (op) {
      case Op::w_min:
      case Op::w_max: return extreme(op, slot);
      case Op::w_count: return static_cast<double>(counts_[slot]);
      case Op::w_first: return values_[place(slot, 0)];
      case Op::w_last: return values_[place(slot, counts_[slot] - 1)];
      default: return order_statistic(op, sorted_.of(slot), number);
    }
  });
}

// Rebuilds the rings, oldest point first, so that none wraps around.
void PointsView::grow() {
  const std::size_t wider = std::min(capacity_ * 2, full());
  const auto move = [&](auto& from) {
    std::decay_t<decltype(from)> to(rings_.size() * wider);
    for (std::size_t slot = 0; slot < rings_.size(); ++slot)
      std::copy_n(from.data() + slot * capacity_, rings_[slot].held, to.data() + slot * wider);
    from = std::move(to);
  };
  move(values_);
  if (timed_) move(times_);
  for (Ring& ring : rings_)
    if (ring.next == 0 && ring.held == capacity_) ring.next = ring.held;
  capacity_ = wider;
}

PointsView::Pieces PointsView::pieces(Slot slot) const noexcept {
  const std::size_t count = slot < counts_.size() ? counts_[slot] : 0;
  if (count == 0) return {};
  const std::size_t first = place(slot, 0), before_end = std::min(count, (slot + std::size_t{1}) * capacity_ - first);
  return {first, before_end, slot * capacity_, count - before_end};
}

template <class Each>
void PointsView::each(Slot slot, Each&& see) const {
  const Pieces at = pieces(slot);
  for (std::size_t i = at.first; i < at.first + at.first_count; ++i) see(i);
  for (std::size_t i = at.second; i < at.second + at.second_count; ++i) see(i);
}

void PointsView::fold(Op op, std::uint32_t least, std::span<double> out) const {
  const std::size_t members = std::min(out.size(), counts_.size());
  const std::span<const double> all{values_};
  for (Slot slot = 0; slot < members; ++slot) {
    if (counts_[slot] == 0 || counts_[slot] < least) continue;
    if (op == Op::w_min || op == Op::w_max) {
      if (const double found = extreme(op, slot); is_number(found)) out[slot] = found;
      continue;
    }
    const Pieces at = pieces(slot);
    LaneSum sum;
    sum.add(all.subspan(at.first, at.first_count));
    sum.add(all.subspan(at.second, at.second_count));
    if (sum.numbers() == 0) continue;
    out[slot] = canonical(op == Op::w_mean ? sum.value() / static_cast<double>(sum.numbers()) : sum.value());
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
    if (order_) each(slot, [&](std::size_t i) { sorted_.insert(slot, values_[i]); });
    kept_.changed(slot);
  }
}

void PointsView::fields(auto& self, auto& archive) {
  archive(1, self.cursor), archive(2, self.capacity_), archive(3, self.rings_), archive(4, self.values_),
      archive(5, self.times_);
}
void PointsView::save(Writer& out) const { fields(*this, out); }

void PointsView::load(Reader& in) {
  fields(*this, in);
  capacity_ = std::clamp<std::size_t>(capacity_, 1, full());
  const bool fits = values_.size() == rings_.size() * capacity_ && times_.size() == (timed_ ? values_.size() : 0) &&
                    std::all_of(rings_.begin(), rings_.end(),
                                [&](const Ring& r) { return r.next < capacity_ && r.held <= capacity_; });
  if (!fits) rings_.clear(), values_.clear(), times_.clear();
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
    if (at + prefetch_ahead < log_.size()) view.prefetch(log_[at + prefetch_ahead].slot);
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
