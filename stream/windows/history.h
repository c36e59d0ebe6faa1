#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/symbols.h"
#include "stream/values/value.h"
#include "stream/windows/cells.h"
#include "stream/windows/record_order.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

class Accumulators;
class EarlierAttempts;
class PointsView;
struct ReductionScratch;
struct Retention;

// Points of one time, or an event, when they enter the windows; they can trigger a record tick. `at` is their T: their
// own time if they were reordered in time, the clock if they came too late.
struct Applied {
  SignalId signal;
  Time at;
};

// A field of an event: a number, or the symbol of a text.
struct EventField {
  std::string_view name;
  double value;
};

// The moment at which windows are evaluated.
struct Moment {
  Time tick{};  // T: closed rows and applied records up to it are visible
  Time now{};   // T + L: ages count up to it
  Time attempt_start{};
  Time attempt_end = never;  // E: ages stop there
};

// What one attempt retains of the signals in its pack's windows, only as long as needed: open rows, closed rows, panes,
// points, events, accumulators since the start, and order statistics that are maintained incrementally. Reductions read
// it as of a tick: what closed or was applied after T is invisible to them. Owned by its Attempt. Reports what is
// applied, and knows no rules. A signal takes room from its first record on.
class History {
 public:
  // `reductions` are the graph's nodes that reduce windows (Op w_*): they decide what is retained and which order
  // statistics are maintained incrementally. Scripted rules can ask any reduction of their windows (`open`): one that
  // is not maintained is computed from the retained values, with the same result. Filters look texts up in
  // `symbols`, which outlive this.
  History(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows,
          const Topology& topology, const Symbols* symbols = nullptr, std::span<const NodeId> open = {});
  // `scratch`: the working memory of its reductions, which histories of one thread can share; null: its own.
  History(std::shared_ptr<const Retention> retention, const Topology& topology, const Symbols* symbols = nullptr,
          std::shared_ptr<ReductionScratch> scratch = nullptr);
  ~History();
  History(History&&) noexcept;

  [[nodiscard]] bool wants(SignalId signal) const noexcept;
  [[nodiscard]] bool rows_alone() const noexcept;  // retains nothing else, and no arrivals

  enum class Write : std::uint8_t { taken, late, unwanted };
  // `time` is min(event time, arrival), corrected by the caller. A late sample is not merged, but proves liveness.
  // `step` is the step of a job-owned value (loss): one value per step is kept, that of the lowest reporting rank.
  // `order`: of points, that of the first value; the others follow it.
  Write sample(SignalId signal, Slot slot, Time time, double value, Time arrival, const RecordOrder& order,
               double step = absent, Slot reporter = reserved_slot);
  // The same for one signal of many members at one time and arrival: the hot path. slots and values have the same
  // length, and no value is absent. Not for points of the job, which belong to a step. Returns how many were late.
  // `arrived`: arrive() was called for it.
  std::size_t samples(SignalId signal, std::span<const Slot> slots, Time time, std::span<const float> values,
                      Time arrival, const RecordOrder& order, bool arrived = false);
  std::size_t samples(SignalId signal, std::span<const Slot> slots, Time time, std::span<const double> values,
                      Time arrival, const RecordOrder& order, bool arrived = false);
  // One member's values of many signals at one time and arrival, none of them absent.
  struct Value {
    SignalId signal;
    Slot slot;
    float value;
    bool arrived = false;
  };
  std::size_t samples(std::span<const Value> values, Time time, Time arrival, const RecordOrder& order);
  // Samples of all of these members came, of each of these signals. Signals that always come together have their
  // arrivals together. Each of them is one of which arrives_with() is true, and there once. False: nothing was done, as
  // a tick before one of these arrivals has yet to run.
  struct Arrival {
    std::span<const Slot> slots;
    Time at;
  };
  bool arrive(std::span<const SignalId> signals, std::span<const Arrival> arrivals);
  [[nodiscard]] bool arrives_with(SignalId signal) const noexcept;
  // Bring into the cache what an advance reads first, step by step: each follows pointers that the one before fetched.
  void prefetch() const noexcept;
  void prefetch_columns() const noexcept;
  void prefetch_signals() const noexcept;
  // Whether what came with this arrival can be written later, as long as the clock does not reach the end of its
  // signal's lateness: nothing of what is written until then depends on the moment at which it is.
  [[nodiscard]] bool can_follow(Time arrival, Time end_of_lateness) const noexcept;
  // Of the signal's values, rows of floats are all that is kept.
  [[nodiscard]] bool keeps_rows_alone(SignalId signal) const noexcept;
  // The values of several such signals of one owner, which are in time (can_follow), and whose arrivals are noted by
  // arrive().
  struct Place {
    SignalId signal;
    std::uint32_t place;
    double factor;
  };
  void write(std::span<const Place> signals, std::span<const Cells> cells);
  Write event(SignalId signal, Slot slot, Time time, std::span<const EventField> fields, Time arrival,
              const RecordOrder& order);
  // Any record of these members: `any` ages from it.
  void alive(Level level, Slot slot, Time arrival) { alive(level, std::span{&slot, 1}, arrival); }
  void alive(Level level, std::span<const Slot> slots, Time arrival);

