#include "stream/zeros.h"

#include <algorithm>

#include "stream/value.h"

namespace tocsin::stream {

Zeros::Found Zeros::over(const SignalDefinition& signal, Time from, Time to, const Hearing& hearing, const Topology& topology) {
  const bool event = signal.kind == SignalKind::event;
  for (const Kept& kept : kept_)
    if (kept.used && kept.hearing == hearing.version() && kept.topology == topology.version() && kept.from == from && kept.to == to &&
        kept.level == signal.owner && kept.event == event && kept.source == signal.source)
      return {kept.values, kept.alike};

  Kept& kept = kept_[oldest_];
  oldest_ = (oldest_ + 1) % kept_.size();
  kept.used = true, kept.event = event;
  kept.source = signal.source, kept.level = signal.owner;
  kept.from = from, kept.to = to;
  kept.hearing = hearing.version(), kept.topology = topology.version();
  const std::size_t members = topology.size(signal.owner);
  if (signal.source.empty()) heard_.assign(members, event ? 0 : 1);
  else hearing.over(signal.source, signal.owner, topology, from, to, heard_);
  const auto existing = topology.existing(signal.owner);
  kept.values.resize(members);
  for (std::size_t slot = 0; slot < members; ++slot) {
    const bool reserved = signal.owner == Level::rank && slot == reserved_slot;
    kept.values[slot] = heard_[slot] && (existing[slot] || reserved) ? 0.0 : absent;
  }
  kept.alike = members > 1 &&
               std::all_of(kept.values.begin() + 1, kept.values.end(), [&](double x) { return is_absent(x) == is_absent(kept.values[1]); });
  return {kept.values, kept.alike};
}

}  // namespace tocsin::stream
