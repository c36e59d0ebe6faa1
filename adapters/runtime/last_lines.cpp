#include "adapters/runtime/last_lines.h"

#include <algorithm>

#include "dsl/text/extraction.h"

namespace tocsin::adapters::runtime {

void LastLines::read(const stream::Entry& entry) {
  if (entry.lines.empty() || entry.subject.empty()) return;
  const std::lock_guard lock{mutex_};
  auto job = jobs_.find(entry.subject);
  if (job == jobs_.end()) {
    if (jobs_.size() >= most_jobs) jobs_.erase(jobs_.begin());  // any: its message has fewer lines
    job = jobs_.emplace(entry.subject, std::deque<std::string>{}).first;
  }
  for (const stream::LineRecord& line : entry.lines.last(std::min(entry.lines.size(), most))) {
    const bool of_ranks = line.source.empty() || line.source == "log";
    if (!of_ranks || line.text.find_first_not_of(" \t\r\n") == line.text.npos) continue;
    std::string text{line.text.substr(0, longest)};
    if (text.size() < line.text.size()) text += "…";
    if (line.member.level == stream::Level::rank) text.insert(0, "rank " + std::to_string(line.member.rank) + ": ");
    job->second.push_back(std::move(text));
    if (job->second.size() > most) job->second.pop_front();
  }
}

std::vector<std::string> LastLines::take(const std::string& job) {
  std::deque<std::string> lines;
  {
    const std::lock_guard lock{mutex_};
    if (auto found = jobs_.extract(job)) lines = std::move(found.mapped());
  }
  std::vector<std::string> masked;
  for (const std::string& line : lines) masked.push_back(dsl::text::mask_secrets(line));
  return masked;
}

}  // namespace tocsin::adapters::runtime
