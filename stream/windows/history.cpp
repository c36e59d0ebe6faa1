#include "stream/windows/history.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "stream/values/constant_column.h"
#include "stream/windows/ages.h"
#include "stream/windows/signal_history.h"
#include "stream/windows/zeros.h"

namespace tocsin::stream {
namespace {

// An arrival ahead of the clock, which is behind because of a watermark: an earlier tick must not see it.
struct EarlyArrival {
  Time arrival;
  std::uint32_t signal;
  Slot slot;
  double value;
};

std::size_t index(SignalId id) noexcept { return static_cast<std::size_t>(id); }

}  // namespace

struct History::State {
  const SignalTable& table;
  const Topology& topology;
  SymbolOf symbol;
  std::vector<std::unique_ptr<SignalHistory>> signals;  // by id; null: unwanted
  std::vector<SignalHistory::Plain> plain;              // by id
  std::vector<std::uint32_t> kept, coverage;            // ids of those that are not null; of kind liveness
  std::optional<std::uint32_t> step, gap;               // ids: step_gap is made from step

  Time clock = long_ago;
  Time due = never;  // no signal has anything due before
  Time end = never;  // E, once known
  std::optional<Time> attempt_start;
  std::uint64_t let_go = 0;
  bool backfilling = false;
  Time backfilled_to = long_ago;  // the clock of the backfill
  std::vector<EarlyArrival> early;
  Time earliest = never;  // the first of them
  ReductionScratch scratch;
  Zeros zeros;
  Ages ages;
  std::vector<std::pair<std::string_view, double>> fields;  // scratch, as these
  std::vector<Slot> gap_slots;
  std::vector<double> gap_values;

  State(const SignalTable& signals_table, const Topology& of, SymbolOf symbol_of)
      : table(signals_table), topology(of), symbol(std::move(symbol_of)), signals(signals_table.size()) {}

  SignalHistory* find(SignalId id) const noexcept { return index(id) < signals.size() ? signals[index(id)].get() : nullptr; }
  std::size_t members(const SignalHistory& signal, Slot slot) const noexcept {
    return std::max<std::size_t>(topology.size(signal.definition().owner), slot + std::size_t{1});
  }

  void retain(std::uint32_t id, std::vector<Asked> windows) {
    signals[id] = std::make_unique<SignalHistory>(table.all()[id], std::move(windows), symbol, scratch);
  }
  void begin(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows, std::span<const NodeId> open);

  // The clock for a record: it may have moved on to the record while nothing was due.
  [[nodiscard]] Time now(Time arrival) const noexcept { return std::max(backfilling ? backfilled_to : clock, arrival); }

  // ---- arrivals
  void arrive(std::uint32_t id, Slot slot, Time arrival, double value) {
    if (arrival <= clock || clock == long_ago) return signals[id]->arrivals.note(slot, arrival, value, members(*signals[id], slot));
    early.push_back({arrival, id, slot, value});
    earliest = std::min(earliest, arrival);
  }
  // Processes those before `now`, in order.
  void see_early(Time now) {
    if (earliest >= now) return;
    const auto seen = std::stable_partition(early.begin(), early.end(), [now](const EarlyArrival& a) { return a.arrival < now; });
    std::stable_sort(early.begin(), seen, [](const EarlyArrival& a, const EarlyArrival& b) { return a.arrival < b.arrival; });
    for (auto a = early.begin(); a != seen; ++a)
      if (signals[a->signal]) signals[a->signal]->arrivals.note(a->slot, a->arrival, a->value, members(*signals[a->signal], a->slot));
    early.erase(early.begin(), seen);
    find_earliest();
  }

  void find_earliest() {
    earliest = never;
    for (const EarlyArrival& a : early) earliest = std::min(earliest, a.arrival);
  }

