#pragma once

#include <deque>
#include <vector>

#include "stream/accumulators.h"
#include "stream/extent.h"
#include "stream/order_statistics.h"
#include "stream/rows.h"
#include "stream/waiting.h"

namespace tocsin::stream {

struct Point {
  Time at{};
  Slot slot = 0;
  double value = 0;
};

// One window of the last n points, per member: its own ring, as of the T that it was advanced to.
class PointsView {
 public:
  PointsView(WindowSpec spec, bool order)
      : spec_(std::move(spec)), room_(std::size_t{spec_.points} + spec_.lag_points + 1), order_(order), sorted_(std::min<std::size_t>(spec_.points, 16)) {}

  void add(const Point& point);
  [[nodiscard]] const WindowSpec& spec() const noexcept { return spec_; }
  struct Held { Time at; double value; };
  [[nodiscard]] std::span<const Held> window(Slot slot) const noexcept;
  // The window's numbers, ascending; only where order statistics are kept up.
  [[nodiscard]] bool ordered() const noexcept { return order_; }
  [[nodiscard]] std::span<const double> sorted(Slot slot) const noexcept { return sorted_.of(slot); }

  std::uint64_t cursor = 0;   // how many of the signal's points it has taken

  void take_over(PointsView& old);
  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  void sort_in(Slot slot);
  WindowSpec spec_;
  std::size_t room_;
  bool order_;
  std::vector<std::vector<Held>> rings_;   // per member, oldest first; cut back when twice as long as needed
  SortedColumns<double> sorted_;
};

// The window "attempt" of a signal that counts points.
struct AttemptView {
  WindowSpec spec;
  Accumulators accumulators;
  std::uint64_t cursor = 0;    // of points: how many were taken
  RowNumber through = std::numeric_limits<RowNumber>::min();   // of rows: the last that was taken

  // The accumulators of another pack's history, if they were asked for the same; else these begin after what there is: row `newest`,
  // point `taken`.
  void take_over(AttemptView& old, RowNumber newest, std::uint64_t taken);
};

// The points of one signal: those that wait, those that were applied and not yet seen by every window, and the windows.
// Owned by its signal's History entry.
class Points {
 public:
  struct Entry {
    Time at{};
    Slot slot = 0, reporter = 0;
    std::uint64_t sequence = 0, order = 0;
    double value = 0;
    double step = absent;
    bool late = false;        // was applied when read: nothing takes its place
  };
  enum class Taken : std::uint8_t { waits, late, repeated };

  explicit Points(Duration lateness) : lateness_(lateness) {}

  // `step` other than absent: one value a step is kept, the lowest reporter's of those that wait together.
  Taken add(Entry entry, Time clock);
  [[nodiscard]] Time next_due() const noexcept { return waiting_.empty() ? never : waiting_.first().at + lateness_; }
  template <class Told>
  void apply(Time clock, Told&& told) {
    while (next_due() <= clock) told(apply_first());
  }
  template <class Told>
  void apply_until(Time at, Told&& told) {
    while (!waiting_.empty() && waiting_.first().at <= at) told(apply_first());
  }
  // Each view takes what was applied with T up to `to`.
  void advance(PointsView& view, Time to);
  void advance(AttemptView& view, Time to);
  // Forgets what every view has taken.
  void trim();

  std::vector<PointsView> windows;
  std::vector<AttemptView> attempts;

  [[nodiscard]] std::uint64_t taken_through() const noexcept { return base_ + log_.size(); }
  void save(Writer& out) const;      // what waits and what was applied; the views are saved by name
  void load(Reader& in);
  void take_over(Points& old);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  Point apply_first();
  [[nodiscard]] bool applied_step(double step) const noexcept;
  void remember_step(double step);

  Duration lateness_;
  Waiting<Entry> waiting_;
  std::deque<Point> log_;        // ascending in T
  std::uint64_t base_ = 0;       // how many points came before log_
  std::vector<double> steps_;    // the last 64 that were applied: a step count that restarts much lower is new
};

}  // namespace tocsin::stream
