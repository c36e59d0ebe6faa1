#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tocsin::adapters::trace {

// Which libraries the probes are for. `torch` is libtorch_cpu.so, where c10d is.
enum class LibraryKind : std::uint8_t { torch, nccl, cuda };

// A file that a process has mapped to run it.
struct MappedFile {
  std::string device;  // as the maps write it: with the inode it names the file
  std::uint64_t inode = 0;
  std::string path;   // as the process sees it
  std::string range;  // "7f00-7fff" of /proc/PID/map_files

  friend auto operator<=>(const MappedFile&, const MappedFile&) = default;
};
struct MappedLibrary {
  LibraryKind kind = LibraryKind::torch;
  MappedFile file;
};

// Reads the text of /proc/PID/maps; each file once.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries(std::string_view maps);

// The file that has its code at this address, and where in it; nothing for code of no file.
[[nodiscard]] std::optional<std::pair<MappedFile, std::uint64_t>> code_at(std::string_view maps, std::uint64_t address);

// A path under which we can open what the process has mapped: through its root, else through its map_files. Empty:
// neither.
[[nodiscard]] std::string reachable_path(pid_t pid, const MappedFile& file);

}  // namespace tocsin::adapters::trace