  Write write(std::uint32_t id, Points::Entry entry, Time time, Time arrival) {
    SignalHistory& signal = *signals[id];
    const bool in_time = signal.write(entry, time, now(arrival), members(signal, entry.slot), backfilling);
    due = std::min(due, signal.next_due());
    if (!backfilling) arrive(id, entry.slot, arrival, entry.value);
    return in_time ? Write::taken : Write::late;
  }
  template <class V>
  std::size_t write(std::uint32_t id, std::span<const Slot> slots, Time time, std::span<const V> values, Time arrival,
                    const RecordOrder& order) {
    if (slots.empty()) return 0;
    SignalHistory& signal = *signals[id];
    const std::size_t many = members(signal, *std::max_element(slots.begin(), slots.end()));
    const std::size_t late = signal.write(slots, time, values, {now(arrival), order, many, backfilling});
    due = std::min(due, signal.next_due());
    if (backfilling) return late;
    if (arrival <= clock || clock == long_ago) signal.arrivals.note(slots, arrival, values, many);
    else
      for (std::size_t i = 0; i < slots.size(); ++i) arrive(id, slots[i], arrival, static_cast<double>(values[i]));
    return late;
  }

  // The engine's own signal: the time between two arrivals at which `step` changed. The first change of an attempt has no interval.
  std::optional<double> gap_before(Slot slot, double value, Time arrival) {
    if (!is_number(value)) return std::nullopt;
    SignalHistory& steps = *signals[*step];
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
    if (gap != id || !step) return false;
    const auto& values = signals[*step]->step_values;
    return slot < values.size() && !is_absent(values[slot]);
  }

  void find_due() {
    due = never;
    for (const std::uint32_t id : kept) due = std::min(due, signals[id]->next_due());
  }

  template <class V>
  std::size_t samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const V> values, Time arrival,
                      const RecordOrder& order);

  // ---- reading
  bool fill_zeros(const SignalHistory& signal, bool nothing, Time from, Time to, const SourceCoverage& coverage, std::span<double> out);
};

void History::State::begin(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows,
                           std::span<const NodeId> open) {
  std::vector<std::vector<Asked>> asked(signals.size());
  const auto ask = [&](const WindowSpec& window) -> Asked* {
    if (index(window.signal) >= asked.size()) return nullptr;
    auto& list = asked[index(window.signal)];
    const auto known = std::find_if(list.begin(), list.end(), [&](const Asked& a) { return same_values(a.window, window); });
    return known != list.end() ? &*known : &list.emplace_back(Asked{window, {}, false});
  };
  for (const NodeId id : windows)
    if (const auto& window = graph[id].attributes.window) ask(*window);
  for (const NodeId id : reductions) {
    const Node& node = graph[id];
    const auto* window = node.arguments.empty() ? nullptr : &graph[node.arguments[0]].attributes.window;
    if (window == nullptr || !*window) continue;
    if (Asked* need = ask(**window)) {
      need->demand.add(node.op, node.attributes.number);
      need->declared = true;
    }
  }
  // Where values are not kept, everything that can be asked is accumulated.
  for (const NodeId id : open)
    if (const auto& window = graph[id].attributes.window; window && (window->span == WindowSpec::Span::attempt || window->baseline()))
      if (Asked* need = ask(*window)) need->demand.add_all();
  for (std::uint32_t id = 0; id < asked.size(); ++id) {
    for (Asked& need : asked[id])
      if (!need.declared) need.demand.add_all();
    if (!asked[id].empty()) retain(id, std::move(asked[id]));
  }
  const auto steps = table.find("step"), gaps = table.find("step_gap");
  if (steps && gaps && find(*gaps) != nullptr) {
    step = static_cast<std::uint32_t>(*steps);
    gap = static_cast<std::uint32_t>(*gaps);
    if (!signals[*step]) retain(*step, {});
  }
  plain.resize(signals.size());
  for (std::uint32_t id = 0; id < signals.size(); ++id) {
    if (!signals[id]) continue;
    plain[id] = signals[id]->plain();
    kept.push_back(id);
    if (table.all()[id].kind == SignalKind::liveness) coverage.push_back(id);
  }
}

// `nothing`: no member has anything in the window, and `out` was not written.
bool History::State::fill_zeros(const SignalHistory& signal, bool nothing, Time from, Time to, const SourceCoverage& sources,
                                std::span<double> out) {
  const SignalDefinition& definition = signal.definition();
  const auto [none, constant] = zeros.over(definition, from, to, sources, topology);
  const bool reserved = definition.owner == Level::rank;
  const double first = reserved && !signal.arrivals.ever(reserved_slot) ? absent : none.front();
  if (nothing && constant) return is_constant(out, first, none.back());
  for (std::size_t slot = 0; slot < out.size(); ++slot)
    if (nothing || is_absent(out[slot])) out[slot] = slot == 0 ? first : none[slot];
  return false;
}

