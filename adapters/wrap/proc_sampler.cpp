#include "adapters/wrap/proc_sampler.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>

#include "adapters/wrap/proc_stat.h"

namespace tocsin::adapters::wrap {

namespace {

struct Call {
  long number;
  std::string_view name;
};
// System calls in which a process often blocks; others are given as their number.
constexpr Call calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_ioctl, "ioctl"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_msync, "msync"},
    {SYS_sync, "sync"},
    {SYS_munmap, "munmap"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_restart_syscall, "restart_syscall"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_sendfile, "sendfile"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_splice, "splice"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_open, "open"},
    {SYS_pause, "pause"},
#endif
};

// A thread that waits for other processes or threads sleeps in one of these; a sleep of its own, a file or a device is
// no such wait.
constexpr long waiting_calls[] = {
    SYS_futex, SYS_ppoll,  SYS_pselect6,   SYS_epoll_pwait, SYS_recvfrom, SYS_recvmsg,
#ifdef SYS_poll
    SYS_poll,  SYS_select, SYS_epoll_wait,
#endif
};
constexpr unsigned least_glances = 3;

std::string_view state_name(char state) {
  switch (state) {
    case 'R': return "running";
    case 'D': return "disk_sleep";
    case 'T': return "stopped";
    case 't': return "traced";
    case 'Z':
    case 'X': return "zombie";
    default: return "sleeping";
  }
}

double number_after(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  at = text.find_first_not_of(" \t", at + key.size());
  if (at == std::string_view::npos) return -1;
  std::uint64_t value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return static_cast<double>(value);
}

}  // namespace

ProcProbe::ProcProbe(pid_t pid)
    : pid_(pid), stat_(open_proc(pid, "stat")), syscall_(open_proc(pid, "syscall")), wchan_(open_proc(pid, "wchan")) {
  char buffer[1024];
  if (const auto stat = parse_stat(read_again(stat_.get(), buffer))) start_ = stat->start_ticks;
}

// The two are states, which hold until they change: that it no longer waits is a value, too.
void ProcProbe::look_for_waits(bool sleeps, ProcReading& reading) {
  constexpr std::string_view none = "none";
  if (syscall_) {
    const std::string_view text = read_again(syscall_.get(), syscall_text_);
    if (text.empty()) {
      syscall_.close();  // not allowed to us (it asks for more than the channel does), and will not be
    } else {
      long number = -1;
      std::from_chars(text.data(), text.data() + text.size(), number);  // "running", or -1: in no call
      reading.wait_syscall = none;
      if (sleeps && number >= 0) {
        const auto* call =
            std::find_if(std::begin(calls), std::end(calls), [&](const Call& c) { return c.number == number; });
        number_ = call == std::end(calls) ? std::to_string(number) : std::string{call->name};
        reading.wait_syscall = number_;
      }
    }
  }
  // 0: nowhere, or that we may not know.
  const std::string_view place = sleeps && wchan_ ? read_again(wchan_.get(), channel_text_) : std::string_view{};
  if (!place.empty() && place != "0") {
    channel_seen_ = true;
    reading.wait_channel = place;
  } else if (channel_seen_) {
    reading.wait_channel = none;
  }
}

void ProcProbe::glance() {
  if (!syscall_) return;
  char buffer[512];
  const std::string_view text = read_again(syscall_.get(), buffer);
  if (text.empty()) return;
  ++glances_;
  long number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);  // "running": none
  if (std::find(std::begin(waiting_calls), std::end(waiting_calls), number) != std::end(waiting_calls)) ++waits_;
}

std::optional<ProcReading> ProcProbe::read(stream::Time now) {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  char buffer[1024];
  const auto stat = parse_stat(read_again(stat_.get(), buffer));
  if (!stat) return std::nullopt;
  ProcReading reading;
  if (last_ != stream::long_ago && now > last_ && stat->cpu_ticks >= ticks_)
    reading.cpu = static_cast<double>(stat->cpu_ticks - ticks_) * tick / stream::seconds(now - last_);
  ticks_ = stat->cpu_ticks;
  last_ = now;
  reading.state = state_name(stat->state);
  if (glances_ >= least_glances) reading.wait_share = static_cast<double>(waits_) / glances_;
  glances_ = waits_ = 0;
  if (stat->state == 'Z')
    reading.exit_status =
        WIFSIGNALED(stat->exit_status) ? 128 + WTERMSIG(stat->exit_status) : WEXITSTATUS(stat->exit_status);
  reading.resident_bytes = static_cast<double>(stat->resident_pages) * page;
  look_for_waits(stat->state == 'S' || stat->state == 'D', reading);
  return reading;
}

HostMemory::HostMemory(pid_t of) : meminfo_(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC)) {
  char buffer[4096];
  const Descriptor groups = open_proc(of == 0 ? ::getpid() : of, "cgroup");
  const std::string_view text = read_again(groups.get(), buffer);
  const std::size_t line = text.starts_with("0::") ? 0 : text.find("\n0::");
  if (line == std::string_view::npos) return;
  const std::size_t begin = text.find("::", line) + 2;
  std::string group{text.substr(begin, text.find('\n', begin) - begin)};
  // The nearest group above us that has a limit.
  for (;; group.erase(std::min(group.rfind('/'), group.size()))) {
    const std::string at = "/sys/fs/cgroup" + group;
    const Descriptor most{::open((at + "/memory.max").c_str(), O_RDONLY | O_CLOEXEC)};
    char word[64];
    const std::string_view limit = most ? read_again(most.get(), word) : std::string_view{};
    if (!limit.empty() && !limit.starts_with("max")) {
      group_limit_ = number_after(limit, "");
      current_ = Descriptor{::open((at + "/memory.current").c_str(), O_RDONLY | O_CLOEXEC)};
      stat_ = Descriptor{::open((at + "/memory.stat").c_str(), O_RDONLY | O_CLOEXEC)};
      return;
    }
    if (group.empty() || group == "/") return;
  }
}

std::optional<HostMemory::Reading> HostMemory::read() {
  char buffer[8192];
  if (group_limit_ > 0) {
    const double used = number_after(read_again(current_.get(), buffer), "");
    const double cache = number_after(read_again(stat_.get(), buffer), "\ninactive_file");
    if (used >= 0) return Reading{std::max(0.0, used - std::max(0.0, cache)), group_limit_};
  }
  const std::string_view text = read_again(meminfo_.get(), buffer);
  const double total = number_after(text, "MemTotal:"), available = number_after(text, "MemAvailable:");
  if (total < 0 || available < 0) return std::nullopt;
  return Reading{(total - available) * 1024, total * 1024};
}

}  // namespace tocsin::adapters::wrap
