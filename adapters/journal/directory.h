#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::journal {

// How the name of a journal begins, where it is the source of records.
inline constexpr std::string_view source_prefix = "journal/";

// An open file, or another descriptor, closed with it. Owned by its holder; used by one process.
class File {
 public:
  File() = default;
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() { close(); }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) close(), descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  void close() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] bool deleted() const noexcept;  // no name leads to it any more

 private:
  int descriptor_ = -1;
};

// A directory of a journal, which may have come from elsewhere: all that is in it is opened, replaced and removed below
// its descriptor, through no link, and no file is used but a regular one; none is written that has another name. A FIFO
// never blocks. Owned by who uses the files.
class OpenDirectory {
 public:
  // The path is the user's own, and may lead through links. not_found: it is not there.
  static stream::Result<OpenDirectory> open(const std::filesystem::path& path);
  [[nodiscard]] stream::Result<OpenDirectory> below(const std::string& name) const;
  // Made, private to the user, where it is not there.
  [[nodiscard]] stream::Result<OpenDirectory> make(const std::string& name) const;

  [[nodiscard]] stream::Result<File> open(const std::string& name, int flags) const;
  [[nodiscard]] stream::Result<std::string> read(const std::string& name) const;
  // Writes all of it beside and renames it to the name: whole or not at all, on disk when it returns.
  [[nodiscard]] stream::Result<void> write(const std::string& name, std::string_view content) const;
  [[nodiscard]] stream::Result<void> remove(const std::string& name) const;
  [[nodiscard]] stream::Result<std::vector<std::string>> names() const;
  [[nodiscard]] bool holds(const std::string& name) const noexcept;
  [[nodiscard]] stream::Result<void> sync() const;
  // Locks it for a process, by flock(2) with these flags. False: another has it.
  [[nodiscard]] bool lock(int flags) const noexcept;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  OpenDirectory(File file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {}
  File file_;
  std::filesystem::path path_;
};

// Makes the directory and what leads to it, private to the user; one that exists stays as it is.
[[nodiscard]] stream::Result<void> make_private(const std::filesystem::path& directory);
// Whether nobody but root and this user can write the directory, or replace what leads to it, links included.
[[nodiscard]] bool only_writable_by(uid_t user, const std::filesystem::path& directory);

[[nodiscard]] stream::Error io_error(const std::string& what, const std::filesystem::path& path, int error_number);
stream::Result<void> write_all(const File& file, const std::filesystem::path& path, std::string_view content);
// Of a file in the directory that the path names.
stream::Result<void> write_whole(const std::filesystem::path& path, std::string_view content);
stream::Result<std::string> read_whole(const std::filesystem::path& path);

struct Segment {
  std::uint64_t position = 0;
  std::filesystem::path path;
};

[[nodiscard]] std::string segment_name(std::uint64_t position);
// Ascending by position. A directory that is not there has none.
stream::Result<std::vector<Segment>> segments(const std::filesystem::path& directory);
stream::Result<std::vector<Segment>> segments(const OpenDirectory& directory);

}  // namespace tocsin::adapters::journal
