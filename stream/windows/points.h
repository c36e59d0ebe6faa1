#pragma once

#include <array>
#include <span>
#include <vector>

#include "stream/graph/time_range.h"
#include "stream/values/copy_on_write.h"
#include "stream/windows/accumulators.h"
#include "stream/windows/eight_series.h"
#include "stream/windows/incremental_aggregates.h"
#include "stream/windows/order_statistics.h"
#include "stream/windows/queue.h"
#include "stream/windows/record_order.h"
#include "stream/windows/reorder_buffer.h"
#include "stream/windows/rows.h"

namespace tocsin::stream {

// What members whose slots follow each other have at one time, within an eight.
struct PointRun {
  Time at{};
  Slot first = 0;
  std::uint32_t count = 0;
  std::array<double, Eights::members> values{};
};

// One window of the last n points: a ring per member, as of the T that it was advanced to. What is declared of it is
// computed when a tick asks, of eight members at once.
class PointsView {
 public:
  // `spec` outlives it.
  PointsView(const WindowSpec& spec, const Demand& demand, bool declared);

  void add(const PointRun& points);
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *spec_; }
  // Brings the maintained reductions up to the points that were added. Called before a reduction. `block`: memory that
  // it may use.
  void refresh(std::vector<double>& block);
  // The number of points in each member's window.
  [[nodiscard]] std::span<const std::uint32_t> counts() const noexcept { return counts_; }
  // Null: the reduction was not declared, or is not one that is maintained incrementally.
  [[nodiscard]] const std::vector<double>* kept(Op op, double number) const noexcept { return kept_.find(op, number); }
  // The mean of each member's window; `out` keeps its value where the window holds no number.
  void means(std::span<double> out) const;
  // How many of the member's window came before the times of points were asked for: no reduction that uses times
  // counts them.
  [[nodiscard]] std::size_t untimed(Slot slot) const noexcept;
  // The points [from, to) of the member's window, oldest first; times in seconds from the first of them, or all 0.
  void copy(Slot slot, std::size_t from, std::size_t to, std::vector<double>& times, std::vector<double>& values) const;

  std::uint64_t cursor = 0;  // how many of the signal's points it has taken

  void adopt(PointsView& old);
  void save(Writer& out) const;
  void load(Reader& in);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  // What a section holds of it.
  struct Rings {
    std::size_t capacity = 0;  // points per member, at most those of the window
    struct Ring {
      std::uint32_t next = 0, held = 0;  // the index of the next point; the number of points
      friend bool operator==(const Ring&, const Ring&) = default;
    };
    std::vector<Ring> rings;
    std::vector<std::vector<double>> values;  // [eight][place in the rings][member]; an eight without points is empty
    std::vector<std::vector<Time>> times;     // the same if a reduction uses them, else empty

    [[nodiscard]] std::size_t eights() const noexcept {
      return rings.empty() ? 0 : Eights::of(static_cast<Slot>(rings.size() - 1)) + 1;
    }
    // Of a place of a member's ring.
    [[nodiscard]] static std::size_t index(Slot slot, std::size_t at) noexcept {
      return at * Eights::members + Eights::place(slot);
    }
    // The place of a member's n-th oldest point.
    [[nodiscard]] std::size_t place(Slot slot, std::size_t n) const noexcept {
      const Ring& ring = rings[slot];
      const std::size_t at = ring.next + capacity - ring.held + n;
      return at < capacity ? at : at - capacity;
    }
    [[nodiscard]] double value(Slot slot, std::size_t n) const noexcept {
      return values[Eights::of(slot)][index(slot, place(slot, n))];
    }
    [[nodiscard]] Time time(Slot slot, std::size_t n) const noexcept {
      return times[Eights::of(slot)][index(slot, place(slot, n))];
    }
    void take_room(std::size_t eight, bool timed);
    void save(Writer& out) const;
    void load(Reader& in, std::size_t most, bool timed);
  };
  [[nodiscard]] std::size_t full() const noexcept { return std::size_t{spec_->points} + spec_->lag_points; }
  void widen(std::size_t members);
  void grow();
  void gather(std::size_t eight, EightSeries& to) const;
  void rebuild();

  const WindowSpec* spec_;
  bool order_, timed_;  // order_: so many points that their order is kept
  CopyOnWrite<Rings> rings_;
  std::vector<std::uint32_t> counts_;
  SortedColumns<double> sorted_;  // the windows' numbers
  IncrementalAggregates kept_;
};

