#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/graph/time_range.h"
#include "stream/topology/topology.h"
#include "stream/values/signal.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// Decides whether an empty window counts as 0 or unknown: 0 for members whose source was live throughout. A signal
// without a source is 0 unless it is an event. Many windows ask the same at a tick, so there is one column for all that
// reach equally far back, which is computed again if the coverage or the topology changes. Owned by a History.
class Zeros {
 public:
  // 0 or absent for each member of the signal's level. The reserved member's is 0 if it was covered: the caller decides
  // whether it exists at all.
  struct Found {
    std::span<const double> values;
    bool constant;  // all but the first have one value
  };
  // The column for this window, by number.
  [[nodiscard]] std::uint32_t column(const SignalDefinition& signal, const WindowSpec& window);
  Found over(std::uint32_t column, TimeRange range, const SourceCoverage& coverage, const Topology& topology);
  // Of the column at this tick; changes if the values do.
  [[nodiscard]] std::uint32_t version(std::uint32_t column, Time tick, Time attempt_start,
                                      const SourceCoverage& coverage, const Topology& topology) {
    const Kept& kept = kept_[column];
    WindowSpec window;
    window.span = kept.timed ? WindowSpec::Span::time : WindowSpec::Span::attempt;
    window.over = kept.over, window.lag = kept.lag;
    (void)over(column, range(window, tick, attempt_start), coverage, topology);
    return kept.version;
  }
  // What an empty window counts over: one of points, or of the attempt, over all of it so far.
  [[nodiscard]] static TimeRange range(const WindowSpec& window, Time tick, Time attempt_start) {
    TimeRange range = time_range(window, tick, attempt_start);
    if (window.span != WindowSpec::Span::time) range.from = attempt_start;
    return range;
  }

 private:
  struct Kept {
    TimeRange range{};
    std::uint64_t coverage = 0, topology = 0;
    std::uint32_t version = 0;
    Level level{};
    bool event = false, timed = false, constant = false;
    Duration over{}, lag{};  // of the windows
    std::vector<double> values;
    const std::string* source = nullptr;  // of the signals' definitions
  };
  std::vector<Kept> kept_;
  std::vector<double> before_;
  std::vector<std::uint8_t> covered_;
};

}  // namespace tocsin::stream
