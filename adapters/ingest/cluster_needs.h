#pragma once

#include <set>
#include <string>

#include "stream/rules/pack.h"

namespace tocsin::adapters::ingest {

// What the rules of the cluster need of the records of nodes and GPUs: nothing, where a pack has none.
struct ClusterNeeds {
  std::set<std::string, std::less<>> signals;  // with their aliases
  std::set<std::string, std::less<>> events;
  std::set<std::string, std::less<>> lines;  // the sources whose lines can become such events

  [[nodiscard]] bool any() const noexcept { return !signals.empty() || !events.empty(); }
};
[[nodiscard]] ClusterNeeds cluster_needs(const stream::Pack& pack);

}  // namespace tocsin::adapters::ingest
