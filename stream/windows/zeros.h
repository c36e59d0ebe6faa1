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

// Where nothing came: a count is 0 only of members whose source was covered throughout; a signal without a source has nobody who could
// say, and is 0 where it is no event. Many windows ask the same of a tick, so what was found is kept until something is covered, or the
// topology changes.
// Owned by a History.
class Zeros {
 public:
  // 0 or absent for each member of the signal's level. The reserved member's is 0 where it was covered: whether it is there at all is
  // the caller's to say.
  struct Found {
    std::span<const double> values;
    bool constant;  // all but the first have one value
  };
  Found over(const SignalDefinition& signal, Time from, Time to, const SourceCoverage& coverage, const Topology& topology);

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
