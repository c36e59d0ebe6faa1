// What enters a history: samples, events, signs of life.
#include "stream/windows/history_state.h"

namespace tocsin::stream {

History::Write History::sample(SignalId id, Slot slot, Time time, double value, Time arrival, const RecordOrder& order,
                               double step, Slot reporter) {
  SignalHistory* signal = state_->open(id);
  const auto number = static_cast<std::uint32_t>(id);
  if (signal == nullptr || is_absent(value)) return Write::unwanted;
  time = std::min(time, arrival);
  value = canonical(value);
  const Value one{id, slot, static_cast<float>(value)};
  if (state_->reached(arrival) && state_->write_recent({&one, 1}, time, arrival) == 1) return Write::taken;
  if (signal->definition().kind == SignalKind::event || state_->made_here(number, slot)) return Write::unwanted;
  if (!signal->counts_points() || signal->definition().owner != Level::job) step = absent;
  if (number == state_->step) state_->note_steps<double>({&slot, 1}, {&value, 1}, arrival, order);
  return state_->write(number, {time, slot, reporter, order.producer, order.sequence, order.number, false, value, step},
                       time, arrival);
}

std::size_t History::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const float> values,
                             Time arrival, const RecordOrder& order, bool arrived) {
  return state_->samples(id, slots, time, values, arrival, order, arrived);
}
std::size_t History::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const double> values,
                             Time arrival, const RecordOrder& order, bool arrived) {
  return state_->samples(id, slots, time, values, arrival, order, arrived);
}

bool History::arrives_with(SignalId id) const noexcept {
  const SignalKind kind = state_->table[id].kind;
  return wants(id) && kind != SignalKind::step && kind != SignalKind::event && kind != SignalKind::liveness &&
         state_->gap != static_cast<std::uint32_t>(id);
}

bool History::arrive(std::span<const SignalId> ids, std::span<const Arrival> arrivals) {
  State& s = *state_;
  if (s.retention->rows_only) return true;
  for (const Arrival& arrival : arrivals)
    if (!s.reached(arrival.at)) return false;
  if (ids.empty() || std::ranges::all_of(arrivals, [](const Arrival& arrival) { return arrival.slots.empty(); }))
    return true;
  s.arriving.clear();  // the first of those that have one object, and how many there are
  for (const SignalId id : ids) {
    SignalHistory* const signal = s.open(id);
    auto with = s.arriving.begin();
    while (with != s.arriving.end() && with->first->shared_arrivals() != signal->shared_arrivals()) ++with;
    if (with == s.arriving.end()) s.arriving.emplace_back(signal, 1);
    else ++with->second;
  }
  const auto note = [&](Arrivals& together) {
    for (const auto& [slots, at] : arrivals) {
      if (slots.empty()) continue;
      const bool in_a_row = kernels().in_a_row(slots.data(), slots.size());
      together.note(slots, in_a_row, at,
                    s.members(*s.arriving.front().first, in_a_row ? slots.back() : std::ranges::max(slots)));
    }
  };
  for (const auto& [first, count] : s.arriving) {
    const auto together = first->shared_arrivals();
    // One reference is this function's.
    if (together && together.use_count() == count + 1) {
      note(*together);
      continue;
    }
    const auto these = together ? std::make_shared<Arrivals>(*together) : std::make_shared<Arrivals>(false);
    note(*these);
    for (const SignalId id : ids)
      if (SignalHistory& signal = *s.find(id); signal.shared_arrivals() == together) signal.share(these);
  }
  return true;
}

bool History::keeps_rows_alone(SignalId id) const noexcept {
  const SignalDefinition& definition = state_->table[id];
  return wants(id) && !definition.points && !definition.wide() && definition.kind != SignalKind::event &&
         std::ranges::none_of(state_->retention->asked[static_cast<std::size_t>(id)],
                              [](const Asked& asked) { return asked.window.span == WindowSpec::Span::points; });
}

bool History::can_follow(Time arrival, Time end_of_lateness) const noexcept {
  const State& s = *state_;
  return s.clock != long_ago && arrival <= s.clock && s.clock < end_of_lateness && s.early.empty();
}

