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
  bool alike = true;
  if (signal.source.empty()) heard_.assign(members, event ? 0 : 1);
  else alike = hearing.over(signal.source, signal.owner, topology, from, to, heard_);
  const auto existing = topology.existing(signal.owner);
  alike = alike && members > 1 && std::find(existing.begin() + 1, existing.end(), 0) == existing.end();
  const auto value = [&](std::size_t slot) {
    const bool reserved = signal.owner == Level::rank && slot == reserved_slot;
    return heard_[slot] && (existing[slot] || reserved) ? 0.0 : absent;
  };
  kept.alike = alike;
  kept.values.resize(members);
  if (members > 0) kept.values[0] = value(0);
  if (alike) std::fill(kept.values.begin() + 1, kept.values.end(), value(1));
  else
    for (std::size_t slot = 1; slot < members; ++slot) kept.values[slot] = value(slot);
  return {kept.values, kept.alike};
}

}  // namespace tocsin::stream
