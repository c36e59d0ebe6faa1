// What a restart has of a history: all but its rows, which it reads again.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "stream/windows/history_state.h"

namespace tocsin::stream {

// A restore measures a step that began at most three minutes before the rows of step_gap.
Duration History::State::reach(const Kept& one) const noexcept {
  const Duration rows = one.signal->reach();
  return one.id == gap && rows > Duration{0} ? rows + std::chrono::minutes{3} : rows;
}

void History::need_rows_of(const History& other, Time clock) {
  const State& s = *state_;
  State::Needs needs{std::vector<bool>(s.table.size(), true), {}};
  for (const State::Kept& one : other.state_->kept) {
    const Time from = clock - other.state_->reach(one);
    needs.from.emplace_back(from, one.id);
    if (one.id == s.gap) needs.from.emplace_back(from, *s.step);  // which it is made of
  }
  std::ranges::sort(needs.from, std::greater{});
  state_->needs = std::make_unique<State::Needs>(std::move(needs));
}

bool History::need_more(Time arrival) {
  if (state_->needs == nullptr) return false;
  auto& [later, from] = *state_->needs;
  bool any = false;
  for (; !from.empty() && from.back().first <= arrival; any = true) {
    later[from.back().second] = false;
    from.pop_back();
  }
  return any;
}

void History::take_rows(History& other) {
  for (const State::Kept& one : other.state_->kept)
    if (SignalHistory* signal = state_->find(static_cast<SignalId>(one.id))) signal->take_rows(*one.signal);
  state_->find_due();
}

void History::save(Writer& out) const {
  const State& s = *state_;
  out(1, s.clock), out(2, s.attempt_start);
  out.columns(3, s.early, &EarlyArrival::arrival, &EarlyArrival::signal, &EarlyArrival::slot, &EarlyArrival::value);
  std::map<const Arrivals*, std::shared_ptr<const Arrivals>> arrivals;  // what signals share is copied once
  out.list(4, s.kept, [&](Writer& kept, const State::Kept& one) {
    SignalHistory& signal = *one.signal;
    s.advance_rows(signal);  // a restart reads again only what is kept behind the clock
    auto& copy = arrivals[&signal.arrivals()];
    if (!copy) copy = std::make_shared<const Arrivals>(signal.arrivals());
    kept(1, s.table.all()[one.id].name);
    kept.object(2, [&](Writer& of) { signal.save(of, copy); });
  });
}

Result<void> History::load(Reader& in) {
  State& s = *state_;
  in(1, s.clock), in(2, s.attempt_start);
  in.columns(3, s.early, &EarlyArrival::arrival, &EarlyArrival::signal, &EarlyArrival::slot, &EarlyArrival::value);
  std::erase_if(s.early,
                [&](const EarlyArrival& a) { return a.signal >= s.places.size() || a.slot >= Topology::most_slots; });
  s.find_earliest();
  in.list(4, [&](Reader& kept) {
    const auto name = kept.get<std::string>(1);
    const auto id = s.table.find(name);
    SignalHistory* const signal = id && s.table[*id].name == name ? s.open(*id) : nullptr;
    if (signal == nullptr)
      return kept.fail(Error{Errc::malformed, "the snapshot retains '" + name +
                                                  "', which this pack does not: load it with the pack that it names"});
    kept(2, *signal);
  });
  s.share_arrivals();
  s.find_due();
  return in.status();
}

void History::State::share_arrivals() {
  std::vector<SignalHistory*> firsts;
  for (const Kept& one : kept) {
    SignalHistory& signal = *one.signal;
    if (!signal.arrivals().any()) continue;
    const auto same = std::ranges::find_if(firsts, [&](const SignalHistory* first) {
      return first->definition().owner == signal.definition().owner && first->arrivals().same(signal.arrivals());
    });
    if (same == firsts.end()) firsts.push_back(&signal);
    else signal.share((*same)->shared_arrivals());
  }
}

Duration History::reach() const noexcept {
  Duration longest{0};
  for (const State::Kept& one : state_->kept) longest = std::max(longest, state_->reach(one));
  return longest;
}

}  // namespace tocsin::stream
