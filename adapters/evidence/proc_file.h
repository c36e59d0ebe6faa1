#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/journal/directory.h"

namespace tocsin::adapters::evidence {

inline std::string proc_path(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + '/' + file; }

// A file of /proc, or as much as is allowed. Empty: it has gone, or does not let us; errno says which.
[[nodiscard]] inline std::string read_proc(const std::string& path, std::size_t most = 65536) {
  const journal::File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  std::string text;
  while (file && text.size() < most) {
    char buffer[4096];
    const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return text;
}

inline constexpr std::size_t longest_environment = 2u << 20;
[[nodiscard]] inline std::string environment_of(pid_t pid) {
  return read_proc(proc_path(pid, "environ"), longest_environment);
}

// The value of a variable in an environment as /proc/PID/environ has it, NUL after each entry.
[[nodiscard]] inline std::optional<std::string_view> variable_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return std::nullopt;
}

}  // namespace tocsin::adapters::evidence
