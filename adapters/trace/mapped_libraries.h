#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::adapters::trace {

// Which libraries the probes are for. `torch` is libtorch_cpu.so, where c10d is.
enum class LibraryKind : std::uint8_t { torch, nccl, cuda_runtime, cuda_driver };

// A library that a process has mapped to run it.
struct MappedLibrary {
  LibraryKind kind = LibraryKind::torch;
  std::string device;  // as the maps write it: with the inode it names the file
  std::uint64_t inode = 0;
  std::string path;   // as the process sees it
  std::string range;  // "7f00-7fff" of /proc/PID/map_files

  friend bool operator==(const MappedLibrary&, const MappedLibrary&) = default;
};

// Reads the text of /proc/PID/maps; each file once.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries(std::string_view maps);

// A path under which we can open what the process has mapped: through its root, else through its map_files. Empty:
// neither.
[[nodiscard]] std::string reachable_path(pid_t pid, const MappedLibrary& library);

}  // namespace tocsin::adapters::trace
