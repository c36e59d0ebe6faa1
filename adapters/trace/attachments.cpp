#include "adapters/trace/attachments.h"

#include <fcntl.h>

#include <tuple>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "adapters/trace/probes.h"

namespace tocsin::adapters::trace {

constexpr std::size_t most_returns = 256;

void Attachments::note(std::string text) {
  if (noted_.insert(text).second) notes_.push_back(std::move(text));
}

void Attachments::attach(pid_t pid, const MappedLibrary& library) {
  const MappedFile& mapped = library.file;
  if (attached_.contains({mapped.device, mapped.inode})) return;
  const std::string path = reachable_path(pid, mapped);
  const journal::File file{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return note(mapped.path + " cannot be opened, so its calls are not counted");
  attached_.emplace(mapped.device, mapped.inode);
  const auto probes = probes_of(library.kind);
  std::vector<std::string_view> names;
  for (const Probe& probe : probes) names.push_back(probe.name);
  auto functions = elf_functions(file.get(), names);
  if (!functions) return note(mapped.path + ": " + functions.error().message);
  std::set<std::tuple<std::string_view, std::uint64_t>> done;  // some functions have two names
  for (const ElfFunction& function : *functions) {
    const Probe& probe = probes[function.wanted];
    if (!probe.is_for(function.name) || stopped(probe.call()) || !done.emplace(probe.program, function.offset).second)
      continue;
    auto link = program_.attach(probe.program, path, function.offset, probe.cookie, probe.at_return);
    if (link) links_.emplace(probe.call(), std::move(*link));
    else note(mapped.path + ": " + function.name + ": " + link.error().message);
  }
}

bool Attachments::attach_return(pid_t pid, const MappedFile& file, std::uint64_t offset) {
  const std::pair<Inode, std::uint64_t> place{{file.device, file.inode}, offset};
  if (returns_.contains(place)) return true;
  const std::string path = reachable_path(pid, file);
  if (path.empty() || returns_.size() >= most_returns || stopped(kernel::call_wait)) return false;
  auto link = program_.attach("cuda_back", path, offset, 0);
  if (!link) return false;
  links_.emplace(kernel::call_wait, std::move(*link));
  returns_.insert(place);
  return true;
}

void Attachments::stop(std::uint32_t call) {
  links_.erase(call);
  stopped_.insert(call);
}

}  // namespace tocsin::adapters::trace
