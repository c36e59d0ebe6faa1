#include "adapters/wrap/run_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"
#include "adapters/wrap/descriptor.h"
#include "adapters/wrap/proc_stat.h"
#include "adapters/wrap/run_clock.h"

namespace tocsin::adapters::wrap {

namespace fs = std::filesystem;

fs::path shared_state_directory() { return "/tmp/tocsin-" + std::to_string(::getuid()); }

fs::path state_directory() {
  if (const char* given = std::getenv("XDG_STATE_HOME"); given != nullptr && *given == '/')
    return fs::path{given} / "tocsin";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    const passwd* user = ::getpwuid(::getuid());
    home = user != nullptr ? user->pw_dir : nullptr;
  }
  if (home == nullptr || *home != '/') return shared_state_directory();
  return fs::path{home} / ".local/state/tocsin";
}

fs::path run_directory(const fs::path& state, stream::Time start, pid_t pid) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(start));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return state / (std::string(text, size) + '-' + std::to_string(pid));
}

stream::Result<void> make_run_directory(const fs::path& directory, const fs::path& shared) {
  const bool is_shared = directory.parent_path() == shared;
  auto made = is_shared ? journal::make_private(shared) : stream::Result<void>{};
  if (made && is_shared && !journal::only_writable_by(::geteuid(), shared))
    made = stream::Error{stream::Errc::refused,
                         shared.string() + " is another user's, or others may write it: remove it, set HOME"};
  if (made) made = journal::make_private(directory);
  if (made) return made;
  return stream::Error{made.error().code,
                       made.error().message + "; or name a directory that can be written with --journal"};
}

namespace {

struct Run {
  fs::path path;
  std::uint64_t bytes = 0;
  bool alive = false;
};

// When the process under this pid started, by the wall clock; nothing where there is none, or where it cannot be known.
std::optional<stream::Time> start_of(long pid) {
  char text[4096];
  const auto stat = read_stat(static_cast<pid_t>(pid), text);
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (!stat || ticks <= 0) return std::nullopt;
  const RunClock clock;
  return clock.start() - (clock.since_boot() -
                          stream::from_seconds(static_cast<double>(stat->start_ticks) / static_cast<double>(ticks)));
}

// What run_directory() wrote.
std::optional<stream::Time> begin_of(const std::string& name) {
  std::tm parts{};
  if (::strptime(name.c_str(), "%Y%m%dT%H%M%SZ", &parts) == nullptr) return std::nullopt;
  return stream::at_nanoseconds(::timegm(&parts) * 1'000'000'000L);
}

}  // namespace

std::uint64_t bytes_in(const fs::path& run) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto file = fs::recursive_directory_iterator(run, error); !error && file != fs::recursive_directory_iterator{};
       file.increment(error)) {
    std::error_code gone;
    const std::uintmax_t size = file->is_regular_file(gone) ? file->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

bool is_running(const fs::path& run) {
  if (journal::is_written(run)) return true;
  const std::string name = run.filename().string();
  const long pid = std::strtol(name.c_str() + name.rfind('-') + 1, nullptr, 10);
  if (pid <= 0 || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM)) return false;
  constexpr auto slack = std::chrono::seconds{2};  // the name has whole seconds, a process' start hundredths
  const auto start = start_of(pid), begin = begin_of(name);
  return !start || !begin || *start <= *begin + slack;
}

bool names_a_run(const std::string& name) {
  if (name.size() < 18 || name[8] != 'T' || name[15] != 'Z' || name[16] != '-') return false;
  return name.find_first_not_of("0123456789TZ-") == std::string::npos;
}

std::size_t remove_oldest_runs(const fs::path& state, std::uint64_t most) {
  std::vector<Run> runs;
  std::error_code error;
  for (auto at = fs::directory_iterator(state, error); !error && at != fs::directory_iterator{}; at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone) && !at->is_symlink(gone) && names_a_run(at->path().filename().string()))
      runs.push_back({at->path(), bytes_in(at->path()), is_running(at->path())});
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.path < b.path; });
  std::uint64_t total = 0;
  for (const Run& run : runs) total += run.bytes;
  std::size_t removed = 0;
  for (const Run& run : runs) {
    if (total <= most) break;
    if (run.alive) continue;
    std::error_code failed;
    fs::remove_all(run.path, failed);
    if (failed) continue;
    total -= run.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace tocsin::adapters::wrap