History::History(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows, const Topology& topology,
                 std::function<double(std::string_view)> symbol, std::span<const NodeId> open)
    : state_(std::make_unique<State>(graph.signals(), topology, std::move(symbol))) {
  state_->begin(graph, reductions, windows, open);
}
History::~History() = default;
History::History(History&&) noexcept = default;

bool History::wants(SignalId signal) const noexcept { return state_->find(signal) != nullptr; }

History::Write History::sample(SignalId id, Slot slot, Time time, double value, Time arrival, const RecordOrder& order, double step,
                               Slot reporter) {
  SignalHistory* signal = state_->find(id);
  const auto number = static_cast<std::uint32_t>(id);
  if (signal == nullptr || is_absent(value) || signal->definition().kind == SignalKind::event || state_->made_here(number, slot))
    return Write::unwanted;
  if (state_->backfilling && arrival < signal->taken_since) return Write::taken;
  time = std::min(time, arrival);
  value = canonical(value);
  if (!signal->counts_points() || signal->definition().owner != Level::job) step = absent;
  if (number == state_->step && !state_->backfilling) state_->note_steps<double>({&slot, 1}, {&value, 1}, arrival, order);
  return state_->write(number, {time, slot, reporter, order.producer, order.sequence, order.number, false, value, step}, time, arrival);
}

std::size_t History::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const float> values, Time arrival,
                             const RecordOrder& order) {
  return state_->samples(id, slots, time, values, arrival, order);
}
std::size_t History::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const double> values, Time arrival,
                             const RecordOrder& order) {
  return state_->samples(id, slots, time, values, arrival, order);
}

std::size_t History::samples(std::span<const Value> values, Time time, Time arrival, const RecordOrder& order) {
  State& s = *state_;
  std::size_t late = 0;
  const Time placed = std::min(time, arrival);
  const Time now = s.now(arrival);
  const bool slow = s.backfilling || !(arrival <= s.clock || s.clock == long_ago);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [id, slot, value] = values[i];
    const SignalHistory::Plain signal = index(id) < s.plain.size() ? s.plain[index(id)] : SignalHistory::Plain{};
    if (slow || signal.rows == nullptr || slot >= signal.arrivals->members()) {
      late += samples(id, {&slot, 1}, time, std::span{&value, 1}, arrival, order.after(i));
      continue;
    }
    late += signal.rows->put(slot, placed, now, value, signal.arrivals->members()) ? 0 : 1;
    s.due = std::min(s.due, signal.rows->next_due());
    signal.arrivals->note_again(slot, arrival);
  }
  return late;
}

template <class V>
std::size_t History::State::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const V> values, Time arrival,
                                    const RecordOrder& order) {
  const SignalHistory* signal = find(id);
  if (signal == nullptr || signal->definition().kind == SignalKind::event) return 0;
  if (backfilling && arrival < signal->taken_since) return 0;
  const auto number = static_cast<std::uint32_t>(id);
  time = std::min(time, arrival);
  if (number == step && !backfilling) note_steps(slots, values, arrival, order);
  if (number != gap) return write(number, slots, time, values, arrival, order);
  std::size_t late = 0;  // if the engine makes the signal, a producer's samples are ignored
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (!made_here(number, slots[i])) late += write(number, slots.subspan(i, 1), time, values.subspan(i, 1), arrival, order.after(i));
  return late;
}

History::Write History::event(SignalId id, Slot slot, Time time, std::span<const EventField> fields, Time arrival,
                              const RecordOrder& order) {
  State& s = *state_;
  SignalHistory* signal = s.find(id);
  if (signal == nullptr || signal->definition().kind != SignalKind::event) return Write::unwanted;
  if (s.backfilling) return Write::taken;
  s.fields.clear();
  for (const EventField& field : fields) s.fields.emplace_back(field.name, canonical(field.value));
  const bool in_time = signal->write_event(slot, std::min(time, arrival), s.fields, arrival, order, s.now(arrival));
  s.due = std::min(s.due, signal->next_due());
  s.arrive(static_cast<std::uint32_t>(id), slot, arrival, 0);
  return in_time ? Write::taken : Write::late;
}

