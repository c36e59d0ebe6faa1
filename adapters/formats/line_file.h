#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::formats {

// A file read line by line, from its beginning as often as asked. Memory is bounded by the longest line that is
// allowed. Owned by its reader.
class LineFile {
 public:
  // "-" is standard input: it is first copied to a temporary file of its own, gone with this object, because reading
  // twice needs an end.
  static stream::Result<LineFile> open(const std::filesystem::path& path);
  ~LineFile();
  LineFile(LineFile&&) noexcept;

  struct Line {
    std::string_view text;     // without the newline; valid until the next call
    std::uint64_t number = 0;  // from 1
    bool too_long = false;     // then `text` is empty: the line was skipped
  };
  stream::Result<std::optional<Line>> next();
  void rewind();
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;  // since the last rewind
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  struct State;
  explicit LineFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::formats
