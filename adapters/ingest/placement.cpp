#include "adapters/ingest/placement.h"

#include <algorithm>

#include "adapters/ingest/host_list.h"
#include "adapters/ingest/node_names.h"

namespace tocsin::adapters::ingest {
namespace {

constexpr std::size_t most_jobs = 64;  // of a node

}  // namespace

// Takes out the job that was seen longest ago, if it is on the node no more. False: all of them are.
bool Placement::make_room(Jobs& jobs, stream::Time at) {
  const auto oldest = std::min_element(
      jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.second.stay.last < b.second.stay.last; });
  if (oldest->second.stay.last >= at - current) return false;
  jobs.erase(oldest);
  return true;
}

bool Placement::saw(std::string_view node, std::string_view job, stream::Time at) {
  if (node.empty() || job.empty()) return false;
  auto found = nodes_.find(node);
  if (found == nodes_.end()) found = nodes_.emplace(node, Jobs{}).first;
  auto& jobs = found->second;
  auto seen = jobs.find(job);
  if (seen == jobs.end()) {
    if (jobs.size() >= most_jobs && !make_room(jobs, at)) return false;
    seen = jobs.emplace(job, Seen{{at, at}, stream::long_ago}).first;
  }
  Stay& stay = seen->second.stay;
  stay.first = std::min(stay.first, at), stay.last = std::max(stay.last, at);
  if (seen->second.written != stream::long_ago && stay.last < seen->second.written + repeated) return false;
  seen->second.written = stay.last;
  return true;
}

void Placement::read(std::string_view node, std::string_view job, const Stay& stay) {
  static_cast<void>(saw(node, job, stay.first));
  static_cast<void>(saw(node, job, stay.last));
  if (const auto found = nodes_.find(node); found != nodes_.end())
    if (const auto seen = found->second.find(job); seen != found->second.end())
      seen->second.written = std::max(seen->second.written, stay.last);
}

std::optional<Placement::Stay> Placement::stay(std::string_view node, std::string_view job) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return std::nullopt;
  const auto seen = found->second.find(job);
  return seen == found->second.end() ? std::nullopt : std::optional{seen->second.stay};
}

void Placement::left(std::string_view node, std::string_view job) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (const auto seen = found->second.find(job); seen != found->second.end()) found->second.erase(seen);
  if (found->second.empty()) nodes_.erase(found);
}

std::vector<std::string> Placement::ended(std::string_view job) {
  std::vector<std::string> nodes;
  for (const auto& [node, jobs] : nodes_)
    if (jobs.contains(job)) nodes.push_back(node);
  for (const std::string& node : nodes) left(node, job);
  return nodes;
}

std::vector<std::pair<std::string, std::string>> Placement::forget(stream::Time now) {
  std::vector<std::pair<std::string, std::string>> gone;
  for (const auto& [node, jobs] : nodes_)
    for (const auto& [job, seen] : jobs)
      if (seen.stay.last < now - forgotten) gone.emplace_back(node, job);
  for (const auto& [node, job] : gone) left(node, job);
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    const Allocation& one = (at++)->second;
    if (one.until >= (one.nodes.empty() ? now - end_remembered : now)) continue;
    gone.emplace_back(std::string{}, std::prev(at)->first);
    forget_allocation(gone.back().second);
  }
  return gone;
}

Placement::Allocated Placement::allocate(std::string_view job, const Allocation& allocation,
                                         std::span<const std::string> nodes) {
  const auto known = allocations_.find(job);
  if (known != allocations_.end()) {
    const Allocation& before = known->second;
    if (before.nodes.empty() ? allocation.first < before.until : allocation.first <= before.first)
      return Allocated::known_or_older;
  }
  take_nodes(job);
  if (allocated_nodes_ + nodes.size() > most_allocated ||
      (known == allocations_.end() && allocations_.size() == most_allocated)) {
    forget_allocation(job);
    return Allocated::no_room;
  }
  allocations_.insert_or_assign(std::string{job}, allocation);
  for (const std::string& node : nodes)
    if (auto& jobs = allocated_[node]; jobs.size() < most_jobs && jobs.emplace(job).second) ++allocated_nodes_;
  return Allocated::yes;
}

bool Placement::deallocate(std::string_view job, stream::Time at) {
  const auto known = allocations_.find(job);
  if (known == allocations_.end()) {
    if (allocations_.size() == most_allocated) return false;
    allocations_.emplace(job, Allocation{at, at, {}});
    return true;
  }
  Allocation& one = known->second;
  if (one.nodes.empty() ? at <= one.until : at < one.first) return false;
  take_nodes(job);
  one.until = at;
  one.nodes.clear();
  return true;
}

void Placement::read(std::string_view job, const Allocation& allocation) {
  if (allocation.nodes.empty()) {
    static_cast<void>(deallocate(job, allocation.until));
    return;
  }
  const Allocation* known = this->allocation(job);
  if (known != nullptr && !known->nodes.empty() && known->first == allocation.first) return;
  if (const auto nodes = hosts_in(allocation.nodes)) static_cast<void>(allocate(job, allocation, *nodes));
}

void Placement::forget_allocation(std::string_view job) {
  take_nodes(job);
  if (const auto known = allocations_.find(job); known != allocations_.end()) allocations_.erase(known);
}

const Placement::Allocation* Placement::allocation(std::string_view job) const {
  const auto known = allocations_.find(job);
  return known == allocations_.end() ? nullptr : &known->second;
}

// From the job, those that the scheduler gave it.
void Placement::take_nodes(std::string_view job) {
  const auto known = allocations_.find(job);
  if (known == allocations_.end() || known->second.nodes.empty()) return;
  const auto nodes = hosts_in(known->second.nodes);
  if (!nodes) return;
  for (const std::string& node : *nodes) {
    const auto found = allocated_.find(node);
    if (found == allocated_.end()) continue;
    if (const auto there = found->second.find(job); there != found->second.end()) {
      found->second.erase(there);
      --allocated_nodes_;
    }
    if (found->second.empty()) allocated_.erase(found);
  }
}

void Placement::jobs_on(std::string_view node, stream::Time at, std::vector<std::string_view>& jobs) const {
  jobs.clear();
  each_name(nodes_, node, [&](const auto& seen_there) {
    for (const auto& [job, seen] : seen_there)
      if (seen.stay.first <= at && seen.stay.last >= at - current) jobs.push_back(job);
  });
  each_name(allocated_, node, [&](const auto& allocated_there) {
    for (const std::string& job : allocated_there)
      if (const Allocation* one = allocation(job); one != nullptr && one->first <= at && at <= one->until)
        jobs.push_back(job);
  });
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
}

}  // namespace tocsin::adapters::ingest
