#include "adapters/ingest/placement.h"

#include <algorithm>

namespace tocsin::adapters::ingest {
namespace {

constexpr std::size_t most_jobs = 64;  // of a node

}  // namespace

bool Placement::saw(std::string_view node, std::string_view job, stream::Time at) {
  if (node.empty() || job.empty()) return false;
  auto found = nodes_.find(node);
  if (found == nodes_.end()) found = nodes_.emplace(node, std::map<std::string, Seen, std::less<>>{}).first;
  auto& jobs = found->second;
  auto seen = jobs.find(job);
  if (seen == jobs.end()) {
    if (jobs.size() >= most_jobs) return false;
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
  return gone;
}

void Placement::jobs_on(std::string_view node, stream::Time at, std::vector<std::string_view>& jobs) const {
  jobs.clear();
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  for (const auto& [job, seen] : found->second)
    if (seen.stay.first <= at && seen.stay.last >= at - current) jobs.push_back(job);
}

}  // namespace tocsin::adapters::ingest