void History::alive(Level level, std::span<const Slot> slots, Time arrival) {
  State& s = *state_;
  if (s.backfilling || slots.empty()) return;
  for (const std::uint32_t id : s.coverage) {
    if (s.table.all()[id].owner != level) continue;
    if (arrival <= s.clock || s.clock == long_ago)
      s.signals[id]->arrivals.note(slots, arrival, s.members(*s.signals[id], *std::max_element(slots.begin(), slots.end())));
    else
      for (const Slot slot : slots) s.arrive(id, slot, arrival, 0);
  }
}

Time History::next_due() const noexcept { return state_->due; }

void History::settle(Time clock, const std::function<void(const Applied&)>& applied) {
  State& s = *state_;
  if (s.backfilling) {
    s.backfilled_to = std::max(s.backfilled_to, clock);
    if (clock < s.due) return;
    for (const std::uint32_t id : s.kept) s.signals[id]->settle(clock, true, [](Slot, Time) {});
    s.find_due();
    return;
  }
  pass(clock);
  if (s.clock < s.due) return;
  for (const std::uint32_t id : s.kept) {
    SignalHistory& signal = *s.signals[id];
    if (signal.next_due() > s.clock) continue;
    signal.settle(s.clock, false, [&](Slot slot, Time at) { applied({static_cast<SignalId>(id), slot, at}); });
    signal.advance(s.clock, s.attempt_start, s.end);
    s.let_go += signal.take_let_go();
  }
  s.find_due();
}

void History::pass(Time clock) {
  State& s = *state_;
  s.see_early(s.clock == long_ago ? long_ago : s.clock + Duration{1});
  s.clock = std::max(s.clock, clock);
}

void History::end(Time end) noexcept {
  state_->end = end;
  for (const std::uint32_t id : state_->kept) state_->signals[id]->end(end);
}

bool History::reduce(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment, const SourceCoverage& coverage,
                     std::span<double> out) {
  State& s = *state_;
  SignalHistory* signal = s.find(window.signal);
  if (signal == nullptr || out.empty()) return is_constant(out, absent, absent);
  const SignalDefinition& definition = signal->definition();
  s.see_early(moment.now);
  s.attempt_start = moment.attempt_start;
  // Rules that run after the end see everything that was applied, late records included.
  const bool at_end = moment.attempt_end != never && moment.now == moment.attempt_end && moment.tick >= moment.attempt_end;
  const Time applied_to = at_end ? never : moment.tick;

  if (reduction.op == Op::w_age) return s.ages.reduce(*signal, window, moment, applied_to, coverage, s.topology, out);
  if (reduction.op == Op::w_interval) {
    std::fill(out.begin(), out.end(), absent);
    signal->arrivals.usual(seconds(definition.row), out);
    return false;
  }
  const auto found = signal->reduce(reduction, window, other, moment.tick, applied_to, moment.attempt_start, out);
  const bool rate = definition.kind == SignalKind::event && reduction.op == Op::w_rate;
  const bool counts = reduction.op == Op::w_count || reduction.op == Op::w_repeats || rate;
  if (found == SignalHistory::Found::not_retained) return is_constant(out, absent, absent);
  const bool nothing = found == SignalHistory::Found::nothing;
  if (!counts) return nothing && is_constant(out, absent, absent);
  TimeRange over = time_range(window, moment.tick, moment.attempt_start);
  if (window.span != WindowSpec::Span::time) over.from = moment.attempt_start;
  const bool constant = s.fill_zeros(*signal, nothing, over.from, over.to, coverage, out);
  if (!rate) return constant;
  const double elapsed = seconds(over.to - over.from);
  for (double& x : out.first(constant ? 2 : out.size()))
    if (is_number(x)) x = elapsed > 0 ? x / elapsed : absent;
  return constant;
}

namespace {
// Whether retained values keep their meaning.
bool same_definition(const SignalDefinition& a, const SignalDefinition& b) {
  return a.name == b.name && a.kind == b.kind && a.unit == b.unit && a.owner == b.owner && a.row == b.row && a.lateness == b.lateness &&
         a.points == b.points && a.source == b.source;
}
}  // namespace

