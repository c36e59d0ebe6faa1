#include "adapters/journal/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Result;
namespace fs = std::filesystem;

std::uint64_t File::size() const noexcept {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool File::deleted() const noexcept {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

Error io_error(const std::string& what, const fs::path& path, int error_number) {
  std::string remedy;
  if (error_number == EACCES || error_number == EPERM) remedy = ": run as its owner, or choose another place";
  else if (error_number == ENOSPC || error_number == EDQUOT) remedy = ": make room, or give the journal a cap";
  else if (error_number == ENOENT) remedy = ": check the path";
  else if (error_number == ELOOP || error_number == ENXIO || error_number == ENOTDIR || error_number == EMLINK)
    remedy = ": a journal has files and directories of its own and no links: move it away";
  else remedy = ": check the disk";
  return {error_number == ENOENT ? Errc::not_found : Errc::io,
          "cannot " + what + " " + path.string() + " (" + std::strerror(error_number) + ")" + remedy};
}

Result<OpenDirectory> OpenDirectory::open(const fs::path& path) {
  File file{::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!file) return io_error("open the directory", path, errno);
  return OpenDirectory{std::move(file), path};
}

Result<OpenDirectory> OpenDirectory::below(const std::string& name) const {
  File file{::openat(file_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!file) return io_error("open the directory", path_ / name, errno);
  return OpenDirectory{std::move(file), path_ / name};
}

Result<OpenDirectory> OpenDirectory::make(const std::string& name) const {
  if (::mkdirat(file_.get(), name.c_str(), 0700) == 0) {
    if (auto synced = sync(); !synced) return synced.error();
  } else if (errno != EEXIST) {
    return io_error("make the directory", path_ / name, errno);
  }
  return below(name);
}

Result<File> OpenDirectory::open(const std::string& name, int flags) const {
  if ((flags & O_TRUNC) != 0) {  // a new file in place of what is there, which may have another name elsewhere
    ::unlinkat(file_.get(), name.c_str(), 0);
    flags = (flags & ~O_TRUNC) | O_EXCL;
  }
  File file{::openat(file_.get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)};
  if (!file) return io_error("open", path_ / name, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error("open", path_ / name, errno);
  if (!S_ISREG(status.st_mode)) return io_error("open", path_ / name, ENXIO);
  if ((flags & O_ACCMODE) != O_RDONLY && status.st_nlink > 1) return io_error("write", path_ / name, EMLINK);
  return file;
}

Result<std::string> OpenDirectory::read(const std::string& name) const {
  const auto file = open(name, O_RDONLY);
  if (!file) return file.error();
  std::string content(file->size(), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file->get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path_ / name, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
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

Result<void> OpenDirectory::write(const std::string& name, std::string_view content) const {
  const std::string beside = name + ".new";
  const auto file = open(beside, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return file.error();
  auto written = write_all(*file, path_ / beside, content);
  if (written && ::fdatasync(file->get()) != 0) written = io_error("sync", path_ / beside, errno);
  if (written && ::renameat(file_.get(), beside.c_str(), file_.get(), name.c_str()) != 0)
    written = io_error("rename to", path_ / name, errno);
  if (written) return sync();
  (void)remove(beside);
  return written;
}

Result<void> OpenDirectory::remove(const std::string& name) const {
  if (::unlinkat(file_.get(), name.c_str(), 0) != 0) return io_error("delete", path_ / name, errno);
  return {};
}

Result<std::vector<std::string>> OpenDirectory::names() const {
  const int again = ::openat(file_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, decltype([](DIR* entries) { ::closedir(entries); })> entries{
      again < 0 ? nullptr : ::fdopendir(again)};
  if (!entries) return io_error("read the directory", path_, errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  return names;
}

bool OpenDirectory::holds(const std::string& name) const noexcept {
  return ::faccessat(file_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> OpenDirectory::sync() const {
  if (::fsync(file_.get()) != 0) return io_error("sync", path_, errno);
  return {};
}

bool OpenDirectory::lock(int flags) const noexcept { return ::flock(file_.get(), flags) == 0 || errno != EWOULDBLOCK; }

Result<void> make_private(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT || !directory.has_parent_path() || directory.parent_path() == directory)
    return io_error("make the directory", directory, errno);
  if (auto parent = make_private(directory.parent_path()); !parent) return parent;
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return io_error("make the directory", directory, errno);
}

bool only_writable_by(uid_t user, const fs::path& directory) {
  std::error_code relative, error;  // of a directory without a name; of one that is not there
  for (fs::path path : {fs::absolute(directory, relative), fs::canonical(directory, error)})
    for (bool itself = true;; itself = false, path = path.parent_path()) {
      struct stat found {};
      if (relative || error || ::lstat(path.c_str(), &found) != 0) return false;
      const bool others_write = !S_ISLNK(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
      const bool keeps_names = !itself && (found.st_mode & S_ISVTX) != 0;  // as /tmp: others cannot rename what is ours
      if (found.st_uid != user && found.st_uid != 0) return false;
      if (others_write && !keeps_names) return false;
      if (path == path.root_path()) break;
    }
  return true;
}

Result<void> write_whole(const fs::path& path, std::string_view content) {
  const auto directory = OpenDirectory::open(path.parent_path());
  return directory ? directory->write(path.filename(), content) : directory.error();
}

Result<std::string> read_whole(const fs::path& path) {
  const auto directory = OpenDirectory::open(path.parent_path());
  return directory ? directory->read(path.filename()) : directory.error();
}

using stream::Errc;
using stream::Result;

namespace fs = std::filesystem;
constexpr std::string_view suffix = ".journal";
constexpr std::size_t digits = 20;

std::string segment_name(std::uint64_t position) {
  const std::string number = std::to_string(position);
  return std::string(digits - number.size(), '0') + number + std::string{suffix};
}

Result<std::vector<Segment>> segments(const fs::path& directory) {
  const auto opened = OpenDirectory::open(directory);
  if (opened) return segments(*opened);
  if (opened.error().code == Errc::not_found) return std::vector<Segment>{};
  return opened.error();
}

Result<std::vector<Segment>> segments(const OpenDirectory& directory) {
  const auto names = directory.names();
  if (!names) return names.error();
  std::vector<Segment> found;
  for (const std::string& name : *names) {
    if (name.size() != digits + suffix.size() || !name.ends_with(suffix)) continue;
    std::uint64_t position = 0;
    const auto [at, failed] = std::from_chars(name.data(), name.data() + digits, position);
    if (failed != std::errc{} || at != name.data() + digits) continue;
    found.push_back({position, directory.path() / name});
  }
  std::sort(found.begin(), found.end(), [](const Segment& a, const Segment& b) { return a.position < b.position; });
  return found;
}

}  // namespace tocsin::adapters::journal
