#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/values/signal.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// Decides whether an empty window counts as 0 or unknown: 0 for members whose source was live throughout. A signal
// without a source is 0 unless it is an event. Many windows ask the same at a tick, so answers are cached until the
// coverage or the topology changes. Owned by a History.
class Zeros {
 public:
  // 0 or absent for each member of the signal's level. The reserved member's is 0 if it was covered: the caller decides
  // whether it exists at all.
  struct Found {
    std::span<const double> values;
    bool constant;  // all but the first have one value
  };
  Found over(const SignalDefinition& signal, Time from, Time to, const SourceCoverage& coverage,
             const Topology& topology);

 private:
  struct Kept {
    bool used = false, event = false, constant = false;
    std::string source;
    Level level{};
    Time from{}, to{};
    std::uint64_t coverage = 0, topology = 0;
    std::vector<double> values;
  };
  std::array<Kept, 8> kept_;
  std::size_t oldest_ = 0;
  std::vector<std::uint8_t> covered_;
};

}  // namespace tocsin::stream
