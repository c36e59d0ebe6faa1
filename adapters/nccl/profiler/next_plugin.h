#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "adapters/nccl/profiler/interface.h"

namespace tocsin::adapters::nccl {

// Another profiler plugin behind this one, as NCCL loads a single one: it gets the events that it asked for, as it
// would get them from NCCL. NCCL's handle of such an event is then a pair of ours and the other's; there is a fixed
// number of pairs. An event takes neither a lock nor memory.
class NextPlugin {
 public:
  // Loads a plugin by what NCCL_PROFILER_PLUGIN could name, for an NCCL that speaks `interface_version`; one that is
  // called `own` is this one again. Why not, or null.
  const char* load(const char* name, int interface_version, const char* own);
  [[nodiscard]] bool is_loaded() const noexcept { return version_ != 0; }
  [[nodiscard]] const char* name() const noexcept { return version_ == 4 ? four_->name : newer_->name; }

  // What it wants to hear of. It may change that at any time.
  [[nodiscard]] std::uint64_t mask() const noexcept;

  // Its context of a communicator; null: it refused, and hears nothing of it.
  void* init(std::uint64_t hash, const char* name, int nodes, int ranks, int rank, Log log);
  void finalize(void* context);

  // Hands an event on. What NCCL shall hold: a pair, or `ours` alone. The event is of another process (PXN) where
  // `foreign`: then its parent is no address here.
  std::uint64_t start(void* context, const Descriptor& event, bool foreign, std::uint64_t ours);
  void stop(std::uint64_t handle);
  void record(std::uint64_t handle, int state, StateArguments* arguments);
  // Ours, of what NCCL holds.
  [[nodiscard]] static std::uint64_t ours(std::uint64_t handle) noexcept;

 private:
  struct alignas(16) Pair {  // the low bits of its address tell it from a handle of ours
    std::uint64_t ours = 0;
    void* theirs = nullptr;
    std::atomic<bool> busy{false};
  };
  static constexpr std::size_t own_end = 32768;   // events that nothing refers to once they are stopped
  static constexpr std::size_t referred = 16384;  // events that others name as their parent later: reused in turn
  static constexpr std::size_t captured =
      4096;  // calls that were captured, and are parents at each launch of the graph

  Pair* pair(const Descriptor& event);
  static void* theirs(const void* handle) noexcept;

  const Profiler4* four_ = nullptr;
  const Profiler* newer_ = nullptr;
  int version_ = 0;
  int mask_ = 0;
  Pair* pairs_ = nullptr;
  std::atomic<std::size_t> own_end_next_{0}, referred_next_{0}, captured_next_{0};
};

}  // namespace tocsin::adapters::nccl
