#include "adapters/evidence/faulthandler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/proc_file.h"

namespace tocsin::adapters::evidence {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using journal::File;

namespace {

constexpr std::size_t most_text = 1u << 20, most_open_files = 65536, longest_header = 128;
constexpr std::size_t most_name = 512;
constexpr auto limit = 800ms, pause = 5ms;
constexpr int looks_alike = 3;  // at a text that does not grow any more

// Ignored by a process that does not catch it, so that one which an exec replaces at this moment survives.
constexpr int dump_signal = SIGURG;

// As /proc/PID/status has it, of the process or its main thread.
struct Status {
  char state = 0;
  pid_t inner_pid = 0;  // as the process itself knows it
  bool catches = false, blocks = false;
};

template <class Number>
bool read_number(std::string_view& text, Number& number, int base = 10) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

Status status_of(pid_t pid) {
  const std::string text = read_proc(proc_path(pid, "status"));
  const auto has_signal = [](std::string_view mask) {
    std::uint64_t bits = 0;
    return read_number(mask, bits, 16) && (bits >> (dump_signal - 1) & 1) != 0;
  };
  Status status;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest), value = line.substr(std::min(line.find('\t') + 1, line.size()));
    if (line.starts_with("State:") && !value.empty()) status.state = value.front();
    if (line.starts_with("SigCgt:")) status.catches = has_signal(value);
    if (line.starts_with("SigBlk:")) status.blocks = has_signal(value);
    if (line.starts_with("NSpid:"))
      for (std::string_view pids = value; read_number(pids, status.inner_pid);) {}
  }
  return status;
}

// What tocsin_stacks.py has opened and written, in the process that it was written for.
struct DumpFile {
  File file;
  std::size_t header = 0;  // bytes
};

std::optional<DumpFile> open_dump(const std::string& path, int number, pid_t pid, const Status& status) {
  // A device or a FIFO would do something when it is opened.
  const File found{::open(path.c_str(), O_PATH | O_CLOEXEC)};
  struct stat process {
  }, file{};
  if (!found || ::fstat(found.get(), &file) != 0 || ::stat(proc_path(pid, "").c_str(), &process) != 0 ||
      !S_ISREG(file.st_mode) || file.st_uid != process.st_uid || file.st_nlink != 0)
    return std::nullopt;
  DumpFile dump{File{::open(("/proc/self/fd/" + std::to_string(found.get())).c_str(), O_RDWR | O_CLOEXEC)}};
  if (!dump.file || ::fcntl(dump.file.get(), F_GET_SEALS) < 0) return std::nullopt;  // not a file in memory
  char buffer[longest_header];
  const ssize_t size = ::pread(dump.file.get(), buffer, sizeof buffer, 0);
  std::string_view header{buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  dump.header = header.find('\n') + 1;
  if (dump.header == 0) return std::nullopt;
  pid_t written_pid = 0;
  std::uint64_t start = 0;
  int descriptor = -1;
  if (!read_number(header, written_pid) || !read_number(header, start) || !read_number(header, descriptor))
    return std::nullopt;
  if (written_pid != status.inner_pid || start != start_of(pid) || descriptor != number) return std::nullopt;
  return dump;
}

std::optional<DumpFile> find_dump(pid_t pid, const Status& status) {
  std::error_code error;
  std::size_t looked_at = 0;
  for (std::filesystem::directory_iterator at{proc_path(pid, "fd"), error}, end;
       !error && at != end && looked_at < most_open_files; at.increment(error), ++looked_at) {
    std::error_code gone;
    if (std::filesystem::read_symlink(at->path(), gone) != "/memfd:tocsin-stacks (deleted)") continue;
    int number = -1;
    std::string_view name = at->path().native();
    name.remove_prefix(name.rfind('/') + 1);
    if (!read_number(name, number)) continue;
    if (auto dump = open_dump(at->path(), number, pid, status)) return dump;
  }
  return std::nullopt;
}

std::string text_of(const DumpFile& dump) {
  struct stat file {};
  if (::fstat(dump.file.get(), &file) != 0 || static_cast<std::size_t>(file.st_size) < dump.header) return {};
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(file.st_size) - dump.header, most_text), '\0');
  const ssize_t size = ::pread(dump.file.get(), text.data(), text.size(), static_cast<off_t>(dump.header));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

