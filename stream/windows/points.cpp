#include "stream/windows/points.h"

#include <cstring>
#include <tuple>

namespace tocsin::stream {

namespace {
constexpr std::size_t remembered_steps = 64;

// Of more, sorting at a tick costs more than what it takes to keep them sorted.
constexpr std::size_t few_points = 128;

}  // namespace

PointsView::PointsView(const WindowSpec& spec, const Demand& demand, bool declared)
    : spec_(&spec),
      order_(declared && demand.order && full() > few_points),
      timed_(!declared || demand.times),
      sorted_(spec.points) {
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
  if (order_) sorted_.widen(members);
  of.values.resize(of.eights());
  if (timed_) of.times.resize(of.eights());
}

void PointsView::Rings::take_room(std::size_t eight, bool timed) {
  const auto widen = [size = capacity * Eights::members](auto& list) { list.reserve(size), list.resize(size); };
  widen(values[eight]);
  if (timed) widen(times[eight]);
}

void PointsView::add(const PointRun& points) {
  const std::size_t end = std::size_t{points.first} + points.count;
  if (counts_.size() < end) widen(std::max(end, counts_.size() * 5 / 4));
  Rings& of = rings_.own();
  const std::size_t eight = Eights::of(points.first);
  if (of.values[eight].empty()) of.take_room(eight, timed_);
  const auto most = static_cast<std::uint32_t>(full());
  for (Slot slot = points.first; slot < end;) {
    if (of.rings[slot].held == of.capacity && of.capacity < most) grow();
    const Rings::Ring before = of.rings[slot];
    const Rings::Ring after{before.next + 1 == of.capacity ? 0 : before.next + 1, std::min(before.held + 1, most)};
    const double leaving = order_ && before.held == most ? of.value(slot, 0) : 0;
    double* const values = of.values[eight].data();
    Time* const times = timed_ ? of.times[eight].data() : nullptr;
    // Members that wrote together have rings that are alike.
    const Slot from = slot;
    do {
      const std::size_t at = Rings::index(slot, before.next);
      values[at] = points.values[slot - points.first];
      if (timed_) times[at] = points.at;
      of.rings[slot++] = after;
    } while (!order_ && slot < end && of.rings[slot] == before);
    if (after.held <= spec_->lag_points) continue;
    std::fill(&counts_[from], &counts_[slot - 1] + 1, after.held - spec_->lag_points);
    kept_.changed(from, slot - from);
    if (!order_) continue;
    const double entering = of.value(from, counts_[from] - 1);
    if (before.held == most) sorted_.replace(from, leaving, entering);
    else sorted_.insert(from, entering);
  }
}

// The windows of the members of an eight. Where they came together, whole rows are copied.
void PointsView::gather(std::size_t eight, EightSeries& to) const {
  const Rings& of = *rings_;
  const Slot first = Eights::first(eight);
  const std::size_t members = Eights::size(eight, of.rings.size());
  std::uint32_t most = 0;
  Slot longest = first;
  for (Slot slot = first; slot < first + members; ++slot)
    if (counts_[slot] > most) most = counts_[slot], longest = slot;
  to.begin(most);
  // The next eight come into the cache while these are sorted.
  if (eight + 1 < of.values.size())
    for (std::size_t i = 0; i < of.values[eight + 1].size(); i += Eights::members)
      __builtin_prefetch(of.values[eight + 1].data() + i);
  bool together = true;
  for (std::size_t m = 0; m < members; ++m) {
    const Rings::Ring &ring = of.rings[first + m], &other = of.rings[longest];
    together = together && (ring.held == 0 || (ring.held == other.held && ring.next == other.next));
  }
  for (std::size_t n = 0; n < most && together; ++n)
    std::memcpy(to.row(n), of.values[eight].data() + of.place(longest, n) * Eights::members,
                Eights::members * sizeof(double));
  for (std::size_t m = 0; m < Eights::members; ++m) {
    const auto slot = static_cast<Slot>(first + m);
    if (together && m < members && counts_[slot] != 0) continue;
    for (std::size_t n = 0; n < most; ++n) to.row(n)[m] = m < members && n < counts_[slot] ? of.value(slot, n) : absent;
  }
  to.end();
}

void PointsView::refresh(std::vector<double>& block) {
  const Rings& all = *rings_;
  EightSeries series{block};
  std::size_t eight = 0;
  const auto each = [&](std::span<double, Eights::members> out, auto&& of) {
    for (std::size_t m = 0; m < Eights::size(eight, all.rings.size()); ++m)
      if (const auto slot = static_cast<Slot>(Eights::first(eight) + m); counts_[slot] != 0) out[m] = of(slot);
  };
  const auto begin = [&](std::size_t number) { gather(eight = number, series); };
  kept_.refresh_eights(begin, [&](Op op, double number, std::span<double, EightSeries::members> out) {
    std::ranges::fill(out, absent);
    if (op == Op::w_count) return each(out, [&](Slot slot) { return static_cast<double>(counts_[slot]); });
    if (op == Op::w_first) return each(out, [&](Slot slot) { return all.value(slot, 0); });
    if (op == Op::w_last) return each(out, [&](Slot slot) { return all.value(slot, counts_[slot] - 1); });
    if (order_ && orders(op))
      return each(out, [&](Slot slot) { return order_statistic(op, sorted_.of(slot), number); });
    series.reduce(op, number, out);
  });
}

// No ring has wrapped around while there is room to grow.
void PointsView::grow() {
  Rings& of = rings_.own();
  constexpr std::size_t few_members = 16;  // whose points are soon copied
  of.capacity = std::min(of.capacity + (of.rings.size() <= few_members ? of.capacity / 8 : of.capacity), full());
  for (std::size_t eight = 0; eight < of.values.size(); ++eight)
    if (!of.values[eight].empty()) of.take_room(eight, timed_);
  for (Rings::Ring& ring : of.rings)
    if (ring.next == 0 && ring.held > 0) ring.next = ring.held;
}

void PointsView::means(std::span<double> out) const {
  std::vector<double> block;
  EightSeries series{block};
  std::array<double, Eights::members> all;
  const std::size_t members = std::min(out.size(), counts_.size());
  for (std::size_t eight = 0; Eights::first(eight) < members; ++eight) {
    gather(eight, series);
    series.reduce(Op::w_mean, 0, all);
    for (std::size_t m = 0; m < Eights::size(eight, members); ++m)
      if (!is_absent(all[m])) out[Eights::first(eight) + m] = all[m];
  }
}

void PointsView::copy(Slot slot, std::size_t from, std::size_t to, std::vector<double>& times,
                      std::vector<double>& values) const {
  const Rings& of = *rings_;
  times.resize(to - from);
  values.resize(to - from);
  const Time first = timed_ && from < to ? of.time(slot, from) : long_ago;  // then no reduction here uses times
  for (std::size_t n = from; n < to; ++n) {
    times[n - from] = first != long_ago ? seconds(of.time(slot, n) - first) : 0;
    values[n - from] = of.value(slot, n);
  }
}

std::size_t PointsView::untimed(Slot slot) const noexcept {
  const Rings& of = *rings_;
  std::size_t n = 0;
  while (n < counts_[slot] && (!timed_ || of.time(slot, n) == long_ago)) ++n;
  return n;
}

// Rebuilds sorted numbers and incremental columns from the rings.
void PointsView::rebuild() {
  const Rings& of = *rings_;
  sorted_.clear();
  kept_.clear(of.rings.size());
  for (Slot slot = 0; slot < of.rings.size(); ++slot) {
    if (counts_[slot] == 0) continue;
    for (std::size_t n = 0; order_ && n < counts_[slot]; ++n) sorted_.insert(slot, of.value(slot, n));
    kept_.changed(slot, 1);
  }
}

std::size_t PointsView::retained_bytes() const noexcept {
  const Rings& of = *rings_;
  std::size_t bytes = sorted_.retained_bytes() + kept_.retained_bytes() + of.rings.capacity() * sizeof(Rings::Ring) +
                      counts_.capacity() * sizeof(std::uint32_t);
  for (const auto& eight : of.values) bytes += sizeof eight + eight.capacity() * sizeof(double);
  for (const auto& eight : of.times) bytes += sizeof eight + eight.capacity() * sizeof(Time);
  return bytes;
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
  ReorderBuffer<Pending>& pending = pending_.own();
  const Pending run{entry};
  if (!is_number(entry.step)) {
    pending.push(run);
    return !entry.late;
  }
  if (applied_step(entry.step)) return true;
  const Pending* same = pending.find([&](const Pending& other) { return other.step == entry.step; });
  if (same == nullptr) {
    pending.push(run);
    return !entry.late;
  }
  // The same whichever of the two came first, as long as both are pending.
  const auto rank = [](const Pending& p) { return std::tuple{p.reporter, p.at, p.order}; };
  if (!same->late && !run.late && rank(run) < rank(*same)) {
    pending.erase(same);
    pending.push(run);
  }
  return true;
}

Time Points::apply_first() {
  const Pending run = pending_.own().pop();
  if (is_number(run.step)) remember_step(run.step);
  log_.own().push_back({run, through_});
  through_ += run.count;
  return run.at;
}

// A view takes whole runs.
template <class View, class Take>
void Points::advance(View& view, Time to, Take&& take) {
  view.cursor = std::max(view.cursor, base_);
  if (view.cursor >= through_) return;
  const Queue<Logged>& log = *log_;
  std::size_t index = 0;  // of the first run that it has not taken
  for (std::size_t high = log.size(); index < high;) {
    const std::size_t middle = (index + high) / 2;
    if (log[middle].before < view.cursor) index = middle + 1;
    else high = middle;
  }
  for (; index < log.size() && log[index].at <= to; ++index) {
    take(log[index]);
    view.cursor += log[index].count;
  }
}

void Points::advance(PointsView& view, Time to) {
  advance(view, to, [&view](const PointRun& run) { view.add(run); });
}

void Points::advance(AttemptView& view, Time to) {
  advance(view, to, [&view](const PointRun& run) {
    Accumulators& accumulators = view.accumulators.own();
    for (std::uint32_t i = 0; i < run.count; ++i) accumulators.add(run.first + i, run.at, run.values[i]);
  });
}

void Points::trim() {
  std::uint64_t least = through_;
  for (const auto& view : windows) least = std::min(least, view.cursor);
  for (const auto& view : attempts) least = std::min(least, view.cursor);
  if (base_ >= least) return;
  Queue<Logged>& log = log_.own();
  while (base_ < least) base_ += log.pop_front().count;
}

Points::Pending::Pending(const Entry& of)
    : PointRun{of.at, of.slot, 1, {of.value}},
      reporter(of.reporter),
      order{of.producer, of.sequence, of.number},
      late(of.late),
      step(of.step) {}

std::size_t Points::retained_bytes() const noexcept {
  std::size_t bytes = pending_->size() * sizeof(Pending) + log_->size() * sizeof(Logged);
  for (const auto& view : windows) bytes += view.retained_bytes();
  for (const auto& view : attempts) bytes += view.accumulators->retained_bytes();
  return bytes;
}

std::size_t Points::retained_samples() const noexcept {
  std::size_t samples = waiting();
  pending_->each([&](const Pending& run) { samples += run.count; });
  for (const auto& view : windows) samples += view.retained_samples();
  return samples;
}

}  // namespace tocsin::stream
