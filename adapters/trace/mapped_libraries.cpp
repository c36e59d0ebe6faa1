#include "adapters/trace/mapped_libraries.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>

namespace tocsin::adapters::trace {
namespace {

constexpr std::pair<std::string_view, LibraryKind> libraries[] = {
    {"libtorch_cpu", LibraryKind::torch},
    {"libnccl", LibraryKind::nccl},
    {"libtorch_cuda", LibraryKind::nccl},  // some builds have NCCL inside
    {"libcuda", LibraryKind::cuda},
};

// "libnccl.so", "libnccl.so.2", "libnccl-1234.so.2".
std::optional<LibraryKind> kind_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const auto& [stem, kind] : libraries) {
    if (!name.starts_with(stem)) continue;
    const std::string_view rest = name.substr(stem.size());
    const auto suffix = rest.find(".so");
    if (suffix == 0 || (rest.starts_with('-') && suffix != rest.npos)) return kind;
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

template <int base>
bool number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

struct Mapping {
  MappedFile file;
  std::uint64_t begin = 0, end = 0, offset = 0;
};

// Of a file, and to be run; a line that is anything else is nothing.
std::optional<Mapping> mapping_in(std::string_view line) {
  const auto range = next_word(line), rights = next_word(line), offset = next_word(line), device = next_word(line),
             inode = next_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (rights.size() < 3 || rights[2] != 'x' || !line.starts_with('/')) return std::nullopt;
  constexpr std::string_view deleted = " (deleted)";
  if (line.ends_with(deleted)) line.remove_suffix(deleted.size());
  const auto hyphen = std::min(range.find('-'), range.size());
  Mapping mapping{{std::string{device}, 0, std::string{line}, std::string{range}}};
  if (!number<10>(inode, mapping.file.inode) || !number<16>(offset, mapping.offset) ||
      !number<16>(range.substr(0, hyphen), mapping.begin) ||
      !number<16>(range.substr(std::min(hyphen + 1, range.size())), mapping.end))
    return std::nullopt;
  return mapping;
}

template <class Take>
void each_line(std::string_view maps, const Take& take) {
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    take(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
}

}  // namespace

std::vector<MappedLibrary> mapped_libraries(std::string_view maps) {
  std::vector<MappedLibrary> found;
  each_line(maps, [&](std::string_view line) {
    const auto name_end = line.ends_with(" (deleted)") ? line.size() - 10 : line.size();
    const auto kind = kind_of(line.substr(0, name_end));
    if (!kind) return;
    auto mapping = mapping_in(line);
    if (!mapping) return;
    const auto same = [&](const MappedLibrary& one) {
      return one.file.device == mapping->file.device && one.file.inode == mapping->file.inode;
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back({*kind, std::move(mapping->file)});
  });
  return found;
}

std::optional<std::pair<MappedFile, std::uint64_t>> code_at(std::string_view maps, std::uint64_t address) {
  std::optional<std::pair<MappedFile, std::uint64_t>> found;
  each_line(maps, [&](std::string_view line) {
    if (found) return;
    auto mapping = mapping_in(line);
    if (mapping && mapping->begin <= address && address < mapping->end)
      found = {std::move(mapping->file), address - mapping->begin + mapping->offset};
  });
  return found;
}

std::string reachable_path(pid_t pid, const MappedFile& file) {
  const std::string process = "/proc/" + std::to_string(pid);
  struct stat status {};
  // The device differs between the maps and stat where file systems are stacked; the inode does not.
  std::string path = process + "/root" + file.path;
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == file.inode) return path;
  path = process + "/map_files/" + file.range;
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return path;
  return {};
}

}  // namespace tocsin::adapters::trace
