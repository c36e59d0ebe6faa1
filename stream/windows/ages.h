#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/topology/topology.h"
#include "stream/windows/history.h"
#include "stream/windows/signal_history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// The age of the members' newest records of a signal, without the time in which no recorder wrote. A member without
// records has the age of the attempt if its source was live (of events: infinity), and no age if the source was not, or
// if the log that carries the member has not been read to this point. Owned by a History; its members are scratch
// memory.
class Ages {
 public:
  // Op w_age, w_within or w_older_than: of these, a member without records has an infinite age. True: all members but
  // the first are constant, and only the first two values were written.
  bool reduce(Op op, const SignalDefinition& definition, SignalHistory* signal, const WindowSpec& window,
              const Moment& moment, Time applied_to, const SourceCoverage& coverage, const Topology& topology,
              std::span<double> out);

 private:
  std::vector<std::uint8_t> covered_, unread_;
  std::vector<Time> last_;
};

}  // namespace tocsin::stream
