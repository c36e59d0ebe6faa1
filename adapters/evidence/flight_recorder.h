#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::evidence {

// A collective, send or receive that a rank's flight recorder still remembers.
struct DumpedCall {
  std::string group;         // its name, the same in all members
  std::string function;      // PyTorch's name: "all_reduce", "send"
  std::uint64_t number = 0;  // in its group, from 1; sends and receives have numbers of their own
  bool pairwise = false;     // send or receive
  bool open = false;         // neither completed nor retired
  bool started = false;      // it runs on the GPU
  std::string arguments;     // "[4, 3] Float"
  std::string place;         // the innermost frame of the program: "train_step (train.py:41)"; empty: not recorded
  stream::Time created{};
};

struct DumpedGroup {
  std::string description;
  std::vector<std::uint32_t> members;  // empty: the dump does not name them
  bool pairwise = false;               // it has sends and receives
  bool counted = false;                // the two counts are known
  std::uint64_t launched = 0, completed = 0;
};

// What PyTorch's flight recorder wrote of one rank.
struct FlightDump {
  std::uint32_t rank = 0;
  std::map<std::string, DumpedGroup> groups;
  std::vector<DumpedCall> calls;  // by time
};

// A dump as a pickle, which is read without running it, or as JSON.
[[nodiscard]] stream::Result<FlightDump> read_flight_dump(std::string_view bytes, std::uint32_t rank);

// Files of one job, the rank in the name of each: nccl_trace_rank_3, _dump_3.json. A directory stands for such files in
// it. A file that cannot be read is left out and reported: other ranks still tell.
struct FlightDumps {
  std::vector<FlightDump> dumps;  // by rank
  std::vector<std::string> problems;
};
[[nodiscard]] FlightDumps read_flight_dumps(const std::vector<std::filesystem::path>& paths);

}  // namespace tocsin::adapters::evidence