// The window "attempt" of a signal that counts points.
struct AttemptView {
  const WindowSpec* window;
  CopyOnWrite<Accumulators> accumulators;
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *window; }
  std::uint64_t cursor = 0;                                   // of points: how many were taken
  RowNumber through = std::numeric_limits<RowNumber>::min();  // of rows: the last that was taken

  void save(Writer& out) const {
    out.object(1, [this](Writer& of) { of.later([lent = accumulators.lend()](Writer& in) { lent->save(in); }); });
    out(2, cursor), out(3, through);
  }
  void load(Reader& in) { in(1, accumulators.own()), in(2, cursor), in(3, through); }

  // Continues the accumulators of another pack's history if it kept the same. Otherwise these start after row `newest`
  // and point `taken`.
  void adopt(AttemptView& old, RowNumber newest, std::uint64_t taken);
};

// The points of one signal: pending ones, those that were applied but not yet seen by every window, and the windows.
// Owned by its signal's History entry.
class Points {
 public:
  struct Entry {
    Time at{};
    Slot slot = 0, reporter = 0;
    std::uint64_t producer = 0, sequence = 0;
    std::uint32_t number = 0;
    bool late = false;  // it was applied when read: nothing replaces it
    double value = 0;
    double step = absent;
  };

  explicit Points(Duration lateness) : lateness_(lateness) {}

  // If `step` is not absent, one value per step is kept: the lowest reporter's of those that are pending together.
  // False: the value is applied, but came late.
  bool add(Entry entry, Time clock);
  // The same for many members at one time, whose values belong to no step. Returns how many were late.
  template <class V>
  std::size_t add(std::span<const Slot> slots, Time at, std::span<const V> values, const RecordOrder& order,
                  Time clock) {
    const bool late = clock != long_ago && clock >= at + lateness_;
    ReorderBuffer<Pending>& pending = pending_.own();
    for (std::size_t i = 0; i < slots.size();) {
      Pending run{{late ? clock : at, slots[i], 0, {}}, order.after(i), late};
      const std::size_t eight = Eights::of(slots[i]);
      do run.values[run.count++] = static_cast<double>(values[i++]);
      while (i < slots.size() && slots[i] == slots[i - 1] + 1 && Eights::of(slots[i]) == eight);
      pending.push(run);
    }
    return late ? slots.size() : 0;
  }
  [[nodiscard]] Time next_due() const noexcept { return pending_->empty() ? never : pending_->first().at + lateness_; }
  template <class OnApplied>  // of the time of each run
  void apply(Time clock, OnApplied&& on_applied) {
    while (next_due() <= clock) on_applied(apply_first());
  }
  // Each view takes what was applied with T up to `to`.
  void advance(PointsView& view, Time to);
  void advance(AttemptView& view, Time to);
  // Drops what every view has taken.
  void trim();

  std::vector<PointsView> windows;
  std::vector<AttemptView> attempts;

  [[nodiscard]] std::uint64_t taken_through() const noexcept { return through_; }
  [[nodiscard]] std::size_t waiting() const noexcept {  // not yet taken by every view
    return static_cast<std::size_t>(through_ - base_);
  }
  void save(Writer& out) const;  // what is pending and what was applied; views are saved by name
  void load(Reader& in);
  void adopt(Points& old);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  struct Pending : PointRun {
    Slot reporter = 0;
    RecordOrder order;  // of the first value; the others follow it
    bool late = false;
    double step = absent;  // of one value

    Pending() = default;
    Pending(const PointRun& run, const RecordOrder& of, bool came_late) : PointRun{run}, order(of), late(came_late) {}
    explicit Pending(const Entry& of);
    [[nodiscard]] Entry entry(std::uint32_t i) const noexcept;
    // A member has all its points in one eight, and two runs give it values in this order.
    [[nodiscard]] bool after(const Pending& other) const noexcept {
      if (at != other.at) return at > other.at;
      const std::size_t mine = Eights::of(first), its = Eights::of(other.first);
      if (mine != its) return mine > its;
      if (order.producer != other.order.producer) return order.producer > other.order.producer;
      if (order.sequence != other.order.sequence) return order.sequence > other.order.sequence;
      const std::int64_t number = std::int64_t{order.number} - first,
                         its_number = std::int64_t{other.order.number} - other.first;
      return number != its_number ? number > its_number : first > other.first;
    }
  };
  struct Logged : PointRun {
    std::uint64_t before = 0;  // the number of points before it
  };
  Time apply_first();
  template <class View, class Take>
  void advance(View& view, Time to, Take&& take);
  [[nodiscard]] bool applied_step(double step) const noexcept;
  void remember_step(double step);

  Duration lateness_;
  CopyOnWrite<ReorderBuffer<Pending>> pending_;
  CopyOnWrite<Queue<Logged>> log_;        // ascending in T
  std::uint64_t base_ = 0, through_ = 0;  // the number of points before log_, and with it
  std::vector<double> steps_;  // the last 64 that were applied: after a restart at a much lower step the count is new
};

}  // namespace tocsin::stream
