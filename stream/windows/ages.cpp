#include "stream/windows/ages.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace tocsin::stream {

bool Ages::reduce(Op op, const SignalDefinition& definition, SignalHistory* signal, const WindowSpec& window,
                  const Moment& moment, Time applied_to, const SourceCoverage& coverage, const Topology& topology,
                  std::span<double> out) {
  const Time now = std::min(moment.now, moment.attempt_end);
  const bool event = definition.kind == SignalKind::event;
  const bool none = signal == nullptr || !signal->arrivals().any();
  if (!event && none && definition.source.empty()) return is_constant(out, absent, absent);
  Time from = moment.attempt_start;
  if (event && window.span == WindowSpec::Span::time)
    from = std::max(from, time_range(window, moment.tick, moment.attempt_start).from);
  // Members without records: the time since the attempt's start, where the source was live.
  const double unseen =
      event || op != Op::w_age ? std::numeric_limits<double>::infinity() : coverage.live(moment.attempt_start, now);
  const auto expected = topology.all_expected(definition.owner);
  const bool all_observed = !coverage.unobserved(definition.owner, now, unread_);
  const bool of_ranks = definition.owner == Level::rank;
  if (none && all_observed && std::find(expected.begin() + (of_ranks ? 1 : 0), expected.end(), 0) == expected.end() &&
      coverage.over(definition.source, definition.owner, topology, from, now, covered_))
    return is_constant(out, !of_ranks && covered_.front() ? unseen : absent, covered_.back() ? unseen : absent);

  std::fill(out.begin(), out.end(), absent);
  if (event) {
    last_.assign(out.size(), long_ago);
    if (signal != nullptr &&
        !signal->last_event_arrivals(window, moment.tick, applied_to, moment.attempt_start, moment.now, last_))
      return false;
  }
  const bool gaps = coverage.gaps(now) > 0;
  bool asked = false;
  const auto age = [&](Time last) {
    const Duration lost = gaps ? coverage.lost(last, now) : Duration{0};
    return last < now ? std::max(seconds(now - last - lost), 0.0) : 0.0;
  };
  const auto write = [&](Slot slot, Time last) {
    if (!all_observed && slot < unread_.size() && unread_[slot]) return;
    if (of_ranks && slot == reserved_slot ? last == long_ago : !expected[slot]) return;
    if (last != long_ago) {
      out[slot] = age(last);
      return;
    }
    if (definition.source.empty()) return;
    if (!std::exchange(asked, true))
      (void)coverage.over(definition.source, definition.owner, topology, from, now, covered_);
    if (slot < covered_.size() && covered_[slot]) out[slot] = unseen;
  };
  if (event) {
    for (Slot slot = 0; slot < out.size(); ++slot) write(slot, last_[slot]);
    return false;
  }
  const Arrivals* const arrivals = signal == nullptr ? nullptr : &signal->arrivals();
  const std::size_t known = arrivals == nullptr ? 0 : std::min(out.size(), arrivals->members());
  const std::size_t first = of_ranks ? 1 : 0;
  const bool everyone = all_observed && std::memchr(expected.data() + first, 0, out.size() - first) == nullptr;
  for (Slot slot = 0; slot < out.size(); ++slot) {
    const Time last = slot < known ? arrivals->last(slot) : long_ago;
    if (everyone && last != long_ago) {  // members that wrote together have one age
      const std::size_t same = std::min(arrivals->together(slot), known - slot);
      std::fill_n(out.begin() + slot, same, age(last));
      slot += static_cast<Slot>(same) - 1;
    } else {
      write(slot, last);
    }
  }
  return false;
}

}  // namespace tocsin::stream
