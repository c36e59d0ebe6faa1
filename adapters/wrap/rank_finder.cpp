#include "adapters/wrap/rank_finder.h"

#include <algorithm>

namespace tocsin::adapters::wrap {

Legacy::Rank* RankFinder::find(std::uint32_t rank) noexcept {
  const auto end = legacy_.ranks.begin() + legacy_.count;
  const auto at = std::find_if(legacy_.ranks.begin(), end, [&](const Legacy::Rank& r) { return r.rank == rank; });
  return at == end ? nullptr : &*at;
}

bool RankFinder::seen(const Process& process) const noexcept {
  const auto known = ranks();
  return std::any_of(known.begin(), known.end(),
                     [&](const Legacy::Rank& r) { return r.pid == process.pid && r.start == process.start; });
}

bool RankFinder::all_gone() const noexcept {
  const auto known = ranks();
  return std::none_of(known.begin(), known.end(), [](const Legacy::Rank& r) { return r.alive; });
}

bool RankFinder::complete() const noexcept { return legacy_.world_size != 0 && legacy_.count == legacy_.world_size; }

void RankFinder::gone(std::uint32_t rank) {
  if (Legacy::Rank* at = find(rank)) at->alive = false;
}

void RankFinder::assume(const Process& command, const Identity& as) {
  legacy_.assumed = true;
  legacy_.world_size = as.world_size;
  legacy_.count = 1;
  legacy_.ranks[0] = {as.rank, command.pid, command.start, true};
}

// A process that turned out to be a launcher was never a rank.
void RankFinder::withdraw(const std::unordered_map<pid_t, Process>& processes) {
  for (std::uint32_t at = 0; at < legacy_.count && !legacy_.assumed;) {
    const Legacy::Rank& rank = legacy_.ranks[at];
    const auto process = processes.find(rank.pid);
    if (!rank.alive || process == processes.end() || process->second.start != rank.start || process->second.identity) {
      ++at;
      continue;
    }
    changes_.push_back({Change::Kind::withdrawn, rank.rank, rank.pid});
    legacy_.ranks[at] = legacy_.ranks[--legacy_.count];
  }
  if (legacy_.count == 0) legacy_.world_size = 0;
}

// Of several processes of one rank: one that has a framework before one that has none, and one that was left behind by
// its parent, as a loader worker may be, last.
void RankFinder::prefer_workers() {
  const auto same = [](const Process* a, const Process* b) { return *a->identity == *b->identity; };
  for (auto at = candidates_.begin(); at != candidates_.end();) {
    const auto end = std::find_if_not(at, candidates_.end(), [&](const Process* other) { return same(*at, other); });
    if (end - at > 1)
      std::stable_sort(at, end, [](const Process* a, const Process* b) {
        return std::pair{!has_framework(a->pid), a->parent == 1} < std::pair{!has_framework(b->pid), b->parent == 1};
      });
    at = end;
  }
}

std::span<const RankFinder::Change> RankFinder::look(const std::unordered_map<pid_t, Process>& processes) {
  changes_.clear();
  candidates_.clear();
  withdraw(processes);
  for (const auto& [pid, process] : processes)
    if (process.rank && (legacy_.assumed || !seen(process))) candidates_.push_back(&process);
  // The ranks of RANK before those that a scheduler counts: its task may be a launcher of them.
  std::sort(candidates_.begin(), candidates_.end(), [](const Process* a, const Process* b) {
    if (a->identity->kind != b->identity->kind) return a->identity->kind < b->identity->kind;
    if (a->identity->rank != b->identity->rank) return a->identity->rank < b->identity->rank;
    return a->start < b->start;
  });
  prefer_workers();
  for (const Process* process : candidates_) {
    Legacy::Rank* known = find(process->identity->rank);
    if (known != nullptr && known->alive && !legacy_.assumed)
      continue;  // a second process of a live rank: it waits for its turn
    if (known == nullptr && legacy_.count == Legacy::most_ranks) continue;
    if (legacy_.assumed || (known != nullptr && all_gone())) {
      legacy_.assumed = false;
      ++legacy_.attempt;
      legacy_.count = 0;
      legacy_.world_size = process->identity->world_size;
      known = nullptr;
      changes_.push_back({Change::Kind::restarted});
    } else if (process->identity->world_size > legacy_.world_size) {
      legacy_.world_size = process->identity->world_size;
      changes_.push_back({Change::Kind::world_size});
    }
    if (known == nullptr) known = &legacy_.ranks[legacy_.count++];
    *known = {process->identity->rank, process->pid, process->start, true};
    changes_.push_back({Change::Kind::appeared, process->identity->rank, process->pid});
  }
  return changes_;
}

}  // namespace tocsin::adapters::wrap
