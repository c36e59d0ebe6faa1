#include "adapters/ingest/cluster_needs.h"

namespace tocsin::adapters::ingest {

ClusterNeeds cluster_needs(const stream::Pack& pack) {
  ClusterNeeds needs;
  for (const stream::Rule& rule : pack.rules) {
    if (rule.scope != stream::Scope::cluster) continue;
    for (const stream::SignalId id : rule.signals) {
      const stream::SignalDefinition& signal = pack.signals[id];
      if (signal.kind == stream::SignalKind::event) {
        needs.events.insert(signal.name);
        if (!signal.source.empty()) needs.lines.insert(signal.source);
        continue;
      }
      needs.signals.insert(signal.name);
      for (const auto& alias : signal.aliases) needs.signals.insert(alias.name);
    }
  }
  return needs;
}

}  // namespace tocsin::adapters::ingest
