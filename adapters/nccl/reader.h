#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/trace/collectives.h"
#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::nccl {

// An operation that a process has entered and not completed.
struct OpenOperation {
  trace::OpenCollective is;
  bool point_to_point = false;
  std::uint64_t position = 0;  // in the communicator, over collectives, sends and receives
  // NCCL's own number, by function, as RAS counts; of a send or receive: among those of its direction with `peer`.
  std::uint64_t sequence = 0;
  std::uint32_t peer = 0;   // of a send or receive
  std::uint64_t group = 0;  // equal for what one group call launched
  std::string algorithm, protocol;
  std::optional<stream::Duration> running{};  // since its kernel began; none: it waits for its turn on the GPU
  unsigned channels = 0, channels_started = 0, channels_completed = 0;
  bool captured = false;  // launched by a CUDA graph
};

// One direction of a connection over the network: how many steps of its operation were begun, were handed to the
// network or taken from it, and are done.
struct Connection {
  unsigned channel = 0, peer = 0;
  bool sends = false;
  std::optional<pid_t> for_process{};  // PXN: what the proxy does for another process of its node
  std::uint64_t operation = 0;         // its position; 0: not known
  std::uint64_t steps = 0, posted = 0, moved = 0, done = 0;
  std::string waits_for;         // "GPU", "peer", "network", "flush"; empty: for nothing
  stream::Duration unchanged{};  // since a step was begun or ended last
};

struct Communicator {
  std::string group;  // its hash, after the name that the job gave it: "default_pg 0x7d5e92a0b1c2d3e4"
  std::uint64_t hash = 0;
  std::uint32_t ranks = 0, rank = 0, nodes = 0;
  bool finalized = false;
  std::uint64_t launched = 0, collectives = 0, point_to_points = 0, captured = 0;
  std::uint64_t calls =
      0;  // more than what was launched: NCCL does some without reporting them (copy engines, one rank)
  std::vector<OpenOperation> open;  // oldest first
  // Launched last, before those; they may be done: NCCL was not asked to report their kernels.
  std::vector<OpenOperation> unreported;
  std::vector<Connection> connections;
  struct WithPeer {
    std::uint64_t sends = 0, receives = 0;
  };
  std::map<std::uint32_t, WithPeer> peers;
};

struct ProcessRing {
  pid_t pid = 0;
  std::uint64_t interface_version = 0;  // of NCCL's profiler interface
  std::uint64_t untracked = 0;          // communicators for which there was no room
  std::uint64_t past_launched = 0;      // in communicators that are no longer listed
  bool kernels_reported = true;         // false: not known what is done, but what cannot be
  std::vector<Communicator> communicators;

  [[nodiscard]] trace::ProcessCollectives collectives() const;
};

// What the plugin in one process has written. A file of a process that has ended is Errc::not_found; one that is being
// made, of another version, or with what cannot be, is an error, too. `now` is of CLOCK_MONOTONIC.
[[nodiscard]] stream::Result<ProcessRing> read_ring(const std::filesystem::path& file, stream::Duration now);

struct Rings {
  std::vector<ProcessRing> processes;
  std::vector<std::filesystem::path> ended;  // files of processes that have ended: may be deleted
  std::vector<stream::Error> unread;
};
// Those of all processes that write into a directory. Of a communicator whose ranks all are there, operations are open
// also where another rank has not launched them, or has launched something else under their number.
[[nodiscard]] Rings read_rings(const std::filesystem::path& directory, stream::Duration now);
[[nodiscard]] Rings read_rings(const std::filesystem::path& directory);

}  // namespace tocsin::adapters::nccl
