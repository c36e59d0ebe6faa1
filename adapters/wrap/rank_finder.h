#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "adapters/wrap/process_tree.h"
#include "adapters/wrap/run_state.h"

namespace tocsin::adapters::wrap {

// The rank processes of the running attempt, out of the processes that call themselves ranks. When all of them have
// gone and a rank of theirs appears anew, the ranks were restarted: a new attempt. One that is replaced while others
// live on is the same attempt. A command of which no process calls itself a rank may be assumed to be rank 0 of 1:
// until one does, which is then a new attempt. Owned by the Recorder; keeps what it knows in the Legacy, so that the
// next recorder goes on with it.
class RankFinder {
 public:
  explicit RankFinder(Legacy& legacy) : legacy_(legacy) {}

  struct Change {
    enum class Kind : std::uint8_t { restarted, world_size, appeared, withdrawn } kind;  // withdrawn: it is no rank
    std::uint32_t rank = 0;
    pid_t pid = 0;
  };
  // What is new in the tree, in the order in which it is to be written down. Valid until the next call.
  [[nodiscard]] std::span<const Change> look(const std::unordered_map<pid_t, Process>& processes);
  void gone(std::uint32_t rank);  // its process has disappeared
  void assume(const Process& command, const Identity& as);

  [[nodiscard]] std::span<const Legacy::Rank> ranks() const noexcept { return {legacy_.ranks.data(), legacy_.count}; }
  [[nodiscard]] bool assumed() const noexcept { return legacy_.assumed; }
  [[nodiscard]] bool all_gone() const noexcept;  // none of them lives, or none is known
  [[nodiscard]] bool complete() const noexcept;  // all ranks of the job are here

 private:
  [[nodiscard]] Legacy::Rank* find(std::uint32_t rank) noexcept;
  void prefer_workers();
  void withdraw(const std::unordered_map<pid_t, Process>& processes);
  [[nodiscard]] bool seen(const Process& process) const noexcept;

  Legacy& legacy_;
  std::vector<const Process*> candidates_;
  std::vector<Change> changes_;
};

}  // namespace tocsin::adapters::wrap
