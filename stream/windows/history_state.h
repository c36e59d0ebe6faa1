#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/graph/kernels.h"
#include "stream/windows/ages.h"
#include "stream/windows/earlier.h"
#include "stream/windows/history.h"
#include "stream/windows/retention.h"
#include "stream/windows/signal_history.h"
#include "stream/windows/zeros.h"

namespace tocsin::stream {

// An arrival ahead of the clock, which is behind because of a watermark: an earlier tick must not see it.
struct EarlyArrival {
  Time arrival;
  std::uint32_t signal;
  Slot slot;
  double value;
};

// The inside of a History: the signals it retains, its clock, and how one write enters them.
struct History::State {
  std::shared_ptr<const Retention> retention;
  const SignalTable& table;
  const Topology& topology;
  const Symbols* symbols;
  struct Kept {
    std::uint32_t id;
    Time due;                 // nothing of it is due before
    Rows<float>* rows_alone;  // for the short path; null: it has others, or something else
    std::unique_ptr<SignalHistory> signal;
  };
  std::vector<Kept> kept;             // the signals that came and are wanted, ascending by id
  std::vector<std::uint16_t> places;  // by id, in that; none: it is not kept
  static constexpr std::uint16_t none = 0xFFFF;
  std::array<std::uint32_t, level_count> kept_at{};  // how many of them a level owns
  struct {
    std::uint64_t version = 0;
    std::size_t signals = 0, bytes = 0;
  } estimate;  // of what it takes in memory, at a version of the topology
  const std::optional<std::uint32_t>&step, &gap;
  // Of rows alone: the signals that are not wanted yet, and from when on each is, the first one last.
  struct Needs {
    std::vector<bool> later;  // by id
    std::vector<std::pair<Time, std::uint32_t>> from;
  };
  std::unique_ptr<Needs> needs;

  Time clock = long_ago;
  Time due = never;  // no signal has anything due before
  Time end = never;  // E, once known
  std::optional<Time> attempt_start;
  std::uint64_t let_go = 0;
  std::vector<EarlyArrival> early;
  Time earliest = never;  // the first of them
  std::shared_ptr<ReductionScratch> scratch;
  Zeros zeros;
  Ages ages;
  EarlierViews earlier;
  std::vector<std::pair<std::string_view, double>> fields;  // scratch, as these
  std::vector<std::pair<SignalHistory*, std::ptrdiff_t>> arriving;
  std::vector<Slot> gap_slots;
  std::vector<double> gap_values;

  State(std::shared_ptr<const Retention> retained, const Topology& of, const Symbols* symbols_of,
        std::shared_ptr<ReductionScratch> shared);

  Kept* look_up(std::uint32_t id) noexcept {
    return id < places.size() && places[id] != none ? &kept[places[id]] : nullptr;
  }
  SignalHistory* find(SignalId id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return at < places.size() && places[at] != none ? kept[places[at]].signal.get() : nullptr;
  }
  // One that is kept.
  SignalHistory& of(std::uint32_t id) const noexcept { return *kept[places[id]].signal; }
  std::size_t members(const SignalHistory& signal, Slot slot) const noexcept {
    return std::max<std::size_t>(topology.size(signal.definition().owner), slot + std::size_t{1});
  }

  // For what is written of it; null: unwanted.
  SignalHistory* open(SignalId id) {
    SignalHistory* const known = find(id);
    return known != nullptr ? known : open_first(id);
  }
  SignalHistory* open_first(SignalId id);

  // The clock for a record: it may have moved on to the record while nothing was due.
  [[nodiscard]] Time now(Time arrival) const noexcept { return std::max(clock, arrival); }

  // A tick may see what arrived then.
  [[nodiscard]] bool reached(Time arrival) const noexcept { return arrival <= clock || clock == long_ago; }

  // ---- arrivals; a history of rows alone has none
  void arrive(std::uint32_t id, Slot slot, Time arrival, double value) {
    if (retention->rows_only) return;
    if (reached(arrival)) return of(id).own_arrivals().note(slot, arrival, value, members(of(id), slot));
    early.push_back({arrival, id, slot, value});
    earliest = std::min(earliest, arrival);
  }
  // Processes those before `now`, in order.
  void see_early(Time now) {
    if (earliest >= now) return;
    const auto seen =
        std::stable_partition(early.begin(), early.end(), [now](const EarlyArrival& a) { return a.arrival < now; });
    std::stable_sort(early.begin(), seen,
                     [](const EarlyArrival& a, const EarlyArrival& b) { return a.arrival < b.arrival; });
    for (auto a = early.begin(); a != seen; ++a)
      if (SignalHistory* const signal = find(static_cast<SignalId>(a->signal)))
        signal->own_arrivals().note(a->slot, a->arrival, a->value, members(*signal, a->slot));
    early.erase(early.begin(), seen);
    find_earliest();
  }

