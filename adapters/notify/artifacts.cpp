#include "adapters/notify/artifacts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "adapters/formats/printable.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::notify {
namespace {

constexpr std::size_t most_named = 100;

// A name of a job in a path is one component of it.
std::string pattern_of(std::string pattern, std::string job) {
  std::string quoted;
  for (const char c : job) {
    if (c == '/') continue;
    if (std::strchr("*?[]\\", c) != nullptr) quoted += '\\';
    quoted += c;
  }
  if (quoted == "." || quoted == "..") quoted.clear();
  for (std::size_t at = 0; (at = pattern.find("{job}", at)) != pattern.npos; at += quoted.size())
    pattern.replace(at, 5, quoted);
  return pattern;
}

struct Found {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t changed = 0;
};

// Regular files alone: a FIFO would block, and a device would not end.
std::vector<Found> files_of(const std::string& pattern) {
  glob_t names{};
  std::vector<Found> found;
  if (::glob(pattern.c_str(), GLOB_TILDE, nullptr, &names) == 0)
    for (std::size_t i = 0; i < names.gl_pathc; ++i) {
      struct stat about {};
      if (::stat(names.gl_pathv[i], &about) == 0 && S_ISREG(about.st_mode))
        found.push_back({names.gl_pathv[i], static_cast<std::uint64_t>(about.st_size), about.st_mtim.tv_sec});
    }
  ::globfree(&names);
  return found;
}

// At most so many bytes; nullopt: it cannot be read, or has grown beyond.
std::optional<std::string> content_of(const std::string& path, std::uint64_t most) {
  const journal::File file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (!file) return std::nullopt;
  std::string content(most + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most) return std::nullopt;
  content.resize(size);
  return content;
}

}  // namespace

std::vector<Artifact> gather_artifacts(const Receiver& receiver, const std::string& job) {
  std::vector<Artifact> artifacts;
  std::vector<Found> found;
  std::set<std::string> seen;
  for (const std::string& glob : receiver.artifacts) {
    const std::string pattern = pattern_of(glob, job);
    const auto files = files_of(pattern);
    if (files.empty()) artifacts.push_back({formats::printable(pattern), "", "there is no such file"});
    for (const Found& one : files)
      if (seen.insert(one.path).second) found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.changed > b.changed; });
  std::uint64_t taken = 0;
  for (const Found& one : found) {
    if (artifacts.size() >= most_named) {
      artifacts.push_back(
          {fmt::format("{} more", found.size() - static_cast<std::size_t>(&one - found.data())), "", "too many files"});
      break;
    }
    Artifact artifact{formats::printable(one.path), "", ""};
    if (one.size > receiver.artifact_size)
      artifact.left_out =
          fmt::format("{}, more than {} for one file", size_text(one.size), size_text(receiver.artifact_size));
    else if (taken + one.size > receiver.artifacts_size)
      artifact.left_out =
          fmt::format("{}, more than {} for all files", size_text(one.size), size_text(receiver.artifacts_size));
    else if (auto content = content_of(one.path, one.size))
      taken += content->size(), artifact.content = std::move(*content);
    else artifact.left_out = size_text(one.size) + ", it cannot be read, or grows";
    artifacts.push_back(std::move(artifact));
  }
  return artifacts;
}

}  // namespace tocsin::adapters::notify
