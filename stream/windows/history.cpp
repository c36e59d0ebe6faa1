#include "stream/windows/history.h"

#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "stream/values/prefetch.h"
#include "stream/windows/history_state.h"

namespace tocsin::stream {
namespace {

std::size_t index(SignalId id) noexcept { return static_cast<std::size_t>(id); }

// Whether an empty window counts as 0.
bool counts_nothing(Op op, const WindowSpec& window) noexcept {
  return (op == Op::w_count || op == Op::w_repeats || op == Op::w_distinct) &&
         !(window.full && window.span == WindowSpec::Span::points);
}

}  // namespace

History::State::State(std::shared_ptr<const Retention> retained, const Topology& of, const Symbols* symbols_of,
                      std::shared_ptr<ReductionScratch> shared)
    : retention(std::move(retained)),
      table(*retention->table),
      topology(of),
      symbols(symbols_of),
      places(table.size(), none),
      step(retention->step),
      gap(retention->gap),
      scratch(shared ? std::move(shared) : std::make_shared<ReductionScratch>()) {
  for (std::uint32_t id = 0; id < table.size(); ++id)
    for (const Asked& need : retention->asked[id])
      if (need.window.span == WindowSpec::Span::earlier)
        earlier.add(need.window, EarlierAttempts::key(table.all()[id], need.window));
}

SignalHistory* History::State::open_first(SignalId signal) {
  const auto id = static_cast<std::uint32_t>(signal);
  if (!retention->wants(id)) return nullptr;
  auto made =
      std::make_unique<SignalHistory>(table.all()[id], retention->asked[id], symbols, *scratch, retention->rows_only);
  if (end != never) made->end(end);
  Rows<float>* const rows_alone = id == gap ? nullptr : made->rows_alone();  // of step_gap most samples are made here
  const auto place =
      kept.insert(std::ranges::upper_bound(kept, id, {}, &Kept::id), Kept{id, never, rows_alone, std::move(made)});
  for (auto later = place; later != kept.end(); ++later)
    places[later->id] = static_cast<std::uint16_t>(later - kept.begin());
  ++kept_at[static_cast<std::size_t>(table.all()[id].owner)];
  return place->signal.get();
}

// `nothing`: no member has anything in the window, and `out` was not written.
bool History::State::fill_zeros(const WindowSpec& window, const SignalHistory* signal, bool nothing, TimeRange range,
                                const SourceCoverage& sources, std::span<double> out) {
  const SignalDefinition& definition = table[window.signal];
  const auto [none, constant] = zeros.over(zeros.column(definition, window), range, sources, topology);
  const bool reserved = definition.owner == Level::rank;
  const double first = reserved && !(signal && signal->arrivals().ever(reserved_slot)) ? absent : none.front();
  if (nothing && constant) return is_constant(out, first, none.back());
  if (!nothing && is_absent(out[0])) out[0] = first;
  if (!nothing && kernels().count_present(out.data() + 1, out.size() - 1) == out.size() - 1) return false;
  for (std::size_t slot = 0; slot < out.size(); ++slot)
    if (nothing || is_absent(out[slot])) out[slot] = slot == 0 ? first : none[slot];
  return false;
}

History::History(const Graph& graph, std::span<const NodeId> reductions, std::span<const NodeId> windows,
                 const Topology& topology, const Symbols* symbols, std::span<const NodeId> open)
    : History(std::make_shared<const Retention>(graph, reductions, windows, open), topology, symbols) {}
History::History(std::shared_ptr<const Retention> retention, const Topology& topology, const Symbols* symbols,
                 std::shared_ptr<ReductionScratch> scratch)
    : state_(std::make_unique<State>(std::move(retention), topology, symbols, std::move(scratch))) {}
History::~History() = default;
History::History(History&&) noexcept = default;

bool History::wants(SignalId signal) const noexcept {
  const auto id = static_cast<std::uint32_t>(signal);
  return state_->retention->wants(id) && (state_->needs == nullptr || !state_->needs->later[id]);
}

bool History::rows_alone() const noexcept { return state_->retention->rows_only; }

Time History::next_due() const noexcept { return state_->due; }
Time History::next_due(std::span<const SignalId> signals) const noexcept {
  Time due = never;
  const auto see = [&](std::uint32_t id) {
    if (const auto* const one = state_->look_up(id)) due = std::min(due, one->due);
  };
  for (const SignalId id : signals) see(static_cast<std::uint32_t>(id));
  for (const std::uint32_t id : state_->retention->of_steps) see(id);
  return due;
}

void History::prefetch() const noexcept { prefetch_object(*state_); }

void History::prefetch_columns() const noexcept { prefetch_all(state_->kept), prefetch_all(state_->places); }

void History::prefetch_signals() const noexcept {
  for (const State::Kept& one : state_->kept)
    if (one.due != never) prefetch_object(*one.signal);
}

void History::settle(Time clock, const std::function<void(const Applied&)>& applied) {
  State& s = *state_;
  pass(clock);
  if (s.clock < s.due) return;
  for (const State::Kept& one : s.kept)
    if (one.due <= s.clock) prefetch_object(*one.signal);
  for (const State::Kept& one : s.kept)
    if (one.due <= s.clock) one.signal->prefetch_closing();
  for (State::Kept& one : s.kept) {
    if (one.due > s.clock) continue;
    SignalHistory& signal = *one.signal;
    signal.settle(s.clock, [&](Time at) { applied({static_cast<SignalId>(one.id), at}); });
    if (signal.lags()) signal.advance(s.clock, s.attempt_start, s.end);
    s.let_go += signal.take_let_go();
    one.due = signal.next_due();
  }
  s.find_first_due();
}

void History::pass(Time clock) {
  State& s = *state_;
  s.see_early(s.clock == long_ago ? long_ago : s.clock + Duration{1});
  s.clock = std::max(s.clock, clock);
}

void History::end(Time end) noexcept {
  state_->end = end;
  for (const State::Kept& one : state_->kept) one.signal->end(end);
}

bool History::reduce(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment,
                     const SourceCoverage& coverage, std::span<double> out) {
  if (!window.full || window.span != WindowSpec::Span::time)
    return reduce_so_far(reduction, window, other, moment, coverage, out);
  const TimeRange of = time_range(window, moment.tick, moment.attempt_start);
  if (of.from < moment.attempt_start) return is_constant(out, absent, absent);
  bool constant = reduce_so_far(reduction, window, other, moment, coverage, out);
  const SignalDefinition& definition = state_->table[window.signal];
  if (definition.source.empty()) return constant;
  Zeros& zeros = state_->zeros;
  const auto [covered, same] = zeros.over(zeros.column(definition, window), of, coverage, state_->topology);
  if (constant && !same) std::fill(out.begin() + 2, out.end(), out[1]);
  constant = constant && same;
  for (std::size_t slot = 0; slot < (constant ? 2 : out.size()); ++slot)
    if (is_absent(covered[slot])) out[slot] = absent;
  return constant;
}

bool History::reduce_so_far(const Node& reduction, const WindowSpec& window, Column other, const Moment& moment,
                            const SourceCoverage& coverage, std::span<double> out) {
  State& s = *state_;
  if (const Op made_of = column_of(reduction.op); made_of != reduction.op && made_of != Op::w_age) {
    Node column;
    column.op = made_of;
    return reduce_so_far(column, window, other, moment, coverage, out);
  }
  SignalHistory* signal = s.find(window.signal);
  if (!wants(window.signal) || out.empty()) return is_constant(out, absent, absent);
  const SignalDefinition& definition = s.table[window.signal];
  if (window.span == WindowSpec::Span::earlier) {
    s.earlier.reduce(reduction, window, definition, s.topology, out);
    return false;
  }
  s.see_early(moment.now);
  s.attempt_start = moment.attempt_start;
  // Rules that run after the end see everything that was applied, late records included.
  const bool at_end =
      moment.attempt_end != never && moment.now == moment.attempt_end && moment.tick >= moment.attempt_end;
  const Time applied_to = at_end ? never : moment.tick;

  if (column_of(reduction.op) == Op::w_age)
    return s.ages.reduce(reduction.op, definition, signal, window, moment, applied_to, coverage, s.topology, out);
  if (reduction.op == Op::w_interval) {
    std::fill(out.begin(), out.end(), absent);
    if (signal != nullptr) signal->arrivals().usual(seconds(definition.row), out);
    return false;
  }
  const auto found = signal == nullptr
                         ? SignalHistory::Found::nothing
                         : signal->reduce(reduction, window, other, moment.tick, applied_to, moment.attempt_start, out);
  const bool rate = definition.kind == SignalKind::event && reduction.op == Op::w_rate;
  const bool counts = counts_nothing(reduction.op, window) || rate;
  if (found == SignalHistory::Found::not_retained) return is_constant(out, absent, absent);
  const bool nothing = found == SignalHistory::Found::nothing;
  if (!counts) return nothing && is_constant(out, absent, absent);
  const TimeRange over = Zeros::range(window, moment.tick, moment.attempt_start);
  const bool constant = s.fill_zeros(window, signal, nothing, over, coverage, out);
  if (!rate) return constant;
  const double elapsed = seconds(over.to - over.from);
  for (double& x : out.first(constant ? 2 : out.size()))
    if (is_number(x)) x = elapsed > 0 ? x / elapsed : absent;
  return constant;
}

Leaves::Reading History::reading(const Node& reduction, const WindowSpec& window, const Moment& moment,
                                 const SourceCoverage& coverage) {
  State& s = *state_;
  Leaves::Reading reading;
  const Op op = column_of(reduction.op);
  const bool timed = window.span == WindowSpec::Span::time;
  const SignalHistory* const signal = s.find(window.signal);
  // Without any record, no member's is within or older than a limit.
  const bool unseen = op != reduction.op && (signal == nullptr || !signal->arrivals().any());
  if (window.span == WindowSpec::Span::earlier || moment.attempt_end != never || (op == Op::w_age && !unseen) ||
      op == Op::w_interval || op == Op::w_rate || op == Op::w_time_to || !wants(window.signal))
    return reading;
  if (window.signal > SignalId{std::numeric_limits<std::uint16_t>::max()}) return reading;
  const TimeRange range = time_range(window, moment.tick, moment.attempt_start);
  reading.signal = static_cast<std::uint16_t>(window.signal);
  if (signal != nullptr) reading.content = static_cast<std::uint32_t>(signal->version());
  if (op == Op::w_age) return reading.lasts(moment.tick, never), reading;
  Time until = signal == nullptr ? never : signal->unchanged_until(window, range);
  const bool full = timed && window.full;
  if (full && range.from < moment.attempt_start) until = std::min(until, moment.attempt_start + window.over);
  reading.lasts(moment.tick, until);
  const SignalDefinition& definition = s.table[window.signal];
  if (!counts_nothing(op, window) && !(full && !definition.source.empty())) return reading;
  const std::uint32_t zeros_of = s.zeros.column(definition, window);
  if (zeros_of >= Leaves::Reading::of_finding) return Leaves::Reading{};
  reading.zeros_of = static_cast<std::uint16_t>(zeros_of);
  reading.zeros = s.zeros.version(zeros_of, moment.tick, moment.attempt_start, coverage, s.topology);
  return reading;
}

bool History::same(const Leaves::Reading& reading, const Moment& moment, const SourceCoverage& coverage) {
  State& s = *state_;
  if (!reading.lasts_to(moment.tick) || moment.attempt_end != never) return false;
  s.see_early(moment.now);
  const SignalHistory* const signal = s.find(static_cast<SignalId>(reading.signal));
  if (reading.content != (signal == nullptr ? 0 : static_cast<std::uint32_t>(signal->version()))) return false;
  return reading.zeros_of == Leaves::Reading::no_zeros ||
         reading.zeros == s.zeros.version(reading.zeros_of, moment.tick, moment.attempt_start, coverage, s.topology);
}

namespace {
// Whether retained values keep their meaning.
bool same_definition(const SignalDefinition& a, const SignalDefinition& b) {
  return a.name == b.name && a.kind == b.kind && a.unit == b.unit && a.owner == b.owner && a.row == b.row &&
         a.lateness == b.lateness && a.points == b.points && a.source == b.source;
}
}  // namespace

void History::adopt(History& old) {
  State &s = *state_, &before = *old.state_;
  s.clock = before.clock;
  s.attempt_start = before.attempt_start;
  std::vector<std::optional<std::uint32_t>> renamed(before.places.size());
  for (std::uint32_t id = 0; id < s.table.size(); ++id) {
    if (!s.retention->wants(id)) continue;
    const SignalDefinition& definition = s.table.all()[id];
    const auto known = before.table.find(definition.name);
    if (!known || !old.wants(*known) || !same_definition(definition, before.table[*known])) continue;
    if (SignalHistory* same = before.find(*known)) {
      before.advance_rows(*same);
      s.open(static_cast<SignalId>(id))->adopt(*same, s.clock);
      renamed[index(*known)] = id;
    }
  }
  for (const EarlyArrival& a : before.early)
    if (renamed[a.signal]) s.early.push_back({a.arrival, *renamed[a.signal], a.slot, a.value});
  s.find_earliest();
  s.find_due();
}

std::uint64_t History::rows_digest() const noexcept {
  std::uint64_t digest = 0;
  for (const State::Kept& one : state_->kept) {
    if (one.signal->digest() == 0) continue;
    const std::string& name = state_->table.all()[one.id].name;
    const std::uint64_t both[2] = {digest, one.signal->digest()};
    digest = XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(both, sizeof both));
  }
  return digest;
}

