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
  // Maps the file of this process in the directory; `kernels` is what NCCL is asked to report. Why it could not, or
  // null.
  const char* open(const char* directory, std::uint64_t interface_version, KernelReports kernels);
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

  // Whether NCCL shall report the kernel of the operation that comes after one that is called now. While it waits to
  // report one, a thread of NCCL's polls without a pause, unless the network keeps that thread polling anyway. So
  // within a node it is some: those that begin a communicator, then one a second. Which others are open follows from
  // what the other ranks have launched.
  bool next_kernel_reported(int communicator, bool captured);

 private:
  struct Place;  // what a handle says

  std::uint64_t operation(int communicator, std::uint64_t type, const Descriptor& event, std::uint64_t parent,
                          std::uint64_t group, bool reported);
  std::uint64_t channel_started(std::uint64_t parent, const Descriptor& event);
  void channel_stopped(std::uint64_t handle, std::uint64_t gpu_time);
  std::uint64_t proxy_operation(int communicator, const Descriptor& event, std::uint64_t parent);
  int link(int communicator, std::uint64_t key);

  Ring* ring_ = nullptr;
  int file_ = -1;  // its lock says that this process lives
  pid_t pid_ = 0;
  std::uint64_t groups_ = 0;
  KernelReports kernels_ = kernels_of_none;
  std::uint64_t next_report_ = 0;  // when an operation within a node is reported next
  bool report_due_ = false;
  // The communicator called last, and for each whether the next call was of one that spans nodes: as it will be again.
  std::uint64_t called_last_ = 0;
  bool network_follows_[ring_communicators] = {};
};

}  // namespace tocsin::adapters::nccl
