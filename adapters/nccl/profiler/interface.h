#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// NCCL's profiler interface, versions 4 (NCCL 2.27), 5 (2.28) and 6 (2.29.2 and later), as far as its binary form goes:
// the order and types of the members. NCCL looks for the newest of the symbols ncclProfiler_v6, _v5, _v4.
namespace tocsin::adapters::nccl {

inline constexpr int success = 0;

// Bits of the mask by which a plugin says what it wants to hear of, and types of events.
enum Event : std::uint64_t {
  event_group = 1 << 0,
  event_collective = 1 << 1,
  event_point_to_point = 1 << 2,
  event_proxy_operation = 1 << 3,
  event_proxy_step = 1 << 4,
  event_proxy_control = 1 << 5,
  event_kernel_channel = 1 << 6,
  event_net_plugin = 1 << 7,
  event_group_call = 1 << 8,
  event_collective_call = 1 << 9,
  event_point_to_point_call = 1 << 10,
  event_kernel_launch = 1 << 11,
  event_copy_collective = 1 << 12,
  event_copy_sync = 1 << 13,
  event_copy_batch = 1 << 14,
};
inline constexpr std::uint64_t events_of_4 = (1 << 8) - 1, events_of_5 = (1 << 12) - 1, events_of_6 = (1 << 15) - 1;

enum State : int {
  step_send_gpu_wait = 8,
  step_send_wait = 9,
  step_receive_wait = 10,
  step_receive_flush_wait = 11,
  step_receive_gpu_wait = 12,
  proxy_operation_in_progress = 19,
  step_send_peer_wait = 20,
  kernel_channel_stop = 22,
  last_state_of_4 = 22,
  last_state_of_5 = 24,
};

struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool captured;
      int depth;
    } group_call;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool captured;
    } collective_call;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool captured;
    } point_to_point_call;
    struct {
      void* stream;
    } kernel_launch;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* group;  // not in version 4, where the parent is the group
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* group;  // not in version 4
    } point_to_point;
    struct {
      pid_t pid;  // of the process that began the operation: with PXN another than that of the proxy
      std::uint8_t channel;
      int peer;
      int steps;
      int chunk_size;
      int sends;
    } proxy_operation;
    struct {
      int step;
    } proxy_step;
    struct {
      std::uint8_t channel;
      std::uint64_t gpu_time;
    } kernel_channel;
    struct {
      std::int64_t id;
      void* data;
    } net_plugin;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* datatype;
      const char* strategy;
      bool sync_within_batch;
      std::uint32_t batch_size, batches, copy_sequence;
      void* stream;
    } copy_collective;
    struct {
      bool complete;
      int ranks;
    } copy_sync;
    struct {
      int operations;
      std::size_t bytes;
      bool sync_within_batch;
    } copy_batch;
  };
};
// Version 5 is a prefix of this. Version 4 is, too, but that its type is one byte and that its collectives and
// point-to-point operations end before `group`: what is behind them is another's memory.
static_assert(offsetof(Descriptor, parent) == 8 && offsetof(Descriptor, rank) == 16 &&
              offsetof(Descriptor, collective) == 24 && offsetof(Descriptor, collective.group) == 104);

inline constexpr std::size_t size_of_descriptor_5 = 112;
static_assert(offsetof(Descriptor, collective.group) + sizeof(void*) == size_of_descriptor_5);

struct Descriptor4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    std::uint64_t words[10];  // those of a collective: the largest
    std::uint64_t first;
  };
};
static_assert(sizeof(Descriptor4) == 104 && offsetof(Descriptor4, words) == 24);

union StateArguments {
  struct {
    std::size_t bytes;
  } proxy_step;
  struct {
    int appended;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    std::uint64_t gpu_time;
  } kernel_channel;
};

inline constexpr int log_warning = 2, log_info = 3;
inline constexpr unsigned long log_of_profilers = 16384;
using Log = void (*)(int level, unsigned long subsystem, const char* file, int line, const char* format, ...);

struct Profiler4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator, std::uint64_t hash, int nodes, int ranks, int rank,
              Log log);
  int (*start_event)(void* context, void** handle, Descriptor4* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};

// Versions 5 and 6.
struct Profiler {
  const char* name;
  int (*init)(void** context, std::uint64_t hash, int* mask, const char* communicator, int nodes, int ranks, int rank,
              Log log);
  int (*start_event)(void* context, void** handle, Descriptor* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};

}  // namespace tocsin::adapters::nccl