  void find_earliest() {
    earliest = never;
    for (const EarlyArrival& a : early) earliest = std::min(earliest, a.arrival);
  }

  // The short path of samples whose arrival the clock has reached: of signals that have rows of floats and nothing
  // else, of members that are known, in the row of the signal's sample before. Stops at the first that is not so;
  // returns how many were written.
  [[gnu::always_inline]] std::size_t write_recent(std::span<const Value> values, Time time, Time arrival) {
    const Time at = now(arrival);
    std::size_t written = 0;
    for (const auto& [id, slot, value, arrived] : values) {
      const Kept* const one = look_up(static_cast<std::uint32_t>(id));
      if (one == nullptr || one->rows_alone == nullptr ||
          (!retention->rows_only && slot >= one->signal->arrivals().members()) ||
          !one->rows_alone->write_recent(slot, time, at, value))
        break;
      if (!arrived && !retention->rows_only) one->signal->own_arrivals().note_again(slot, arrival);
      ++written;
    }
    return written;
  }
  Write write(std::uint32_t id, Points::Entry entry, Time time, Time arrival) {
    SignalHistory& signal = *open(static_cast<SignalId>(id));
    const bool in_time = signal.write(entry, time, now(arrival), members(signal, entry.slot));
    wrote(id);
    arrive(id, entry.slot, arrival, entry.value);
    return in_time ? Write::taken : Write::late;
  }
  template <class V>
  std::size_t write(std::uint32_t id, std::span<const Slot> slots, Time time, std::span<const V> values, Time arrival,
                    const RecordOrder& order, bool arrived = false) {
    if (slots.empty()) return 0;
    SignalHistory& signal = *open(static_cast<SignalId>(id));
    const bool in_a_row = kernels().in_a_row(slots.data(), slots.size());
    const std::size_t many = members(signal, in_a_row ? slots.back() : std::ranges::max(slots));
    const std::size_t late = signal.write(slots, time, values, {now(arrival), order, many, in_a_row});
    wrote(id);
    if (arrived || retention->rows_only) return late;
    if (reached(arrival)) signal.own_arrivals().note(slots, in_a_row, arrival, values, many);
    else
      for (std::size_t i = 0; i < slots.size(); ++i) arrive(id, slots[i], arrival, static_cast<double>(values[i]));
    return late;
  }

  // The engine's own signal: the time between two arrivals at which `step` changed. The first change of an attempt has
  // no interval.
  std::optional<double> gap_before(Slot slot, double value, Time arrival) {
    if (!is_number(value)) return std::nullopt;
    SignalHistory& steps = of(*step);
    if (steps.step_values.size() <= slot) {
      steps.step_values.resize(members(steps, slot), absent);
      steps.step_changes.resize(steps.step_values.size(), long_ago);
    }
    if (steps.step_values[slot] == value) return std::nullopt;
    const Time before = std::exchange(steps.step_changes[slot], arrival);
    steps.step_values[slot] = value;
    if (before == long_ago || arrival <= before) return std::nullopt;
    return seconds(arrival - before);
  }
  template <class V>
  void note_steps(std::span<const Slot> slots, std::span<const V> values, Time arrival, const RecordOrder& order) {
    gap_slots.clear(), gap_values.clear();
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (const auto seconds_between = gap_before(slots[i], static_cast<double>(values[i]), arrival)) {
        gap_slots.push_back(slots[i]);
        gap_values.push_back(*seconds_between);
      }
    write<double>(*gap, gap_slots, arrival, gap_values, arrival, order);
  }
  bool made_here(std::uint32_t id, Slot slot) const noexcept {
    if (gap != id || !step || places[*step] == none) return false;
    const auto& values = of(*step).step_values;
    return slot < values.size() && !is_absent(values[slot]);
  }

  // Something of the signal was written.
  void wrote(std::uint32_t id) {
    Kept& one = kept[places[id]];
    one.due = one.signal->next_due();
    due = std::min(due, one.due);
  }
  void find_due() {
    for (Kept& one : kept) one.due = one.signal->next_due();
    find_first_due();
  }
  void find_first_due() {
    due = never;
    for (const Kept& one : kept) due = std::min(due, one.due);
  }

  template <class V>
  std::size_t samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const V> values, Time arrival,
                      const RecordOrder& order, bool arrived);

  // How far back a restore has to read for the rows of the signal.
  [[nodiscard]] Duration reach(const Kept& one) const noexcept;

  // Its windows take the rows that no tick has read yet. Where some are due, a settle is to come, which does it.
  void advance_rows(SignalHistory& signal) const {
    if (signal.next_due() > clock) signal.advance_rows(clock, attempt_start, end);
  }

  // Signals whose arrivals are the same have them together.
  void share_arrivals();

  // ---- reading
  bool fill_zeros(const WindowSpec& window, const SignalHistory* signal, bool nothing, TimeRange range,
                  const SourceCoverage& coverage, std::span<double> out);
};

}  // namespace tocsin::stream
