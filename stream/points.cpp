#include "stream/points.h"

namespace tocsin::stream {

namespace {
constexpr std::size_t remembered_steps = 64;
}

std::span<const PointsView::Held> PointsView::window(Slot slot) const noexcept {
  if (slot >= rings_.size()) return {};
  const auto& ring = rings_[slot];
  if (ring.size() <= spec_.lag_points) return {};
  const std::size_t end = ring.size() - spec_.lag_points;
  const std::size_t count = std::min<std::size_t>(end, spec_.points);
  return std::span{ring}.subspan(end - count, count);
}

void PointsView::add(const Point& point) {
  if (rings_.size() <= point.slot) rings_.resize(std::max<std::size_t>(point.slot + std::size_t{1}, rings_.size() * 5 / 4));
  auto& ring = rings_[point.slot];
  if (ring.size() >= 2 * room_ + 8) ring.erase(ring.begin(), ring.end() - static_cast<std::ptrdiff_t>(room_));
  ring.push_back({point.at, point.value});
  if (!order_ || ring.size() <= spec_.lag_points) return;
  const std::size_t entering = ring.size() - 1 - spec_.lag_points;
  if (entering >= spec_.points)
    sorted_.replace(point.slot, ring[entering - spec_.points].value, ring[entering].value);
  else
    sorted_.insert(point.slot, ring[entering].value);
}

void PointsView::sort_in(Slot slot) {
  for (const Held& held : window(slot)) sorted_.insert(slot, held.value);
}

void PointsView::save(Writer& out) const {
  out.put(cursor);
  out.put(static_cast<std::uint64_t>(rings_.size()));
  for (const auto& ring : rings_) {
    const std::size_t kept = std::min(ring.size(), room_);
    out.put_all(std::span{ring}.last(kept));
  }
}

void PointsView::load(Reader& in) {
  cursor = in.get<std::uint64_t>();
  rings_.assign(in.get_count(), {});
  sorted_.clear();
  for (Slot slot = 0; slot < rings_.size(); ++slot) {
    rings_[slot] = in.get_all<Held>();
    if (order_) sort_in(slot);
  }
}

void PointsView::take_over(PointsView& old) {
  rings_ = std::move(old.rings_);
  cursor = old.cursor;
  sorted_.clear();
  for (Slot slot = 0; order_ && slot < rings_.size(); ++slot) sort_in(slot);
}

void AttemptView::take_over(AttemptView& old, RowNumber newest, std::uint64_t taken) {
  const bool kept = accumulators.take_over(old.accumulators);
  cursor = kept ? old.cursor : taken;
  through = kept ? old.through : newest;
}

std::size_t PointsView::retained_bytes() const noexcept {
  std::size_t bytes = sorted_.retained_bytes();
  for (const auto& ring : rings_) bytes += sizeof ring + ring.capacity() * sizeof(Held);
  return bytes;
}

std::size_t PointsView::retained_samples() const noexcept {
  std::size_t samples = 0;
  for (const auto& ring : rings_) samples += ring.size();
  return samples;
}

bool Points::applied_step(double step) const noexcept { return std::find(steps_.begin(), steps_.end(), step) != steps_.end(); }

void Points::remember_step(double step) {
  if (steps_.size() == remembered_steps) steps_.erase(steps_.begin());
  steps_.push_back(step);
}

Points::Taken Points::add(Entry entry, Time clock) {
  entry.late = clock != long_ago && clock >= entry.at + lateness_;
  if (entry.late) entry.at = clock;
  const Taken taken = entry.late ? Taken::late : Taken::waits;
  if (!is_number(entry.step)) {
    waiting_.push(entry);
    return taken;
  }
  if (applied_step(entry.step)) return Taken::repeated;
  const Entry* same = waiting_.find([&](const Entry& e) { return e.step == entry.step; });
  if (same == nullptr) {
    waiting_.push(entry);
    return taken;
  }
  // The same whichever of the two came first, as long as both wait.
  const auto rank = [](const Entry& e) { return std::tie(e.reporter, e.at, e.sequence); };
  if (!same->late && !entry.late && rank(entry) < rank(*same)) {
    waiting_.erase(same);
    waiting_.push(entry);
  }
  return Taken::repeated;
}

Point Points::apply_first() {
  const Entry entry = waiting_.pop();
  if (is_number(entry.step)) remember_step(entry.step);
  const Point point{entry.at, entry.slot, entry.value};
  log_.push_back(point);
  return point;
}

void Points::advance(PointsView& view, Time to) {
  for (view.cursor = std::max(view.cursor, base_); view.cursor < taken_through(); ++view.cursor) {
    const Point& point = log_[static_cast<std::size_t>(view.cursor - base_)];
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
  out.put_all(waiting_.items());
  out.put(waiting_.next_order());
  out.put_all(std::vector<Point>(log_.begin(), log_.end()));
  out.put(base_);
  out.put_all(steps_);
}

void Points::load(Reader& in) {
  auto items = in.get_all<Entry>();
  waiting_.restore(std::move(items), in.get<std::uint64_t>());
  const auto log = in.get_all<Point>();
  log_.assign(log.begin(), log.end());
  base_ = in.get<std::uint64_t>();
  steps_ = in.get_all<double>();
}

void Points::take_over(Points& old) {
  waiting_ = std::move(old.waiting_);
  log_ = std::move(old.log_);
  base_ = old.base_;
  steps_ = std::move(old.steps_);
}

std::size_t Points::retained_bytes() const noexcept {
  std::size_t bytes = waiting_.size() * sizeof(Entry) + log_.size() * sizeof(Point);
  for (const auto& view : windows) bytes += view.retained_bytes();
  for (const auto& view : attempts) bytes += view.accumulators.retained_bytes();
  return bytes;
}

std::size_t Points::retained_samples() const noexcept {
  std::size_t samples = waiting_.size() + log_.size();
  for (const auto& view : windows) samples += view.retained_samples();
  return samples;
}

}  // namespace tocsin::stream
