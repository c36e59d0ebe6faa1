#include "adapters/formats/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "adapters/formats/json_lines.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::formats {

using journal::File;
using journal::io_error;
using stream::Result;
namespace fs = std::filesystem;

struct LineFile::State {
  std::string name;
  File file;
  std::vector<char> buffer = std::vector<char>(1u << 20);
  std::size_t from = 0, to = 0;
  std::uint64_t offset = 0, number = 0;
  bool ended = false;

  Result<void> more();
};

namespace {

Result<File> spool_standard_input() {
  std::error_code error;
  fs::path directory = fs::temp_directory_path(error);
  if (error) directory = "/tmp";
  std::string path = directory / "tocsin-ingest-XXXXXX";
  File file{::mkostemp(path.data(), O_CLOEXEC)};
  if (!file) return io_error("make a temporary file", path, errno);
  ::unlink(path.c_str());
  std::vector<char> buffer(1u << 20);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", "standard input", errno);
    if (got == 0) return file;
    for (ssize_t done = 0; done < got;) {
      const ssize_t wrote = ::write(file.get(), buffer.data() + done, static_cast<std::size_t>(got - done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return io_error("write a temporary file in", directory, errno);
      done += wrote;
    }
  }
}

}  // namespace

LineFile::LineFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineFile::~LineFile() = default;
LineFile::LineFile(LineFile&&) noexcept = default;

Result<LineFile> LineFile::open(const fs::path& path) {
  auto state = std::make_unique<State>();
  state->name = path == "-" ? "standard input" : path.string();
  if (path == "-") {
    auto spooled = spool_standard_input();
    if (!spooled) return spooled.error();
    state->file = std::move(*spooled);
  } else {
    std::error_code error;
    if (fs::is_directory(path, error))
      return stream::Error{stream::Errc::refused, path.string() + " is a directory: name the files in it"};
    state->file = File{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!state->file) return io_error("read", path, errno);
    if (!fs::is_regular_file(path, error))
      return stream::Error{
          stream::Errc::refused,
          path.string() + " cannot be read twice, because it is not a regular file: write `-` and pipe it in"};
  }
  return LineFile{std::move(state)};
}

// Appends the next bytes to the buffer, which keeps the line that has begun.
Result<void> LineFile::State::more() {
  std::memmove(buffer.data(), buffer.data() + from, to - from);
  to -= from;
  from = 0;
  if (to == buffer.size()) buffer.resize(buffer.size() * 2);
  while (true) {
    const ssize_t got = ::pread(file.get(), buffer.data() + to, buffer.size() - to, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", name, errno);
    if (got == 0) ended = true;
    to += static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
    return {};
  }
}

Result<std::optional<LineFile::Line>> LineFile::next() {
  State& s = *state_;
  std::size_t searched = 0;
  bool too_long = false;
  while (true) {
    const char* begin = s.buffer.data() + s.from;
    const auto* end = static_cast<const char*>(std::memchr(begin + searched, '\n', s.to - s.from - searched));
    if (end != nullptr || (s.ended && s.to != s.from)) {
      const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - begin) : s.to - s.from;
      s.from += length + (end != nullptr ? 1 : 0);
      ++s.number;
      return std::optional{Line{too_long ? std::string_view{} : std::string_view{begin, length}, s.number, too_long}};
    }
    if (s.ended) {
      if (!too_long) return std::optional<Line>{};
      ++s.number;
      return std::optional{Line{{}, s.number, true}};
    }
    searched = s.to - s.from;
    if (searched > longest_json_line) {  // skip the rest of it
      too_long = true;
      s.from = s.to;
      searched = 0;
    }
    if (auto read = s.more(); !read) return read.error();
  }
}

void LineFile::rewind() {
  State& s = *state_;
  s.from = s.to = 0;
  s.offset = s.number = 0;
  s.ended = false;
}

const std::string& LineFile::name() const noexcept { return state_->name; }
std::uint64_t LineFile::bytes_read() const noexcept { return state_->offset; }
std::uint64_t LineFile::size() const noexcept { return state_->file.size(); }

}  // namespace tocsin::adapters::formats
