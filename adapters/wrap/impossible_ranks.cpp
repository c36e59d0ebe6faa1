#include "adapters/wrap/impossible_ranks.h"

#include <algorithm>

#include "stream/values/utf8.h"

namespace tocsin::adapters::wrap {

namespace {

constexpr double settles_within = 5;  // seconds from its start

bool may_be_one(const Process& process) { return !process.impossible.empty() && !is_shell(process.name); }

}  // namespace

bool is_below(const std::unordered_map<pid_t, Process>& processes, pid_t pid, pid_t other) {
  auto at = processes.find(pid);
  while (at != processes.end() && at->first != other) at = processes.find(at->second.parent);
  return at != processes.end();
}

std::vector<const Process*> impossible_ranks(const std::unordered_map<pid_t, Process>& processes) {
  std::vector<const Process*> found;
  for (const auto& [pid, process] : processes) {
    if (!may_be_one(process) || seconds_since(process.start) < settles_within) continue;
    const auto parent = processes.find(process.parent);
    if (parent != processes.end() && may_be_one(parent->second)) continue;
    const auto starts = [&](const auto& at) { return at.second.identity && is_below(processes, at.first, pid); };
    if (std::ranges::none_of(processes, starts)) found.push_back(&process);
  }
  return found;
}

std::string why_no_rank(const Process& process) {
  return name_of(process) + " has " + process.impossible +
         ", so it is not recorded as a rank: unset both if they are left from another job, else correct them";
}

std::string name_of(const Process& process) {
  std::string words = command_line(process.pid);
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  constexpr std::size_t longest = 80;
  if (words.size() > longest) words.replace(longest, words.npos, "...");
  words.erase(words.find_last_not_of(' ') + 1);
  return "process " + std::to_string(process.pid) + " (" + stream::as_utf8(words) + ')';
}

}  // namespace tocsin::adapters::wrap
