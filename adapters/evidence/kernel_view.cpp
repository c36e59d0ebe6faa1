#include "adapters/evidence/kernel_view.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "adapters/evidence/proc_file.h"

namespace tocsin::adapters::evidence {

namespace {

constexpr std::size_t most_kernel_threads = 64, most_looked_at = 4096;

struct Call {
  long number;
  const char* name;
};
// The calls in which a program waits. Where a machine has no such call, it has the other of the pair.
constexpr Call calls[] = {
#ifdef SYS_open
    {SYS_open, "open"},
    {SYS_poll, "poll"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_select, "select"},
#endif
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_futex, "futex"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_ioctl, "ioctl"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "sigtimedwait"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_munmap, "munmap"},
    {SYS_mmap, "mmap"},
    {SYS_madvise, "madvise"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_sendfile, "sendfile"},
    {SYS_newfstatat, "stat"},
    {SYS_statx, "statx"},
    {SYS_getdents64, "getdents"}};

std::string call_of(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return {};  // "running", or not allowed
  for (const Call& call : calls)
    if (call.number == number) return call.name;
  return "call " + std::to_string(number);
}

// "[<0>] futex_do_wait+0x38/0x70"
std::vector<Frame> frames_of(const std::string& text) {
  std::vector<Frame> frames;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line) && frames.size() < 32;) {
    std::size_t at = line.find("] ");
    at = at == std::string::npos ? 0 : at + 2;
    const std::string function = line.substr(at, line.find('+', at) - at);
    if (!function.empty()) frames.push_back({function, "", 0, true});
  }
  return frames;
}

struct Stat {
  char state = 0;
  std::string name;
  std::uint64_t start = 0;
};

Stat stat_of(const std::string& path) {
  const std::string text = read_proc(path, 4096);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 2 >= text.size()) return {};
  Stat stat{text[close + 2], text.substr(open + 1, close - open - 1), 0};
  std::istringstream rest{text.substr(close + 2)};
  std::string word;
  for (int field = 3; field <= 22 && rest >> word; ++field)
    if (field == 22) std::from_chars(word.data(), word.data() + word.size(), stat.start);
  return stat;
}

std::string wait_of(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text == "0" ? std::string{} : text;
}

}  // namespace

std::uint64_t start_of(pid_t pid) { return stat_of(proc_path(pid, "stat")).start; }

ProcessStack kernel_view(pid_t pid) {
  ProcessStack stack;
  stack.pid = pid;
  std::error_code error;
  std::size_t looked_at = 0;
  for (std::filesystem::directory_iterator at{proc_path(pid, "task"), error}, end;
       !error && at != end && looked_at < most_looked_at; at.increment(error), ++looked_at) {
    const std::string task = at->path().string(), number = at->path().filename().string();
    ThreadStack thread;
    std::from_chars(number.data(), number.data() + number.size(), thread.tid);
    thread.main = thread.tid == pid;
    // Of hundreds of sleeping threads some tell the story; none that runs or is stuck in the kernel is left out.
    const Stat stat = stat_of(task + "/stat");
    if (stat.state == 0) continue;
    if (!thread.main && stack.threads.size() >= most_kernel_threads && stat.state == 'S') continue;
    thread.state = stat.state;
    thread.name = stat.name;
    thread.idle = stat.state != 'R';
    thread.call = call_of(read_proc(task + "/syscall", 256));
    thread.waits = wait_of(read_proc(task + "/wchan", 128));
    thread.frames = frames_of(read_proc(task + "/stack", 8192));
    stack.threads.push_back(std::move(thread));
  }
  if (stack.threads.empty()) {
    stack.error = "the process has ended";
    return stack;
  }
  std::stable_partition(stack.threads.begin(), stack.threads.end(), [](const ThreadStack& one) { return one.main; });
  if (stack.threads.size() > 2 * most_kernel_threads) stack.threads.resize(2 * most_kernel_threads);
  stack.way = Way::kernel;
  if (stack.threads.front().state == 'Z') stack.error = "the process has ended (a zombie)";
  return stack;
}

void add_kernel_view(ProcessStack& stack, const ProcessStack& kernel) {
  for (const ThreadStack& seen : kernel.threads) {
    const auto at = std::find_if(stack.threads.begin(), stack.threads.end(),
                                 [&](const ThreadStack& one) { return one.tid == seen.tid; });
    if (at != stack.threads.end()) {
      at->state = seen.state;
      at->idle = seen.idle;
      at->call = seen.call;
      at->waits = seen.waits;
      at->main = seen.main;
      if (at->name.empty()) at->name = seen.name;
    } else if (seen.main || seen.state == 'R' || seen.state == 'D') {
      stack.threads.push_back(seen);
    }
  }
  std::stable_partition(stack.threads.begin(), stack.threads.end(), [](const ThreadStack& one) { return one.main; });
}

}  // namespace tocsin::adapters::evidence
