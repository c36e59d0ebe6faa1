#include "adapters/packs/pattern_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tocsin::adapters::packs {
namespace {

namespace fs = std::filesystem;

constexpr off_t most_bytes = 256 << 20;

// A file or directory of ours that nobody else can write: what it holds is used without another look at it.
bool only_ours(const struct stat& found) {
  return found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The directory as a descriptor; -1: it is not there, or not ours alone.
int open_directory(const fs::path& directory) {
  const int at = directory.empty() ? -1 : ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat found {};
  if (at >= 0 && ::fstat(at, &found) == 0 && only_ours(found)) return at;
  if (at >= 0) ::close(at);
  return -1;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

fs::path cache_directory() {
  if (const char* given = std::getenv("TOCSIN_CACHE"); given != nullptr) return given;
  if (const char* given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given == '/')
    return fs::path{given} / "tocsin";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path{home} / ".cache/tocsin" : fs::path{};
}

std::optional<std::string> PatternCache::find(std::string_view name) {
  const int directory = open_directory(directory_);
  if (directory < 0) return std::nullopt;
  const int file = ::openat(directory, std::string{name}.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ::close(directory);
  if (file < 0) return std::nullopt;
  std::optional<std::string> bytes;
  struct stat found {};
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && only_ours(found) && found.st_size <= most_bytes) {
    std::string read(static_cast<std::size_t>(found.st_size), '\0');
    std::size_t size = 0;
    for (ssize_t more = 1; more > 0 && size<read.size(); size += more> 0 ? static_cast<std::size_t>(more) : 0)
      more = ::read(file, read.data() + size, read.size() - size);
    if (size == read.size()) {
      bytes = std::move(read);
      ::futimens(file, nullptr);  // it was used: others go first
    }
  }
  ::close(file);
  return bytes;
}

void PatternCache::keep(std::string_view name, std::string_view bytes) {
  if (directory_.empty()) return;
  std::error_code error;
  fs::create_directories(directory_.parent_path(), error);
  ::mkdir(directory_.c_str(), 0700);
  const int directory = open_directory(directory_);
  if (directory < 0) return;
  static std::atomic<unsigned> writes{0};
  const std::string beside =
      std::string{name} + "." + std::to_string(::getpid()) + "-" + std::to_string(++writes) + ".new";
  const int file = ::openat(directory, beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written = file >= 0 && write_all(file, bytes);
  if (file >= 0 && (::close(file) != 0 || !written ||
                    ::renameat(directory, beside.c_str(), directory, std::string{name}.c_str()) != 0))
    ::unlinkat(directory, beside.c_str(), 0);
  ::close(directory);
  forget_oldest();
}

void PatternCache::forget_oldest() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (!gone && entry.path().filename().string().starts_with("patterns-")) files.emplace_back(time, entry.path());
  }
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + most_files < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace tocsin::adapters::packs
