#include "adapters/journal/segments.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace fs = std::filesystem;
constexpr std::string_view suffix = ".journal";
constexpr std::size_t digits = 20;

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::uint64_t File::size() const noexcept {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string segment_name(std::uint64_t position) {
  const std::string number = std::to_string(position);
  return std::string(digits - number.size(), '0') + number + std::string{suffix};
}

Result<std::vector<Segment>> segments(const fs::path& directory) {
  std::vector<Segment> found;
  std::error_code error;
  for (fs::directory_iterator file{directory, error}, end; !error && file != end; file.increment(error)) {
    const std::string name = file->path().filename();
    if (name.size() != digits + suffix.size() || !name.ends_with(suffix)) continue;
    std::uint64_t position = 0;
    const auto [at, failed] = std::from_chars(name.data(), name.data() + digits, position);
    if (failed != std::errc{} || at != name.data() + digits) continue;
    found.push_back({position, file->path()});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return io_error("read the directory", directory, error.value());
  std::sort(found.begin(), found.end(), [](const Segment& a, const Segment& b) { return a.position < b.position; });
  return found;
}

Error io_error(const std::string& what, const fs::path& path, int error_number) {
  std::string remedy;
  if (error_number == EACCES || error_number == EPERM) remedy = ": run as its owner, or choose another place";
  else if (error_number == ENOSPC || error_number == EDQUOT) remedy = ": make room, or give the journal a cap";
  else if (error_number == ENOENT) remedy = ": check the path";
  else remedy = ": check the disk";
  return {error_number == ENOENT ? Errc::not_found : Errc::io,
          "cannot " + what + " " + path.string() + " (" + std::strerror(error_number) + ")" + remedy};
}

Result<void> sync_directory(const fs::path& directory) {
  const File opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened || ::fsync(opened.get()) != 0) return io_error("sync", directory, errno);
  return {};
}

Result<void> write_all(const File& file, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

namespace {

Result<void> write_beside(const fs::path& beside, std::string_view content) {
  const File file{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!file) return io_error("write", beside, errno);
  if (auto written = write_all(file, beside, content); !written) return written;
  if (::fdatasync(file.get()) != 0) return io_error("sync", beside, errno);
  return {};
}

}  // namespace

Result<void> write_whole(const fs::path& path, std::string_view content) {
  fs::path beside = path;
  beside += ".new";
  auto written = write_beside(beside, content);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = io_error("rename to", path, errno);
  if (written) return sync_directory(path.parent_path());
  ::unlink(beside.c_str());
  return written;
}

Result<std::string> read_whole(const fs::path& path) {
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return io_error("read", path, errno);
  std::string content(file.size(), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

}  // namespace tocsin::adapters::journal
