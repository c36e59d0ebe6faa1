#include "adapters/trace/process_life.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <fstream>

#include "adapters/journal/directory.h"

namespace tocsin::adapters::trace {
namespace {

std::string path_of(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + '/' + file; }

journal::File open_proc(pid_t pid, const char* file) {
  return journal::File{::open(path_of(pid, file).c_str(), O_RDONLY | O_CLOEXEC)};
}

// What a clock shows more in our time namespace than outside of it, in nanoseconds.
std::int64_t offset_of(const char* clock) {
  std::ifstream file{"/proc/self/timens_offsets"};
  std::string name;
  for (std::int64_t seconds = 0, nanoseconds = 0; file >> name >> seconds >> nanoseconds;)
    if (name == clock) return seconds * 1'000'000'000 + nanoseconds;
  return 0;
}

}  // namespace

std::optional<std::uint64_t> start_ticks(pid_t pid) {
  char buffer[4096];
  const journal::File file = open_proc(pid, "stat");
  const ssize_t got = file ? ::read(file.get(), buffer, sizeof buffer) : -1;
  if (got <= 0) return std::nullopt;
  return start_in_stat({buffer, static_cast<std::size_t>(got)});
}

std::optional<std::uint64_t> start_in_stat(std::string_view text) noexcept {
  const auto name_end = text.rfind(") ");  // a name may hold blanks and parentheses
  if (name_end == text.npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text.starts_with('Z') || text.starts_with('X')) return std::nullopt;
  for (int field = 3; field < 22; ++field) {
    const auto blank = text.find(' ');
    if (blank == text.npos) return std::nullopt;
    text.remove_prefix(blank + 1);
  }
  std::uint64_t ticks = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), ticks).ec != std::errc{}) return std::nullopt;
  return ticks;
}

std::uint64_t to_ticks(std::uint64_t nanoseconds) noexcept {
  static const auto a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto offset = static_cast<std::uint64_t>(offset_of("boottime"));
  return (nanoseconds + offset) / (1'000'000'000 / a_second);
}

std::uint64_t kernel_time() {
  static const auto offset = offset_of("monotonic");
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec * 1'000'000'000 + time.tv_nsec - offset);
}

std::string executable_of(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(path_of(pid, "exe").c_str(), path, sizeof path);
  return length > 0 ? std::string{path, static_cast<std::size_t>(length)} : std::string{};
}

stream::Result<std::string> maps_of(pid_t pid) {
  const journal::File file = open_proc(pid, "maps");
  const auto failed = [&] {
    if (errno != EACCES && errno != EPERM) return stream::Error{stream::Errc::not_found, "the process has gone"};
    return stream::Error{
        stream::Errc::refused,
        "the libraries of processes of other users cannot be found: that needs the capability SYS_PTRACE"};
  };
  if (!file) return failed();
  std::string text;
  constexpr std::size_t piece = 1 << 16, most = 1 << 26;
  while (text.size() < most) {
    const std::size_t had = text.size();
    text.resize(had + piece);
    const ssize_t got = ::read(file.get(), text.data() + had, piece);
    text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0) return failed();
    if (got == 0) break;
  }
  return text;
}

}  // namespace tocsin::adapters::trace
