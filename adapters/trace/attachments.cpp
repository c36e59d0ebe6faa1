#include "adapters/trace/attachments.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <thread>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "adapters/trace/probes.h"
#include "adapters/trace/process_life.h"

namespace tocsin::adapters::trace {

namespace {

constexpr std::size_t most_returns = 256;

// The kernel waits some 40 ms for its readers before a probe is gone: for several at once, once.
void remove(std::vector<Link> links) {
  constexpr std::size_t at_once = 32;
  std::vector<std::jthread> threads;
  try {
    for (std::size_t first = 0; first < std::min(at_once, links.size()); ++first)
      threads.emplace_back([&links, first] {
        for (std::size_t i = first; i < links.size(); i += at_once) links[i] = {};
      });
  } catch (const std::system_error&) {}  // no thread is left: those that remain go one after the other, with `links`
}

void take(std::vector<Link>&& from, std::vector<Link>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

Attachments::~Attachments() { expire(Clock::time_point::max()); }

void Attachments::expire(Clock::time_point unseen_since) {
  std::vector<Link> unused;
  for (auto file = files_.begin(); file != files_.end();) {
    if (file->second.seen >= unseen_since) {
      ++file;
      continue;
    }
    for (auto& [call, links] : file->second.links) take(std::move(links), unused);
    file = files_.erase(file);
  }
  if (files_.empty())
    for (auto& [place, link] : std::exchange(returns_, {})) unused.push_back(std::move(link));
  remove(std::move(unused));
}

void Attachments::note(std::string text) {
  if (noted_.insert(text).second) notes_.push_back(std::move(text));
}

void Attachments::attach(pid_t pid, const MappedLibrary& library, Clock::time_point now) {
  const MappedFile& mapped = library.file;
  const Inode inode{mapped.device, mapped.inode};
  if (const auto known = files_.find(inode); known != files_.end()) {
    known->second.seen = now;
    return;
  }
  const std::string path = reachable_path(pid, mapped);
  const journal::File file{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file && !start_ticks(pid)) return;  // it has ended
  if (!file)
    return note(mapped.path +
                " cannot be opened, so its calls are not counted; for processes of other users that needs the "
                "capability SYS_PTRACE");
  auto& links = files_.emplace(inode, Attached{now}).first->second.links;
  const auto probes = probes_of(library.kind);
  std::vector<std::string_view> names;
  for (const Probe& probe : probes) names.push_back(probe.name);
  auto functions = elf_functions(file.get(), names);
  if (!functions) return note(mapped.path + ": " + functions.error().message);
  struct Group {
    std::uint32_t call = 0;
    std::vector<Place> places{};
    std::map<std::uint64_t, std::string> functions{};
  };
  std::map<std::string_view, Group> groups;  // by program
  for (const ElfFunction& function : *functions) {
    const Probe& probe = probes[function.wanted];
    if (!probe.is_for(function.name) || stopped(probe.call())) continue;
    Group& group = groups[probe.program];
    group.call = probe.call();
    if (!group.functions.emplace(function.offset, function.name).second) continue;  // some functions have two names
    group.places.push_back({function.offset, probe.cookie});
  }
  for (auto& [program, group] : groups) {
    auto attached = program_.attach(program.data(), path, group.places);
    take(std::move(attached.links), links[group.call]);
    for (const auto& [place, error] : attached.failed)
      note(mapped.path + ": " + group.functions[place.offset] + ": " + error.message);
  }
}

bool Attachments::attach_return(pid_t pid, const MappedFile& file, std::uint64_t offset) {
  const std::pair<Inode, std::uint64_t> place{{file.device, file.inode}, offset};
  if (returns_.contains(place)) return true;
  const std::string path = reachable_path(pid, file);
  if (path.empty() || returns_.size() >= most_returns || stopped(kernel::call_wait)) return false;
  auto attached = program_.attach("cuda_back", path, {{offset}});
  if (attached.links.empty()) return false;
  returns_.emplace(place, std::move(attached.links.front()));
  return true;
}

void Attachments::stop(std::uint32_t call) {
  std::vector<Link> over;
  for (auto& [inode, file] : files_) take(std::exchange(file.links[call], {}), over);
  remove(std::move(over));
  stopped_.insert(call);
}

}  // namespace tocsin::adapters::trace