  // The earliest clock at which a row closes or a record is applied; never: nothing is pending.
  [[nodiscard]] Time next_due() const noexcept;
  // Of these signals, and of those of which one value of a step counts: the first that is applied.
  [[nodiscard]] Time next_due(std::span<const SignalId> signals) const noexcept;
  // Closes rows and applies points and events that are due at `clock`, in the order of docs/semantics.md, and reports
  // each that was applied. Call it at each instant at which something is due (next_due), before the ticks of that
  // instant and after all earlier ones: windows then drop what no later tick can see. Costs nothing if nothing is due.
  void settle(Time clock, const std::function<void(const Applied&)>& applied);
  // Moves the clock if nothing is due.
  void pass(Time clock);
  // E is known: what the ticks at E use is retained until they have run, whatever comes later.
  void end(Time end) noexcept;

  // A reduction of a window at `moment`. `other` is the column of w_time_to. True: all members but the first (of ranks,
  // the reserved one) are constant, and only the first two values were written.
  bool reduce(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment,
              const SourceCoverage& coverage, std::span<double> out);

  // What reduce() has read at `moment`, and whether it would write the same at a later one.
  Leaves::Reading reading(const Node& reduction, const WindowSpec& window, const Moment& moment,
                          const SourceCoverage& coverage);
  bool same(const Leaves::Reading& reading, const Moment& moment, const SourceCoverage& coverage);

  // ---- windows over "earlier": the attempts before.
  // They read `earlier` from now on; `texts` has the number of each of its texts here, and `before` attempts began
  // before this one.
  void read_earlier(const EarlierAttempts& earlier, std::vector<double> texts, std::uint32_t before);
  // The keys of those windows.
  [[nodiscard]] std::vector<std::uint64_t> earlier_keys() const;
  // The attempt is over, at `end`: adds what it has for those windows. `text` gives the text of a number.
  void add_to(EarlierAttempts& earlier, Time start, Time end, const SourceCoverage& coverage,
              const std::function<std::optional<std::string>(double)>& text);

  // ---- what is shown of an attempt. No tick depends on it, and it may lag behind what was applied last.
  // The step of each member, and the arrival at which it last changed: absent, and long_ago, for one without a step.
  struct Steps {
    std::span<const double> last;
    std::span<const Time> changed;
  };
  [[nodiscard]] Steps steps() const noexcept;
  // Whether anything of it came.
  [[nodiscard]] bool came(SignalId signal) const noexcept;
  // Null: no window keeps them, or nothing of it came. Of a signal that counts points.
  [[nodiscard]] const Accumulators* since_start(SignalId signal) const noexcept;
  // The window of the last points that keeps the most of them.
  [[nodiscard]] const PointsView* latest_points(SignalId signal) const noexcept;

  // Adopts everything from the history of another pack, for each signal that both retain with the same definition.
  void adopt(History& old);
  // This one retains rows alone, for the other one, of the same pack, whose clock will be `clock`: from now on it wants
  // a signal once need_more() has come to where the other one's rows of it begin.
  void need_rows_of(const History& other, Time clock);
  bool need_more(Time arrival);  // true: it wants more signals now
  // Takes the rows of another history of the same pack, which retains them alone.
  void take_rows(History& other);
  void save(Writer& out) const;  // everything but rows
  Result<void> load(Reader& in);
  // How far back the rows of its signals reach: a restore has to read that much again.
  [[nodiscard]] Duration reach() const noexcept;
  // xxh3 over the rows that have closed, in order of closing.
  [[nodiscard]] std::uint64_t rows_digest() const noexcept;
  // Events that were dropped while a window still counted them, since the last call.
  [[nodiscard]] std::uint64_t take_let_go() noexcept;
  // About what all of it takes, the judging of it included, when its windows are full: the same after a restore.
  [[nodiscard]] std::size_t estimated_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  struct State;
  // Without asking whether a window is full.
  bool reduce_so_far(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment,
                     const SourceCoverage& coverage, std::span<double> out);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
