#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/value.h"
#include "stream/windows/record_order.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// A point or an event when it takes its place in the windows: what a record tick is made of. `at` is its T: its time where it
// waited for its turn, the clock where it came too late for that.
struct Applied {
  SignalId signal;
  Slot slot;
  Time at;
};

// An event's field: a number, or a text's symbol.
struct EventField {
  std::string_view name;
  double value;
};

// When the windows are looked at.
struct Moment {
  Time tick{};  // T: closed rows and applied records up to it are seen
  Time now{};   // T + L: ages count to it
  Time attempt_start{};
  Time attempt_end = never;  // E: ages stop there
};

// What one attempt retains of the signals that its pack's windows ask for, no more and for no longer: open rows that merge, closed
// rows, panes, points, events, accumulators since the start, and order statistics kept up as values arrive. Reductions read it as
// of a tick: what was closed or applied later than T is not seen, although it may be here already.
// Owned by its Attempt; says what is written, and knows no rule.
class History {
 public:
  // `reductions` are the graph's nodes that reduce windows (Op w_*): they decide what is kept, and which order statistics are kept
  // up. Of `open` windows, those of scripted rules, any reduction may be asked: what is not kept up is computed from what is retained,
  // with the same result.
  // `symbol` gives the number of a text that a filter names, absent where no record ever said it.
  History(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows, const Topology& topology,
          std::function<double(std::string_view)> symbol = {}, std::span<const NodeId> open = {});
  ~History();
  History(History&&) noexcept;

  [[nodiscard]] bool wants(SignalId signal) const noexcept;

  enum class Write : std::uint8_t { taken, late, unwanted };
  // `time` is min(event time, arrival), corrected by the caller. A late sample is not merged, but proves life. `step` is the step
  // that a job-owned signal's value belongs to (loss): of several ranks the lowest's is kept, and one value a step.
  // `order`: of points, that of the first value; those behind it follow.
  Write sample(SignalId signal, Slot slot, Time time, double value, Time arrival, const RecordOrder& order, double step = absent,
               Slot reporter = reserved_slot);
  // The same for one signal of many members at one time and arrival: the hot path. slots and values have the same length; none of the
  // values is absent. Not for points that the job owns, which belong to a step. How many were late.
  std::size_t samples(SignalId signal, std::span<const Slot> slots, Time time, std::span<const float> values, Time arrival,
                      const RecordOrder& order);
  std::size_t samples(SignalId signal, std::span<const Slot> slots, Time time, std::span<const double> values, Time arrival,
                      const RecordOrder& order);
  // One member's values of many signals at one time and arrival, none of them absent.
  struct Value {
    SignalId signal;
    Slot slot;
    float value;
  };
  std::size_t samples(std::span<const Value> values, Time time, Time arrival, const RecordOrder& order);
  Write event(SignalId signal, Slot slot, Time time, std::span<const EventField> fields, Time arrival, const RecordOrder& order);
  // Any record of the members: what `any` ages by.
  void alive(Level level, Slot slot, Time arrival) { alive(level, std::span{&slot, 1}, arrival); }
  void alive(Level level, std::span<const Slot> slots, Time arrival);

  // The earliest clock at which a row closes or something applies; never: nothing waits.
  [[nodiscard]] Time next_due() const noexcept;
  // Closes rows and applies points and events that are due at `clock`, in the order of SEMANTICS; tells of each that was applied.
  // To be called at each instant at which something is due (next_due), before the ticks of that instant and after all earlier ones:
  // windows then let go of what no later tick can see. Where nothing is due it costs nothing.
  void settle(Time clock, const std::function<void(const Applied&)>& applied);
  // The same where nothing is due: the clock moves on.
  void pass(Time clock);
  // E is known: what the ticks at E look at is kept until they have run, whatever comes later.
  void end(Time end) noexcept;

  // A reduction of a window as of `moment`. `other` is the column of w_time_to. True: all members but the first (of ranks, the reserved
  // one) are constant, and only their first two values were written.
  bool reduce(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment, const SourceCoverage& coverage,
              std::span<double> out);

  // Takes over from the history of another pack: of each signal that both retain under the same definition, everything.
  void adopt(History& old);
  // While filling, only rows are written: points, events, ages and accumulators come from a snapshot.
  void backfill_rows_only(bool on) noexcept;
  void save(Writer& out) const;  // everything but rows
  Result<void> load(Reader& in);
  // How far back rows reach: what a take-over has to read again.
  [[nodiscard]] Duration longest_raw_window() const noexcept;
  // xxh3 over the rows closed so far, in order of closing.
  [[nodiscard]] std::uint64_t rows_digest() const noexcept;
  // Values of a step for which another reporter's was or will be taken.
  [[nodiscard]] std::uint64_t repeated_steps() const noexcept;
  // Events that were let go while a window still counted them, since the last call.
  [[nodiscard]] std::uint64_t take_let_go() noexcept;
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
