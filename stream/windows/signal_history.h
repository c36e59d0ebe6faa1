#pragma once

#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "stream/windows/arrivals.h"
#include "stream/windows/events.h"
#include "stream/windows/history.h"
#include "stream/windows/points.h"
#include "stream/windows/windows.h"

namespace tocsin::stream {

// The rows of a signal with what is built from them as they close.
template <class T>
struct RowSide {
  Rows<T> rows;
  std::optional<Panes<T>> panes;
  std::vector<RawView<T>> raw;
  std::vector<BaselineView<T>> baselines;
  std::vector<AttemptView> attempts;  // of signals that do not count points

  // The window's view takes what has closed up to its time_range's end; a take-over builds order statistics from the rows again.
  void advance(const WindowSpec& spec, TimeRange time_range);
};

// A window as the packs ask for it, with what has to be kept up for it.
struct Asked {
  WindowSpec window;
  Demand demand;
  bool declared = false;  // a reduction of it is
};

// Everything that an attempt retains of one signal. Owned by its History.
class SignalHistory {
 public:
  SignalHistory(const SignalDefinition& definition, std::vector<Asked> windows, const SymbolOf& symbol, ReductionScratch& scratch);

  [[nodiscard]] const SignalDefinition& definition() const noexcept { return *definition_; }

  // Writing. `clock` is no earlier than the record's arrival. `filling`: rows only.
  bool write(const Points::Entry& entry, Time time, Time clock, std::size_t members, bool filling);
  struct How {
    Time clock;
    const RecordOrder& order;
    std::size_t members;
    bool filling;
  };
  template <class V>                                                                                     // float or double
  std::size_t write(std::span<const Slot> slots, Time time, std::span<const V> values, const How& how);  // how many were late
  // Where one sample goes by the shortest way, if the signal has rows of floats and nothing else; otherwise null.
  struct Plain {
    Rows<float>* rows = nullptr;
    Arrivals* arrivals = nullptr;
  };
  [[nodiscard]] Plain plain() noexcept {
    auto* side = std::get_if<RowSide<float>>(&rows_);
    return side == nullptr || points_ ? Plain{} : Plain{&side->rows, &arrivals};
  }
  bool write_event(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields, Time arrival,
                   const RecordOrder& order, Time clock);

  [[nodiscard]] bool has_rows() const noexcept { return rows_.index() != 0; }
  [[nodiscard]] bool counts_points() const noexcept { return points_.has_value(); }
  [[nodiscard]] Time next_due() const noexcept;
  template <class Told>
  bool settle(Time clock, bool filling, Told&& told) {
    bool changed = close_rows(clock, filling);
    if (filling) return changed;
    if (points_) points_->apply(clock, [&](const Point& p) { told(p.slot, p.at), changed = true; });
    if (events_) events_->apply(clock, [&](const Happening& e) { told(e.slot, e.at), changed = true; });
    return changed;
  }
  // Whatever was due before `clock` has run: no tick comes any more before `clock` less a window's settle, so windows take what lies
  // up to there, but not beyond the attempt's end. Then what none needs goes.
  void keep_up(Time clock, std::optional<Time> attempt_start, Time end);
  void end(Time end) noexcept;  // nothing goes any more that ticks at E look at

  // Reading as of a tick; `to` may be never: whatever was applied. `out` is written where something was found: absent where a member
  // has no answer.
  enum class Found : std::uint8_t { something, nothing, not_retained };
  Found reduce(const Node& node, const WindowSpec& window, Column other, Time tick, Time applied_to, Time attempt_start,
               std::span<double> out);
  bool last_event_arrivals(const WindowSpec& window, Time tick, Time applied_to, Time attempt_start, Time now, std::vector<Time>& last);

  Arrivals arrivals;

  // The engine's own step_gap: when a member's step changed last. Used by signal "step" alone.
  std::vector<double> step_values;
  std::vector<Time> step_changes;

  Time taken_since = long_ago;  // records that arrived before were the business of another pack
  void adopt(SignalHistory& old, Time clock);
  void save(Writer& out) const;
  void load(Reader& in);

  [[nodiscard]] Duration reach() const noexcept { return reach_; }
  [[nodiscard]] std::uint64_t digest() const noexcept;
  [[nodiscard]] std::uint64_t take_let_go() noexcept { return events_ ? events_->take_let_go() : 0; }
  [[nodiscard]] std::uint64_t repeated_steps() const noexcept { return repeated_steps_; }
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept;

 private:
  template <class T>
  RowSide<T> make_rows(const std::vector<Asked>& windows) const;
  bool close_rows(Time clock, bool filling);
  [[nodiscard]] RowReduction row_reduction(const Node& node, const WindowSpec& window, Column other) const;
  template <class T>
  Found reduce_rows(RowSide<T>& side, const Node& node, const WindowSpec& window, Column other, Time tick, Time applied_to,
                    Time attempt_start, std::span<double> out);
  Found reduce_points(const Node& node, const WindowSpec& window, Column other, Time applied_to, Time attempt_start, std::span<double> out);
  Found reduce_events(const Node& node, const WindowSpec& window, Time tick, Time applied_to, Time attempt_start, std::span<double> out);
  Found reduce_attempt(const AttemptView& view, const Node& node, const WindowSpec& window, Column other, std::span<double> out) const;
  EventView* event_view(const WindowSpec& window, TimeRange time_range, std::optional<EventView>& made);

  const SignalDefinition* definition_;
  ReductionScratch* scratch_;  // the history's
  Duration reach_{};           // over + lag + settle of the raw windows
  Duration longest_{};         // of all time windows
  std::variant<std::monostate, RowSide<float>, RowSide<double>> rows_;
  std::optional<Points> points_;
  std::optional<Events> events_;
  std::uint64_t repeated_steps_ = 0;
};

}  // namespace tocsin::stream
