#include "adapters/trace/attachments.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "adapters/trace/probes.h"

namespace tocsin::adapters::trace {

namespace {

constexpr std::size_t most_returns = 256;

// The kernel waits some 40 ms for its readers before a probe is gone: for several at once, once.
void remove(std::vector<Link> links) {
  constexpr std::size_t at_once = 32;
  std::vector<std::jthread> threads;
  for (std::size_t first = 0; first < std::min(at_once, links.size()); ++first)
    threads.emplace_back([&links, first] {
      for (std::size_t i = first; i < links.size(); i += at_once) links[i] = {};
    });
}

}  // namespace

Attachments::~Attachments() {
  std::vector<Link> all;
  for (auto& [call, links] : links_) std::move(links.begin(), links.end(), std::back_inserter(all));
  remove(std::move(all));
}

void Attachments::note(std::string text) {
  if (noted_.insert(text).second) notes_.push_back(std::move(text));
}

void Attachments::attach(pid_t pid, const MappedLibrary& library) {
  const MappedFile& mapped = library.file;
  if (attached_.contains({mapped.device, mapped.inode})) return;
  const std::string path = reachable_path(pid, mapped);
  const journal::File file{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file)
    return note(mapped.path +
                " cannot be opened, so its calls are not counted; for processes of other users that needs the "
                "capability SYS_PTRACE");
  attached_.emplace(mapped.device, mapped.inode);
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
  std::map<std::pair<std::string_view, bool>, Group> groups;  // by program, at the return or not
  for (const ElfFunction& function : *functions) {
    const Probe& probe = probes[function.wanted];
    if (!probe.is_for(function.name) || stopped(probe.call())) continue;
    Group& group = groups[{probe.program, probe.at_return}];
    group.call = probe.call();
    if (!group.functions.emplace(function.offset, function.name).second) continue;  // some functions have two names
    group.places.push_back({function.offset, probe.cookie});
  }
  for (auto& [what, group] : groups) {
    auto attached = program_.attach(what.first.data(), path, group.places, what.second);
    std::move(attached.links.begin(), attached.links.end(), std::back_inserter(links_[group.call]));
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
  links_[kernel::call_wait].push_back(std::move(attached.links.front()));
  returns_.insert(place);
  return true;
}

void Attachments::stop(std::uint32_t call) {
  remove(std::exchange(links_[call], {}));
  stopped_.insert(call);
}

}  // namespace tocsin::adapters::trace
