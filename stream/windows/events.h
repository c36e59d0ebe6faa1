#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stream/graph/operations.h"
#include "stream/graph/time_range.h"
#include "stream/values/archive.h"
#include "stream/values/symbols.h"
#include "stream/values/value.h"
#include "stream/windows/record_order.h"
#include "stream/windows/reorder_buffer.h"
#include "stream/windows/text_pattern.h"

namespace tocsin::stream {

// An event of a member. Fields are numbers or symbols of texts, by the number of their name.
struct Happening {
  Time at{};  // its T
  Time arrival{};
  Slot slot = 0;
  std::uint32_t number = 0;
  std::uint64_t producer = 0, sequence = 0;
  std::vector<std::pair<std::uint32_t, double>> fields;
  [[nodiscard]] RecordOrder order() const noexcept { return {producer, sequence, number}; }
  [[nodiscard]] bool after(const Happening& other) const noexcept {
    return std::tuple{at, slot, order()} > std::tuple{other.at, other.slot, other.order()};
  }
  [[nodiscard]] double field(std::uint32_t name) const noexcept {
    for (const auto& [known, value] : fields)
      if (known == name) return value;
    return absent;
  }
};

// The filters of a window. Texts are resolved once they are known.
class EventFilters {
 public:
  EventFilters(const std::vector<EventFilter>& filters, std::vector<std::string>& names, const Symbols* symbols);
  [[nodiscard]] bool pass(const Happening& event) const;

 private:
  struct Filter {
    std::uint32_t field;
    bool keep;
    std::vector<double> numbers;
    mutable std::vector<std::string> texts;  // no record contains them so far
    mutable std::vector<double> symbols;
    std::vector<TextPattern> patterns;
    enum class Match : std::uint8_t { unknown, no, yes };
    mutable std::vector<Match> matched;  // by symbol: whether one of the patterns matches its text
  };
  [[nodiscard]] bool matches(const Filter& filter, double symbol) const;
  std::vector<Filter> filters_;
  const Symbols* symbols_;
};

// The events of one member in one window, oldest first.
struct MemberEvents {
  struct LetGo {
    Time at;
    std::uint64_t count;
  };
  std::deque<LetGo> let_go;           // of events in the window that are no longer retained; not of the attempt
  std::deque<std::uint64_t> numbers;  // of those that are retained, counted from the attempt's start
  std::uint64_t count = 0;            // of both; of the attempt: of all
  Time last_arrival = long_ago;       // of the attempt
  std::vector<Happening> first,
      last;  // of the attempt, at most one each; `last` also of a window whose newest event is no longer retained
};

// One window of a signal's events with its filters, as of the T that it was advanced to.
struct EventView {
  const WindowSpec* window;
  EventFilters filters;
  std::vector<MemberEvents> members;
  std::uint64_t cursor = 0;
  Time from = long_ago;  // events at or before it have left
  [[nodiscard]] const WindowSpec& spec() const noexcept { return *window; }
};

// The events of one signal: retains the newest 4,096 of "attempt", and the newest 65,536 of all other windows together.
// Beyond that, count, last and age stay exact, and `first` of "attempt". Repeats counts the retained events; `first` of
// a window, and any count of a window that was not declared, are unknown. Owned by its signal's History entry.
class Events {
 public:
  static constexpr std::size_t most_of_attempt = 4096;
  static constexpr std::size_t most = 65'536;  // of all windows of a signal

  Events(Duration lateness, Duration keep, bool attempt, const Symbols* symbols)
      : lateness_(lateness), keep_(keep), attempt_(attempt), symbols_(symbols) {}

  void add_view(const WindowSpec& spec);
  // False: it came too late for its own time.
  bool add(Slot slot, Time time, std::span<const std::pair<std::string_view, double>> fields, Time arrival,
           const RecordOrder& order, Time clock);
  [[nodiscard]] Time next_due() const noexcept { return pending_.empty() ? never : pending_.first().at + lateness_; }
  template <class OnApplied>
  void apply(Time clock, OnApplied&& on_applied) {
    while (next_due() <= clock) on_applied(apply_first());
  }
  template <class OnApplied>
  void apply_until(Time at, OnApplied&& on_applied) {
    while (!pending_.empty() && pending_.first().at <= at) on_applied(apply_first());
  }
  void advance(EventView& view, TimeRange to);
  void trim();

  [[nodiscard]] std::vector<EventView>& views() noexcept { return views_; }
  [[nodiscard]] EventView* find(const WindowSpec& spec);
  [[nodiscard]] const EventView* find(const WindowSpec& spec) const { return const_cast<Events*>(this)->find(spec); }
  // A window that was not declared, built from the retained events.
  [[nodiscard]] EventView make_view(const WindowSpec& spec);
  // Whether all events after `from` are retained.
  [[nodiscard]] bool complete_after(Time from) const noexcept { return dropped_through_ <= from; }
  // How many events are no longer retained.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return base_; }
  // Since when the view has had its events, if it has taken all: the T of the oldest; never: it has none. long_ago: it
  // has not taken all.
  [[nodiscard]] Time oldest(const EventView& view) const noexcept;
  // How many events were dropped while a window still counted them, since the last call.
  [[nodiscard]] std::uint64_t take_let_go() noexcept { return std::exchange(let_go_, 0); }

  // Count, first, last and repeats of a member; absent if there is none (of a count: 0).
  [[nodiscard]] double reduce(const EventView& view, Slot slot, Op op, std::uint32_t field) const;
  // The last arrival before `now` of an event after `from` that passes the filters, pending ones included. long_ago:
  // none.
  void last_arrivals(const EventView& view, Time from, Time now, std::vector<Time>& last) const;
  [[nodiscard]] std::uint32_t field(std::string_view name);

  void save(Writer& out) const;
  void load(Reader& in);
  void adopt(Events& old);
  [[nodiscard]] std::size_t retained_bytes() const noexcept;
  [[nodiscard]] std::size_t retained_samples() const noexcept { return log_.size() + pending_.size(); }

 private:
  const Happening& apply_first();
  void drop_first();
  [[nodiscard]] const Happening* number(std::uint64_t n) const noexcept;
  void save_view(Writer& out, const EventView& view) const;
  void load_view(Reader& in, EventView& view);

  Duration lateness_, keep_;
  bool attempt_;
  const Symbols* symbols_;
  std::vector<std::string> names_;  // of fields, in the order of first appearance
  ReorderBuffer<Happening> pending_;
  std::deque<Happening> log_;  // ascending in T
  std::uint64_t base_ = 0;     // the number of events before log_
  Time dropped_through_ = long_ago;
  std::uint64_t let_go_ = 0;
  std::vector<EventView> views_;
};

}  // namespace tocsin::stream
