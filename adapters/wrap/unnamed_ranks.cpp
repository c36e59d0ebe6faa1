#include "adapters/wrap/unnamed_ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "adapters/evidence/proc_file.h"
#include "adapters/wrap/proc_stat.h"

namespace tocsin::adapters::wrap {

namespace {

constexpr stream::Duration longest_name_wait = std::chrono::seconds{30};  // between looks
constexpr std::size_t longest_table = 8u << 20;
constexpr std::size_t most_descriptors = 4096;  // of one process
constexpr std::string_view mapped = "0000000000000000FFFF0000";

std::unordered_set<std::uint64_t> sockets_of(pid_t pid) {
  std::unordered_set<std::uint64_t> inodes;
  const std::string folder = path_of(pid, "fd");
  const std::unique_ptr<DIR, DirectoryCloser> directory{::opendir(folder.c_str())};
  if (!directory) return inodes;
  std::size_t seen = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    char target[64];
    const ssize_t size = ::readlinkat(::dirfd(directory.get()), entry->d_name, target, sizeof target);
    constexpr std::string_view socket = "socket:[";
    const std::string_view text{target, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    std::uint64_t inode = 0;
    if (text.starts_with(socket) &&
        std::from_chars(text.data() + socket.size(), text.data() + text.size(), inode).ec == std::errc{})
      inodes.insert(inode);
    if (++seen == most_descriptors) break;
  }
  return inodes;
}

std::string end_of(std::string_view address) {
  if (address.starts_with(mapped)) address.remove_prefix(mapped.size());
  return std::string{address};
}

using Group = std::vector<const Process*>;

// Whether a connection goes from one of the group to another, or from one to itself.
bool connected(const Group& group) {
  std::map<std::uint64_t, std::size_t> owners;  // of each socket that any of them or their parent holds
  std::vector<std::unordered_set<std::uint64_t>> held;
  for (const Process* process : group) held.push_back(sockets_of(process->pid));
  held.push_back(sockets_of(group.front()->parent));
  for (const auto& inodes : held)
    for (const std::uint64_t inode : inodes) ++owners[inode];
  if (owners.empty()) return false;
  std::unordered_map<std::string, std::string> ends;  // of each socket of their own: from, to
  for (const char* table : {"net/tcp", "net/tcp6"})
    for (const TcpSocket& socket :
         tcp_sockets(evidence::read_proc(evidence::proc_path(group.front()->pid, table), longest_table)))
      if (const auto owner = owners.find(socket.inode);
          owner != owners.end() && owner->second == 1 && !held.back().contains(socket.inode))
        ends.emplace(socket.local + '>' + socket.remote, socket.remote + '>' + socket.local);
  return std::any_of(ends.begin(), ends.end(),
                     [&](const auto& end) { return end.first != end.second && ends.contains(end.second); });
}

}  // namespace

std::vector<TcpSocket> tcp_sockets(std::string_view table) {
  std::vector<TcpSocket> sockets;
  table.remove_prefix(std::min(table.find('\n'), table.size()));  // the heading
  while (!table.empty()) {
    table.remove_prefix(1);
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(line.size());
    std::string_view words[10];
    std::size_t count = 0, at = 0;
    while (count < std::size(words) && (at = line.find_first_not_of(' ', at)) != std::string_view::npos) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words[count++] = line.substr(at, end - at);
      at = end;
    }
    TcpSocket socket;
    if (count < std::size(words) || words[3] != "01") continue;  // established
    std::from_chars(words[9].data(), words[9].data() + words[9].size(), socket.inode);
    socket.local = end_of(words[1]);
    socket.remote = end_of(words[2]);
    sockets.push_back(std::move(socket));
  }
  return sockets;
}

std::string without_numbers(std::string_view command_line) {
  std::string text;
  for (const char c : command_line) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !text.empty() && text.back() == '#') continue;
    text.push_back(digit ? '#' : c);
  }
  return text;
}

std::vector<pid_t> UnnamedRanks::look(const std::unordered_map<pid_t, Process>& processes, pid_t command,
                                      stream::Time now) {
  if (now < next_) return {};
  wait_ = std::min(wait_ + wait_ / 8, longest_name_wait);
  next_ = now + wait_;
  const auto below = [&](const Process& process) {
    for (auto at = processes.find(process.parent); at != processes.end(); at = processes.find(at->second.parent))
      if (at->first == command) return true;
    return false;
  };
  std::map<pid_t, Group> children;
  for (const auto& [pid, process] : processes)
    if (below(process)) children[process.parent].push_back(&process);
  Group best;
  for (const auto& [parent, siblings] : children) {
    if (siblings.size() < 2) continue;
    std::map<std::string, Group> alike;
    for (const Process* process : siblings) alike[without_numbers(command_line(process->pid))].push_back(process);
    for (const auto& [line, group] : alike)
      if (!line.empty() && group.size() >= 2 && group.size() > best.size() && connected(group)) best = group;
  }
  std::sort(best.begin(), best.end(), [](const Process* a, const Process* b) {
    return std::pair{a->start, a->pid} < std::pair{b->start, b->pid};
  });
  std::vector<pid_t> pids;
  for (const Process* process : best) pids.push_back(process->pid);
  if (pids != std::exchange(last_, pids)) return {};  // more of them may be on their way
  return pids;
}

}  // namespace tocsin::adapters::wrap