// "  File "train.py", line 41 in train_step"
std::optional<Frame> frame_of(std::string_view line) {
  constexpr std::string_view begin = "  File \"", middle = "\", line ", in = " in ";
  const std::size_t place = line.rfind(middle);
  if (!line.starts_with(begin) || place == std::string_view::npos || place < begin.size()) return std::nullopt;
  Frame frame;
  frame.file = std::string{line.substr(begin.size(), place - begin.size()).substr(0, most_name)};
  line.remove_prefix(place + middle.size());
  read_number(line, frame.line);  // or "???"
  const std::size_t function = line.find(in);
  if (function == std::string_view::npos) return std::nullopt;
  frame.function = std::string{line.substr(function + in.size()).substr(0, most_name)};
  return frame;
}

// The frames, once the text is complete: the handler, during which the main thread blocks the signal, is over.
std::vector<Frame> wait_for(const DumpFile& dump, pid_t pid) {
  std::string last;
  int alike = 0;
  for (const auto until = Clock::now() + limit; Clock::now() < until;) {
    ::usleep(std::chrono::microseconds{pause}.count());
    const bool runs = status_of(pid).blocks;
    std::string text = text_of(dump);
    alike = runs || text.empty() || text != last ? 0 : alike + 1;
    last = std::move(text);
    if (alike < looks_alike) continue;
    if (auto frames = frames_of_faulthandler(last); !frames.empty()) return frames;
  }
  return {};
}

}  // namespace

std::vector<Frame> frames_of_faulthandler(std::string_view text) {
  std::vector<Frame> frames;
  while (!text.empty())
    if (auto frame = frame_of(take_line(text))) frames.push_back(std::move(*frame));
  // The kernel gives the signal to another thread if the main one has yet to handle a signal. Each thread that Python
  // started begins so.
  if (!frames.empty() && frames.back().function == "_bootstrap") frames.clear();
  return frames;
}

bool take_by_faulthandler(ProcessStack& stack) {
  // From here on the descriptor is the process, whoever gets its pid.
  const File process{static_cast<int>(::syscall(SYS_pidfd_open, stack.pid, 0))};
  if (!process) return false;
  const Status status = status_of(stack.pid);
  if (!status.catches || status.state == 'T' || status.state == 't') return false;
  const auto dump = find_dump(stack.pid, status);
  if (!dump) return false;
  const auto fail = [&](const char* reason) {
    stack.error += (stack.error.empty() ? "" : "; ") + std::string{reason};
    return false;
  };
  for (const auto until = Clock::now() + limit; ::flock(dump->file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (Clock::now() > until) return fail("another tocsin is taking the stack by faulthandler");
    ::usleep(std::chrono::microseconds{pause}.count());
  }
  const auto empty = [&] { return ::ftruncate(dump->file.get(), static_cast<off_t>(dump->header)) == 0; };
  if (!empty() || ::syscall(SYS_pidfd_send_signal, process.get(), dump_signal, nullptr, 0) != 0)
    return fail("the process could not be signalled to print its stacks by faulthandler");
  auto frames = wait_for(*dump, stack.pid);
  const bool emptied = empty();  // the memory is the job's
  if (frames.empty() || !emptied) return fail("the process did not print its stack by faulthandler within 0.8 s");
  stack.threads = {{stack.pid, "MainThread", true}};
  stack.threads.front().frames = std::move(frames);
  stack.way = Way::faulthandler;
  stack.error.clear();
  return true;
}

}  // namespace tocsin::adapters::evidence
