#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "stream/windows/arrivals.h"
#include "stream/windows/events.h"
#include "stream/windows/history.h"
#include "stream/windows/points.h"
#include "stream/windows/retention.h"
#include "stream/windows/windows.h"

namespace tocsin::stream {

// The rows of a signal with what is built from them as they close.
template <class T>
struct RowSide {
  Rows<T> rows;
  std::optional<Panes<T>> panes;
  std::vector<RawView<T>> raw;
  std::vector<LastView<T>> lasts;
  std::vector<BaselineView<T>> baselines;
  std::vector<AttemptView> attempts;  // of signals that do not count points

  // Of signals that do not count points: the accumulators of the attempt take the closed rows that they have not yet,
  // up to this one.
  void accumulate(AttemptView& view, RowNumber through) const;
  // The window's view takes the rows that have closed up to the end of its time_range; a restore rebuilds order
  // statistics from the rows.
  void advance(const WindowSpec& spec, TimeRange time_range);
};

// The view of the values of this window; null: there is none.
template <class Views>
auto* find_view(Views& views, const WindowSpec& window) {
  const auto found = std::ranges::find_if(views, [&](const auto& view) { return same_values(view.spec(), window); });
  return found == views.end() ? nullptr : &*found;
}

// Everything that an attempt retains of one signal. Owned by its History.
class SignalHistory {
 public:
  // `definition`, `windows` and `scratch` outlive it.
  SignalHistory(const SignalDefinition& definition, const std::vector<Asked>& windows, const Symbols* symbols,
                ReductionScratch& scratch, bool rows_only);

  [[nodiscard]] const SignalDefinition& definition() const noexcept { return *definition_; }

  // Writing. `clock` is no earlier than the record's arrival.
  bool write(const Points::Entry& entry, Time time, Time clock, std::size_t members);
  struct How {
    Time clock;
    const RecordOrder& order;
    std::size_t members;
    bool in_a_row;  // each slot is the one before and 1
  };
  template <class V>  // float or double
  std::size_t write(std::span<const Slot> slots, Time time, std::span<const V> values,
                    const How& how);  // returns how many were late
  // For the short path of one sample, if the signal has rows of floats and nothing else; otherwise null.
  [[nodiscard]] Rows<float>* rows_alone() noexcept {
    auto* side = std::get_if<RowSide<float>>(&rows_);
    return side == nullptr || points_ ? nullptr : &side->rows;
  }
  bool write_event(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields, Time arrival,
                   const RecordOrder& order, Time clock);

  // Where the next row is, and where it will be once it has closed.
  [[gnu::always_inline]] void prefetch_closing() const noexcept {
    if (const auto* narrow = std::get_if<RowSide<float>>(&rows_)) narrow->rows.prefetch_closing();
    if (const auto* wide = std::get_if<RowSide<double>>(&rows_)) wide->rows.prefetch_closing();
  }
  [[nodiscard]] bool counts_points() const noexcept { return points_ != nullptr; }
  [[nodiscard]] Time next_due() const noexcept;
  template <class OnApplied>
  bool settle(Time clock, OnApplied&& on_applied) {
    bool changed = close_rows(clock);
    if (points_) points_->apply(clock, [&](Time at) { on_applied(at), changed = true; });
    if (events_) events_->apply(clock, [&](const Happening& e) { on_applied(e.at), changed = true; });
    if (changed) ++changes_;
    return changed;
  }
  // Whether windows should advance without a tick that reads them: they take the rows and points of few members several
  // at a time, which costs less than one by one.
  [[nodiscard]] bool lags() const noexcept;
  // All that was due before `clock` has run. No later tick comes before `clock` less a window's settle, so windows
  // advance to there, but not beyond the attempt's end. Then drops what no window needs.
  void advance(Time clock, std::optional<Time> attempt_start, Time end);
  // The same for its rows alone, before a section or another pack's history, which may have fewer of them.
  void advance_rows(Time clock, std::optional<Time> attempt_start, Time end);
  void end(Time end) noexcept;  // keeps what ticks at E use

  // Reading as of a tick; `to` can be never: everything that was applied. `out` is written if something was found:
  // absent for a member without an answer.
  enum class Found : std::uint8_t { something, nothing, not_retained };
  Found reduce(const Node& node, const WindowSpec& window, Column other, Time tick, Time applied_to, Time attempt_start,
               std::span<double> out);
  bool last_event_arrivals(const WindowSpec& window, Time tick, Time applied_to, Time attempt_start, Time now,
                           std::vector<Time>& last);

