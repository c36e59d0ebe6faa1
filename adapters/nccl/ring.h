#pragma once

#include <cstddef>
#include <cstdint>

namespace tocsin::adapters::nccl {

// What NCCL's profiler plugin knows of one process, in a file that it maps and a reader reads: a head, its
// communicators, the last operations of each, and what the proxy sent and received last over each of its connections.
// All numbers are words that are stored at once; a reader copies what it needs and takes nothing for granted
// (reader.h).
//
// A process that lives holds a write lock (fcntl) on the whole file, which the kernel drops when it ends or runs
// another program. So a reader learns from the kernel whose file it is, in its own numbering of processes.
//
// Times are of CLOCK_MONOTONIC, in nanoseconds; 0: not yet. Positions and numbers begin with 1.

inline constexpr std::uint64_t ring_magic = 0x676e69726c63636eULL;  // "ncclring"
inline constexpr std::uint64_t ring_version = 1;
inline constexpr std::size_t ring_communicators = 48, ring_operations = 256, ring_links = 256;
inline constexpr std::uint64_t ring_channels = 64;  // NCCL's own limit: a bit of a word for each

enum CommunicatorState : std::uint64_t { communicator_free, communicator_open, communicator_finalized };
enum OperationFlags : std::uint64_t {
  operation_point_to_point = 1,
  operation_captured = 2,
  operation_reported = 4,  // NCCL will report when its kernel begins and ends
};

struct RingHead {
  std::uint64_t magic;  // written last
  std::uint64_t version;
  std::uint64_t size;               // of the file
  std::uint64_t pid;                // as the process itself knows it
  std::uint64_t interface_version;  // of NCCL's profiler interface: 4, 5 or 6
  std::uint64_t created;
  std::uint64_t untracked;      // communicators for which there was no room
  std::uint64_t past_launched;  // operations of communicators whose place another has taken
  std::uint64_t kernels;        // 1: NCCL is asked to report when kernels begin and end
  std::uint64_t unused[23];
};

struct RingCommunicator {
  std::uint64_t state;
  std::uint64_t generation;  // how many have had this place
  std::uint64_t hash;
  std::uint64_t ranks, rank, nodes;
  std::uint64_t created, finalized;
  std::uint64_t launched;         // operations of every kind: the position of the newest
  std::uint64_t collectives;      // of these, those that have a number
  std::uint64_t point_to_points;  // likewise
  std::uint64_t captured;         // of these, launched by a CUDA graph
  std::uint64_t calls;            // of NCCL's functions, as far as it reports them (interface 5 and later)
  std::uint64_t lost_links;       // connections for which there was no room
  std::uint64_t began;            // operations whose kernel began
  char name[64];
  std::uint64_t unused[9];
};

struct RingOperation {
  std::uint64_t position;  // 0 while the others are written
  // Among the communicator's collectives, or among its sends and receives; 0: a graph launched it, and has no number.
  std::uint64_t number;
  // NCCL's own number, which counts each function by itself. Of a send or receive: the number among those of its
  // direction with its peer; 0: not counted.
  std::uint64_t sequence;
  std::uint64_t count;
  std::uint64_t entered, started, completed;           // completed: all channels that had started had ended
  std::uint64_t gpu_started, gpu_completed;            // the first start and the last end by the GPU's clock
  std::uint64_t channels_started, channels_completed;  // a bit a channel
  std::uint64_t channels;
  std::uint64_t peer;   // of a send or receive; else the root
  std::uint64_t group;  // equal for operations that were launched together; 0: not known
  std::uint64_t flags;
  char function[24];
  char datatype[16];
  char algorithm[16];
  char protocol[8];
  std::uint64_t again;  // the position once more: a reader that finds both equal has read nothing half written
};

// One direction of a connection over the network, by channel and peer.
struct RingLink {
  std::uint64_t key;        // 0: free
  std::uint64_t operation;  // its position
  std::uint64_t steps;      // of that operation
  std::uint64_t posted;     // steps that were begun: a buffer is ready
  std::uint64_t moved;      // handed to the network, or taken from it
  std::uint64_t done;
  std::uint64_t state;    // the last that NCCL reported
  std::uint64_t changed;  // when a step was begun or ended last
};

// key: channel, whether it sends, peer, and the process for which it does, where that is another (PXN).
constexpr std::uint64_t link_key(std::uint64_t channel, bool sends, std::uint64_t peer, std::uint64_t pid) {
  return 1 | (sends ? 2 : 0) | (channel & 63) << 2 | (peer & 0xffffff) << 8 | pid << 32;
}

// What was launched to and from another rank of the communicator.
struct RingPeer {
  std::uint64_t key;  // 1 + the rank; 0: free
  std::uint64_t sends, receives;
  std::uint64_t unused;
};
inline constexpr std::size_t ring_peers = 64;

// The last place of the communicators is for what the proxy does for other processes.
inline constexpr std::size_t foreign_communicator = ring_communicators - 1;

struct RingPart {
  RingOperation operations[ring_operations];
  RingLink links[ring_links];
  RingPeer peers[ring_peers];
};

struct Ring {
  RingHead head;
  RingCommunicator communicators[ring_communicators];
  RingPart parts[ring_communicators];
};

static_assert(sizeof(RingHead) == 256 && sizeof(RingCommunicator) == 256);
static_assert(sizeof(RingOperation) == 192 && sizeof(RingLink) == 64);

}  // namespace tocsin::adapters::nccl
