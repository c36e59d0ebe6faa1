#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/windows/history.h"
#include "stream/windows/signal_history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// How long ago the members' records of a signal came, without the time in which nobody wrote. A member of whom nothing came has the age
// of the attempt where somebody listened (of events: infinity), and none where nobody did, or where the log that tells of it has not been
// read so far.
// Owned by a History; what it keeps is scratch.
class Ages {
 public:
  // Op w_age. True: all members but the first are constant, and only the first two values were written.
  bool reduce(SignalHistory& signal, const WindowSpec& window, const Moment& moment, Time applied_to, const SourceCoverage& coverage,
              const Topology& topology, std::span<double> out);

 private:
  std::vector<std::uint8_t> covered_, unread_;
  std::vector<Time> last_;
};

}  // namespace tocsin::stream