  // The attempt is over: adds what one window over "earlier" has taken. `zeros`: 0 for each member without a value if
  // that says that there was none.
  void add_to(EarlierAttempts& earlier, const WindowSpec& window, const Topology& topology,
              std::span<const double> zeros, const std::function<std::optional<std::string>(double)>& text);

  // Changes with whatever a reduction can read, but for the time; never 0.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return 1 + changes_ + arrivals().version() + (events_ ? events_->dropped() : 0);
  }
  // The first tick at which the window can hold other values than at this one, if nothing is written; long_ago: the
  // next.
  [[nodiscard]] Time unchanged_until(const WindowSpec& window, TimeRange range) const;

  // When its members wrote: with signals whose members always wrote together, one object.
  [[nodiscard]] const Arrivals& arrivals() const noexcept { return arrivals_ ? *arrivals_ : no_arrivals; }
  [[nodiscard]] const std::shared_ptr<Arrivals>& shared_arrivals() const noexcept { return arrivals_; }
  void share(std::shared_ptr<Arrivals> arrivals) noexcept { arrivals_ = std::move(arrivals); }
  // For what only this one writes: no longer shared.
  [[nodiscard]] Arrivals& own_arrivals();

  // The engine's own step_gap: when a member's step last changed. Used by signal "step" alone.
  std::vector<double> step_values;
  std::vector<Time> step_changes;

  // What history.h shows of an attempt.
  [[nodiscard]] const Accumulators* since_start() const noexcept;
  [[nodiscard]] const PointsView* latest_points() const noexcept;

  void adopt(SignalHistory& old, Time clock);
  void take_rows(SignalHistory& other);
  void save(Writer& out, const std::shared_ptr<const Arrivals>& arrivals) const;  // a copy of its own
  void load(Reader& in);

  // As Rows::reach(); 0: it has no rows.
  [[nodiscard]] Duration reach() const noexcept {
    Duration reach{};
    if_rows([&](const auto& side) { reach = side.rows.reach(); });
    return reach;
  }
  [[nodiscard]] std::uint64_t digest() const noexcept;
  [[nodiscard]] std::uint64_t take_let_go() noexcept { return events_ ? events_->take_let_go() : 0; }
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  // Calls `see` with the side of the rows, if the signal has rows.
  template <class See>
  void if_rows(See&& see) {
    if (auto* narrow = std::get_if<RowSide<float>>(&rows_)) see(*narrow);
    if (auto* wide = std::get_if<RowSide<double>>(&rows_)) see(*wide);
  }
  template <class See>
  void if_rows(See&& see) const {
    if (const auto* narrow = std::get_if<RowSide<float>>(&rows_)) see(*narrow);
    if (const auto* wide = std::get_if<RowSide<double>>(&rows_)) see(*wide);
  }
  template <class T>
  RowSide<T> make_rows(const std::vector<Asked>& windows, bool rows_only) const;
  bool close_rows(Time clock);
  [[nodiscard]] RowReduction row_reduction(const Node& node, const WindowSpec& window, Column other) const;
  template <class T>
  Found reduce_rows(RowSide<T>& side, const Node& node, const WindowSpec& window, Column other, Time tick,
                    Time applied_to, Time attempt_start, std::span<double> out);
  Found reduce_points(const Node& node, const WindowSpec& window, Column other, Time applied_to, Time attempt_start,
                      std::span<double> out);
  Found reduce_events(const Node& node, const WindowSpec& window, Time tick, Time applied_to, Time attempt_start,
                      std::span<double> out);
  Found reduce_attempt(AttemptView& view, const Node& node, const WindowSpec& window, Column other,
                       std::span<double> out) const;
  EventView* event_view(const WindowSpec& window, TimeRange time_range, std::optional<EventView>& made);

  static const Arrivals no_arrivals;
  std::shared_ptr<Arrivals> arrivals_;  // null: nothing of it came
  const SignalDefinition* definition_;
  ReductionScratch* scratch_;                                   // the history's
  Duration reach_{};                                            // over + lag + settle of the raw windows
  Duration longest_{};                                          // of all time windows
  RowNumber advanced_ = std::numeric_limits<RowNumber>::min();  // the newest row when windows advanced last
  std::uint64_t changes_ = 0;                                   // how often rows closed, or records were applied
  std::variant<std::monostate, RowSide<float>, RowSide<double>> rows_;
  std::unique_ptr<Points> points_;
  std::unique_ptr<Events> events_;
};

}  // namespace tocsin::stream
