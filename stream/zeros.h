#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/hearing.h"
#include "stream/signal.h"
#include "stream/topology.h"

namespace tocsin::stream {

// Where nothing came: a count is 0 only of members whose source was heard throughout; a signal without a source has nobody who could
// say, and is 0 where it is no event. Many windows ask the same of a tick, so what was found is kept until something is heard, or the
// topology changes.
// Owned by a History.
class Zeros {
 public:
  // 0 or absent for each member of the signal's level. The reserved member's is 0 where it was heard: whether it is there at all is
  // the caller's to say.
  struct Found {
    std::span<const double> values;
    bool alike;  // all but the first have one value
  };
  Found over(const SignalDefinition& signal, Time from, Time to, const Hearing& hearing, const Topology& topology);

 private:
  struct Kept {
    bool used = false, event = false, alike = false;
    std::string source;
    Level level{};
    Time from{}, to{};
    std::uint64_t hearing = 0, topology = 0;
    std::vector<double> values;
  };
  std::array<Kept, 8> kept_;
  std::size_t oldest_ = 0;
  std::vector<std::uint8_t> heard_;
};

}  // namespace tocsin::stream