std::uint64_t History::take_let_go() noexcept { return std::exchange(state_->let_go, 0); }

std::size_t History::estimated_bytes() const noexcept {
  State& s = *state_;
  auto& [version, signals, bytes] = s.estimate;
  if (version == s.topology.version() && signals == s.kept.size()) return bytes;
  version = s.topology.version(), signals = s.kept.size(), bytes = 0;
  for (std::size_t level = 0; level < level_count; ++level)
    bytes += s.kept_at[level] * ((12u << 10) + 1280 * s.topology.size(static_cast<Level>(level)));
  return bytes;
}

std::size_t History::retained_bytes() const noexcept {
  std::size_t bytes = state_->early.capacity() * sizeof(EarlyArrival);
  for (const State::Kept& one : state_->kept) bytes += one.signal->retained_bytes();
  return bytes;
}

std::size_t History::retained_samples() const noexcept {
  std::size_t samples = 0;
  for (const State::Kept& one : state_->kept) samples += one.signal->retained_samples();
  return samples;
}

// ---- what is shown of an attempt while it runs

const Accumulators* SignalHistory::since_start() const noexcept {
  if (!points_ || points_->attempts.empty()) return nullptr;
  return &*points_->attempts.front().accumulators;
}

const PointsView* SignalHistory::latest_points() const noexcept {
  const PointsView* most = nullptr;
  if (points_)
    for (const PointsView& view : points_->windows)
      if (most == nullptr || view.spec().points > most->spec().points) most = &view;
  return most;
}

History::Steps History::steps() const noexcept {
  const State& s = *state_;
  if (!s.step || s.places[*s.step] == State::none) return {};
  const SignalHistory& steps = s.of(*s.step);
  return {steps.step_values, steps.step_changes};
}

bool History::came(SignalId signal) const noexcept {
  const SignalHistory* found = state_->find(signal);
  return found != nullptr && found->arrivals().any();
}

const Accumulators* History::since_start(SignalId signal) const noexcept {
  const SignalHistory* found = state_->find(signal);
  return found == nullptr ? nullptr : found->since_start();
}

const PointsView* History::latest_points(SignalId signal) const noexcept {
  const SignalHistory* found = state_->find(signal);
  return found == nullptr ? nullptr : found->latest_points();
}

}  // namespace tocsin::stream