void History::adopt(History& old) {
  State &s = *state_, &before = *old.state_;
  s.clock = before.clock;
  s.attempt_start = before.attempt_start;
  s.backfilling = before.backfilling;
  std::vector<std::optional<std::uint32_t>> renamed(before.signals.size());
  for (const std::uint32_t id : s.kept) {
    const SignalDefinition& definition = s.table.all()[id];
    const auto known = before.table.find(definition.name);
    SignalHistory* same = known ? before.find(*known) : nullptr;
    if (same != nullptr && same_definition(definition, same->definition())) {
      s.signals[id]->adopt(*same, s.clock);
      renamed[index(*known)] = id;
    } else {
      s.signals[id]->taken_since = s.clock;
    }
  }
  for (const EarlyArrival& a : before.early)
    if (renamed[a.signal]) s.early.push_back({a.arrival, *renamed[a.signal], a.slot, a.value});
  s.find_earliest();
  s.find_due();
}

void History::backfill_rows_only(bool on) noexcept {
  state_->backfilling = on;
  state_->backfilled_to = long_ago;
}

void History::save(Writer& out) const {
  const State& s = *state_;
  out(1, s.clock), out(2, s.attempt_start);
  out.columns(3, s.early, &EarlyArrival::arrival, &EarlyArrival::signal, &EarlyArrival::slot, &EarlyArrival::value);
  out.list(4, s.kept, [&](Writer& kept, std::uint32_t id) { kept(1, s.table.all()[id].name), kept(2, *s.signals[id]); });
}

Result<void> History::load(Reader& in) {
  State& s = *state_;
  in(1, s.clock), in(2, s.attempt_start);
  in.columns(3, s.early, &EarlyArrival::arrival, &EarlyArrival::signal, &EarlyArrival::slot, &EarlyArrival::value);
  std::erase_if(s.early, [&](const EarlyArrival& a) { return a.signal >= s.signals.size() || a.slot >= Topology::most_slots; });
  s.find_earliest();
  std::size_t loaded = 0;
  in.list(4, [&](Reader& kept) {
    const auto name = kept.get<std::string>(1);
    const auto same = std::find_if(s.kept.begin(), s.kept.end(), [&](std::uint32_t id) { return s.table.all()[id].name == name; });
    if (same == s.kept.end())
      return kept.fail(
          Error{Errc::malformed, "the snapshot retains '" + name + "', which this pack does not: load it with the pack that it names"});
    kept(2, *s.signals[*same]);
    ++loaded;
  });
  if (loaded != s.kept.size())
    in.fail(Error{Errc::malformed, "the snapshot retains the signals of another pack: load it with the pack that it names"});
  s.find_due();
  return in.status();
}

Duration History::longest_raw_window() const noexcept {
  Duration longest{0};
  for (const std::uint32_t id : state_->kept) longest = std::max(longest, state_->signals[id]->reach());
  return longest;
}

std::uint64_t History::rows_digest() const noexcept {
  std::uint64_t digest = 0;
  for (const std::uint32_t id : state_->kept) {
    if (!state_->signals[id]->has_rows()) continue;
    const std::string& name = state_->table.all()[id].name;
    const std::uint64_t both[2] = {digest, state_->signals[id]->digest()};
    digest = XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(both, sizeof both));
  }
  return digest;
}

std::uint64_t History::repeated_steps() const noexcept {
  std::uint64_t count = 0;
  for (const std::uint32_t id : state_->kept) count += state_->signals[id]->repeated_steps();
  return count;
}

std::uint64_t History::take_let_go() noexcept { return std::exchange(state_->let_go, 0); }

std::size_t History::retained_bytes() const noexcept {
  std::size_t bytes = state_->early.capacity() * sizeof(EarlyArrival);
  for (const std::uint32_t id : state_->kept) bytes += state_->signals[id]->retained_bytes();
  return bytes;
}

std::size_t History::retained_samples() const noexcept {
  std::size_t samples = 0;
  for (const std::uint32_t id : state_->kept) samples += state_->signals[id]->retained_samples();
  return samples;
}

}  // namespace tocsin::stream
