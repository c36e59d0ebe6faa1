#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

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

}  // namespace tocsin::adapters::evidence
