#include "adapters/trace/mapped_libraries.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace tocsin::adapters::trace {
namespace {

constexpr std::pair<std::string_view, LibraryKind> libraries[] = {
    {"libtorch_cpu.so", LibraryKind::torch},
    {"libnccl.so", LibraryKind::nccl},
    {"libcudart.so", LibraryKind::cuda_runtime},
    {"libcuda.so", LibraryKind::cuda_driver},
};

// "libnccl.so", and what follows it with a dot or a hyphen; "libcudart.so.12", "libcudart-1234.so.12" of wheels.
std::optional<LibraryKind> kind_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const auto& [wanted, kind] : libraries) {
    if (name.starts_with(wanted) && (name.size() == wanted.size() || name[wanted.size()] == '.')) return kind;
    const std::string_view stem = wanted.substr(0, wanted.size() - 3);
    if (name.starts_with(stem) && name.substr(stem.size()).starts_with('-') && name.find(".so") != name.npos)
      return kind;
  }
  return std::nullopt;
}

std::string_view next_word(std::string_view& line) {
  const auto begin = std::min(line.find_first_not_of(' '), line.size());
  const auto end = std::min(line.find(' ', begin), line.size());
  const auto word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

}  // namespace

std::vector<MappedLibrary> mapped_libraries(std::string_view maps) {
  std::vector<MappedLibrary> found;
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const auto range = next_word(line), rights = next_word(line);
    next_word(line);  // offset
    const auto device = next_word(line), inode = next_word(line);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (rights.size() < 3 || rights[2] != 'x' || line.empty() || line.front() != '/') continue;
    constexpr std::string_view deleted = " (deleted)";
    if (line.ends_with(deleted)) line.remove_suffix(deleted.size());
    const auto kind = kind_of(line);
    MappedLibrary library{kind.value_or(LibraryKind::torch), std::string{device}, 0, std::string{line},
                          std::string{range}};
    if (!kind || std::from_chars(inode.data(), inode.data() + inode.size(), library.inode).ec != std::errc{}) continue;
    const auto same = [&](const MappedLibrary& one) {
      return one.device == library.device && one.inode == library.inode;
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(library));
  }
  return found;
}

std::string reachable_path(pid_t pid, const MappedLibrary& library) {
  const std::string process = "/proc/" + std::to_string(pid);
  struct stat status {};
  // The device differs between the maps and stat where file systems are stacked; the inode does not.
  std::string path = process + "/root" + library.path;
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == library.inode) return path;
  path = process + "/map_files/" + library.range;
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return path;
  return {};
}

}  // namespace tocsin::adapters::trace
