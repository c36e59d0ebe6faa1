#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/wrap/descriptor.h"

namespace tocsin::adapters::wrap {

// What we use of /proc/PID/stat. Views point into the text.
struct ProcStat {
  std::string_view name;  // may hold blanks and parentheses
  char state = '?';
  int parent = 0;
  std::uint64_t cpu_ticks = 0;    // user and system, of all threads
  std::uint64_t start_ticks = 0;  // since boot; with the pid it names a process
  std::uint64_t resident_pages = 0;
  std::uint64_t environment = 0;  // its address: changes at an exec; 0 where we may not see it
  int exit_status = 0;            // of a zombie, as waitpid gives it; 0, too, where we may not see it
};

// Nothing where the text is not whole.
[[nodiscard]] std::optional<ProcStat> parse_stat(std::string_view text) noexcept;

inline std::string path_of(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + '/' + file; }
inline Descriptor open_proc(pid_t pid, const char* file) {
  return Descriptor{::open(path_of(pid, file).c_str(), O_RDONLY | O_CLOEXEC)};
}

// Reads a file of /proc anew through its open descriptor; empty where the process has gone or does not let us.
template <std::size_t size>
[[nodiscard]] std::string_view read_again(int descriptor, char (&buffer)[size]) noexcept {
  const ssize_t got = ::pread(descriptor, buffer, size, 0);
  return got > 0 ? std::string_view{buffer, static_cast<std::size_t>(got)} : std::string_view{};
}

// What it holds of a process now; nothing where that has gone. Views point into the buffer.
template <std::size_t size>
[[nodiscard]] std::optional<ProcStat> read_stat(pid_t pid, char (&buffer)[size]) {
  const Descriptor file = open_proc(pid, "stat");
  return file ? parse_stat(read_again(file.get(), buffer)) : std::nullopt;
}

}  // namespace tocsin::adapters::wrap
