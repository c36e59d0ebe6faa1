#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/evidence/flight_recorder.h"
#include "adapters/trace/collectives.h"

namespace tocsin::adapters::evidence {

// How far one rank is, as the rules see it of a running process.
struct DumpedRank {
  std::uint32_t rank = 0;
  // On one scale for all ranks: two ranks rarely belong to the same groups, so their totals cannot be compared. The
  // largest total, less the most that this rank lacks of the furthest member in any of its groups.
  trace::ProcessCollectives collectives{};
  // The oldest call in which it waits for others: one that a member has not entered, or has entered by another
  // function, or that all have entered and none has completed. Without one it waits for nobody, whatever it has
  // launched.
  bool waits = false;
  std::vector<std::uint32_t> missing{};  // members that have not entered that call
  stream::Time since{};
  std::vector<stream::Time> launches{};  // that its dump remembers
};

// A call that some ranks wait in, for ranks that wait for nobody.
struct UnfinishedCall {
  std::string group, description, function, arguments, place;
  std::uint64_t number = 0;
  std::vector<std::uint32_t> waiting{}, missing{};
};

struct DumpedJob {
  std::uint32_t world_size = 0;
  stream::Time begin{}, end{};  // at most the last minute of what the dumps remember
  std::vector<DumpedRank> ranks;
  std::vector<UnfinishedCall> unfinished;
};

[[nodiscard]] DumpedJob join_dumps(const std::vector<FlightDump>& dumps);

// "all_to_all 45265 of 72 (EXPERT_MODEL_PARALLEL_GROUP): ranks 8, 10-13, 15 wait, ranks 9, 14 have not entered". A line
// each, the calls with the fewest missing ranks first; those that lack nobody are counted, unless there are no others.
[[nodiscard]] std::string text_of(const DumpedJob& job);

// As records in the form of docs/json-lines.md: what the recorder would have written of the job, and then for `held`
// that nothing goes on.
[[nodiscard]] std::string lines_of(const DumpedJob& job, const std::string& name, stream::Duration held);

}  // namespace tocsin::adapters::evidence
