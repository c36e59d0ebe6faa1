#include "stream/windows/ages.h"

#include <algorithm>
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
  // `last_of`: the time of a member's last record, of as many members as are known.
  const auto write = [&](std::size_t known, auto&& last_of) {
    Time same = now;  // members that wrote together have one age
    double age = 0;
    for (Slot slot = 0; slot < out.size(); ++slot) {
      if (!all_observed && slot < unread_.size() && unread_[slot]) continue;
      const Time last = slot < known ? last_of(slot) : long_ago;
      if (of_ranks && slot == reserved_slot ? last == long_ago : !expected[slot]) continue;
      if (last != long_ago) {
        if (last != same) {
          const Duration lost = gaps ? coverage.lost(last, now) : Duration{0};
          same = last;
          age = last < now ? std::max(seconds(now - last - lost), 0.0) : 0.0;
        }
        out[slot] = age;
        continue;
      }
      if (definition.source.empty()) continue;
      if (!std::exchange(asked, true))
        (void)coverage.over(definition.source, definition.owner, topology, from, now, covered_);
      if (slot < covered_.size() && covered_[slot]) out[slot] = unseen;
    }
  };
  if (event) write(last_.size(), [&](Slot slot) { return last_[slot]; });
  else if (signal == nullptr) write(0, [](Slot) { return long_ago; });
  else write(signal->arrivals().members(), [&arrivals = signal->arrivals()](Slot slot) { return arrivals.last(slot); });
  return false;
}

}  // namespace tocsin::stream