void History::write(std::span<const Place> signals, std::span<const Cells> cells) {
  if (signals.empty() || cells.empty()) return;
  State& s = *state_;
  Slot greatest = 0;
  for (const Cells& one : cells)
    greatest = std::max(greatest, one.in_a_row ? one.slots.back() : std::ranges::max(one.slots));
  const std::size_t members = s.members(*s.open(signals.front().signal), greatest);
  constexpr std::size_t few_signals = 4;  // for these, arranging costs more
  SingleCells& singles = s.scratch->singles;
  const bool single = signals.size() >= few_signals && singles.take(cells);
  for (const auto& [id, place, factor] : signals) {
    (void)s.open(id);
    const State::Kept* const one = s.look_up(static_cast<std::uint32_t>(id));
    if (Rows<float>* const rows = one == nullptr ? nullptr : one->rows_alone) {
      if (single && factor == 1) {
        singles.arrange(rows->grid());
        rows->write(singles, place, s.clock, members);
      } else {
        rows->write(cells, place, factor, s.clock, members);
      }
    }
    s.wrote(static_cast<std::uint32_t>(id));
  }
}

std::size_t History::samples(std::span<const Value> values, Time time, Time arrival, const RecordOrder& order) {
  State& s = *state_;
  std::size_t late = 0;
  const bool reached = s.reached(arrival);
  for (std::size_t i = 0;; ++i) {
    if (reached) i += s.write_recent(values.subspan(i), std::min(time, arrival), arrival);
    if (i >= values.size()) break;
    const auto& [id, slot, value, arrived] = values[i];
    late += samples(id, {&slot, 1}, time, std::span{&value, 1}, arrival, order.after(i), arrived);
  }
  return late;
}

template <class V>
std::size_t History::State::samples(SignalId id, std::span<const Slot> slots, Time time, std::span<const V> values,
                                    Time arrival, const RecordOrder& order, bool arrived) {
  const SignalHistory* signal = open(id);
  if (signal == nullptr || signal->definition().kind == SignalKind::event) return 0;
  const auto number = static_cast<std::uint32_t>(id);
  time = std::min(time, arrival);
  if (number == step) note_steps(slots, values, arrival, order);
  if (number != gap) return write(number, slots, time, values, arrival, order, arrived);
  std::size_t late = 0;  // if the engine makes the signal, a producer's samples are ignored
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (!made_here(number, slots[i]))
      late += write(number, slots.subspan(i, 1), time, values.subspan(i, 1), arrival, order.after(i));
  return late;
}

History::Write History::event(SignalId id, Slot slot, Time time, std::span<const EventField> fields, Time arrival,
                              const RecordOrder& order) {
  State& s = *state_;
  SignalHistory* signal = s.open(id);
  if (signal == nullptr || signal->definition().kind != SignalKind::event) return Write::unwanted;
  s.fields.clear();
  for (const EventField& field : fields) s.fields.emplace_back(field.name, canonical(field.value));
  const bool in_time = signal->write_event(slot, std::min(time, arrival), s.fields, arrival, order, s.now(arrival));
  s.wrote(static_cast<std::uint32_t>(id));
  s.arrive(static_cast<std::uint32_t>(id), slot, arrival, 0);
  return in_time ? Write::taken : Write::late;
}

void History::alive(Level level, std::span<const Slot> slots, Time arrival) {
  State& s = *state_;
  if (slots.empty()) return;
  for (const std::uint32_t id : s.retention->liveness) {
    if (s.table.all()[id].owner != level) continue;
    SignalHistory& signal = *s.open(static_cast<SignalId>(id));
    if (arrival <= s.clock || s.clock == long_ago)
      signal.own_arrivals().note(slots, kernels().in_a_row(slots.data(), slots.size()), arrival,
                                 s.members(signal, std::ranges::max(slots)));
    else
      for (const Slot slot : slots) s.arrive(id, slot, arrival, 0);
  }
}

}  // namespace tocsin::stream
