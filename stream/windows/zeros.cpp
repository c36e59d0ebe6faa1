#include "stream/windows/zeros.h"

#include <algorithm>
#include <cstring>

#include "stream/values/value.h"

namespace tocsin::stream {

std::uint32_t Zeros::column(const SignalDefinition& signal, const WindowSpec& window) {
  const bool event = signal.kind == SignalKind::event, timed = window.span == WindowSpec::Span::time;
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.level == signal.owner && kept.event == event && kept.lag == window.lag && kept.timed == timed &&
           (!timed || kept.over == window.over) && *kept.source == signal.source;
  });
  if (same != kept_.end()) return static_cast<std::uint32_t>(same - kept_.begin());
  Kept& made = kept_.emplace_back();
  made.source = &signal.source, made.level = signal.owner, made.event = event;
  made.timed = timed, made.over = window.over, made.lag = window.lag;
  return static_cast<std::uint32_t>(kept_.size() - 1);
}

Zeros::Found Zeros::over(std::uint32_t column, TimeRange range, const SourceCoverage& coverage,
                         const Topology& topology) {
  Kept& kept = kept_[column];
  const bool covered_as_before = kept.source->empty() || (kept.coverage == coverage.version() &&
                                                          kept.range.from == range.from && kept.range.to == range.to);
  if (kept.version > 0 && covered_as_before && kept.topology == topology.version()) return {kept.values, kept.constant};
  kept.range = range;
  kept.coverage = coverage.version(), kept.topology = topology.version();
  const std::size_t members = topology.size(kept.level);
  bool constant = true;
  if (kept.source->empty()) covered_.assign(members, kept.event ? 0 : 1);
  else constant = coverage.over(*kept.source, kept.level, topology, range.from, range.to, covered_);
  const auto existing = topology.existing(kept.level);
  constant = constant && members > 1 && std::find(existing.begin() + 1, existing.end(), 0) == existing.end();
  const auto value = [&](std::size_t slot) {
    const bool reserved = kept.level == Level::rank && slot == reserved_slot;
    return covered_[slot] && (existing[slot] || reserved) ? 0.0 : absent;
  };
  before_.swap(kept.values);
  kept.values.resize(members);
  if (members > 0) kept.values[0] = value(0);
  if (constant) std::fill(kept.values.begin() + 1, kept.values.end(), value(1));
  else
    for (std::size_t slot = 1; slot < members; ++slot) kept.values[slot] = value(slot);
  const bool same = kept.version > 0 && before_.size() == members &&
                    (members == 0 || std::memcmp(before_.data(), kept.values.data(), members * sizeof(double)) == 0);
  if (!same || kept.constant != constant) ++kept.version;
  kept.constant = constant;
  return {kept.values, kept.constant};
}

}  // namespace tocsin::stream
