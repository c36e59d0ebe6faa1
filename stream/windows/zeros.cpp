#include "stream/windows/zeros.h"

#include <algorithm>

#include "stream/values/value.h"

namespace tocsin::stream {

Zeros::Found Zeros::over(const SignalDefinition& signal, Time from, Time to, const SourceCoverage& coverage,
                         const Topology& topology) {
  const bool event = signal.kind == SignalKind::event;
  for (const Kept& kept : kept_)
    if (kept.used && kept.coverage == coverage.version() && kept.topology == topology.version() && kept.from == from &&
        kept.to == to && kept.level == signal.owner && kept.event == event && kept.source == signal.source)
      return {kept.values, kept.constant};

  Kept& kept = kept_[oldest_];
  oldest_ = (oldest_ + 1) % kept_.size();
  kept.used = true, kept.event = event;
  kept.source = signal.source, kept.level = signal.owner;
  kept.from = from, kept.to = to;
  kept.coverage = coverage.version(), kept.topology = topology.version();
  const std::size_t members = topology.size(signal.owner);
  bool constant = true;
  if (signal.source.empty()) covered_.assign(members, event ? 0 : 1);
  else constant = coverage.over(signal.source, signal.owner, topology, from, to, covered_);
  const auto existing = topology.existing(signal.owner);
  constant = constant && members > 1 && std::find(existing.begin() + 1, existing.end(), 0) == existing.end();
  const auto value = [&](std::size_t slot) {
    const bool reserved = signal.owner == Level::rank && slot == reserved_slot;
    return covered_[slot] && (existing[slot] || reserved) ? 0.0 : absent;
  };
  kept.constant = constant;
  kept.values.resize(members);
  if (members > 0) kept.values[0] = value(0);
  if (constant) std::fill(kept.values.begin() + 1, kept.values.end(), value(1));
  else
    for (std::size_t slot = 1; slot < members; ++slot) kept.values[slot] = value(slot);
  return {kept.values, kept.constant};
}

}  // namespace tocsin::stream
