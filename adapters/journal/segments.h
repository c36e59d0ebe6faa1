#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stream/values/result.h"

// The files of a journal: each segment is named by the position of its first byte.
namespace tocsin::adapters::journal {

// An open file, closed with it.
class File {
 public:
  File() = default;
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  File& operator=(File&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  int descriptor_ = -1;
};

struct Segment {
  std::uint64_t position = 0;
  std::filesystem::path path;
};

[[nodiscard]] std::string segment_name(std::uint64_t position);
// Ascending by position. A directory that is not there has none.
stream::Result<std::vector<Segment>> segments(const std::filesystem::path& directory);

[[nodiscard]] stream::Error io_error(const std::string& what, const std::filesystem::path& path, int error_number);
stream::Result<void> write_all(const File& file, const std::filesystem::path& path, std::string_view content);
// Writes all of it beside and renames it to `path`: whole or not at all, on disk when it returns.
stream::Result<void> write_whole(const std::filesystem::path& path, std::string_view content);
stream::Result<std::string> read_whole(const std::filesystem::path& path);
stream::Result<void> sync_directory(const std::filesystem::path& directory);

}  // namespace tocsin::adapters::journal
