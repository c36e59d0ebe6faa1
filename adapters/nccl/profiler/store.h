#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/nccl/profiler/interface.h"
#include "adapters/nccl/ring.h"

namespace tocsin::adapters::nccl {

// Writes the Ring of this process. Called by all threads of NCCL: an event is a few stores into mapped memory, without
// a lock, an allocation or a system call. What NCCL gets as the handle of an event is a number that says where it lies,
// never an address: handles that are stale, or of another process (PXN), lead nowhere wrong.
class Store {
 public:
  // Maps the file of this process in the directory; `kernels`: NCCL
  // is asked to report when kernels begin and end. Why it could not, or
  // null.
  const char* open(const char* directory, std::uint64_t interface_version, bool kernels);
  [[nodiscard]] bool is_open() const noexcept { return ring_ != nullptr; }

  // A communicator's place, or -1 where there is none left. Callers take turns.
  int add(std::uint64_t hash, const char* name, int nodes, int ranks, int rank);
  void finalize(int communicator);

  // The handle of an event that began in a communicator (-1: in none that is known), or 0. `reported`: NCCL will
  // report the kernel of what this event calls or launches.
  std::uint64_t start(int communicator, std::uint64_t type, const Descriptor& event, std::uint64_t parent,
                      std::uint64_t group, bool reported);
  void stop(std::uint64_t handle);
  void record(std::uint64_t handle, int state, const StateArguments* arguments);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  struct Place;  // what a handle says

  std::uint64_t operation(int communicator, std::uint64_t type, const Descriptor& event, std::uint64_t parent,
                          std::uint64_t group, bool reported);
  std::uint64_t channel_started(std::uint64_t parent, const Descriptor& event);
  void channel_stopped(std::uint64_t handle, std::uint64_t gpu_time);
  std::uint64_t proxy_operation(int communicator, const Descriptor& event, std::uint64_t parent);
  std::uint64_t count_with_peer(int communicator, std::uint64_t peer, bool sends);
  int link(int communicator, std::uint64_t key);

  Ring* ring_ = nullptr;
  int file_ = -1;  // its lock says that this process lives
  pid_t pid_ = 0;
  std::uint64_t groups_ = 0;
  bool kernels_ = false;
};

}  // namespace tocsin::adapters::nccl
