#include "adapters/evidence/background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tocsin::adapters::evidence {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_answer = 64u << 20;
constexpr int longest_end = 200;  // ms

struct Pipe {
  journal::File read, write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {journal::File{ends[0]}, journal::File{ends[1]}};
}

// In a forked process of ours: nothing of the parent's holds for it but the pipe, and it ends with the parent.
void begin_process(const char* name, pid_t parent, int keep) {
  ::prctl(PR_SET_NAME, name);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::setpgid(0, 0);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (keep > 3) ::close_range(3, static_cast<unsigned>(keep) - 1, 0);
  ::close_range(static_cast<unsigned>(std::max(keep, 2)) + 1, ~0u, 0);
}

// The pid, or -1. An exception of the work ends its process alone.
pid_t fork_work(const char* name, const Background::Work& work, const Pipe& pipe) {
  const pid_t parent = ::getpid(), pid = pipe.write ? ::fork() : -1;
  if (pid != 0) return pid;
  begin_process(name, parent, pipe.write.get());
  try {
    work(pipe.write.get());
  } catch (const std::exception&) { ::_exit(1); }
  ::_exit(0);
}

struct Running {
  std::size_t piece;
  pid_t pid;
  journal::File answer;
  std::string bytes;
  Clock::time_point until;
};

}  // namespace

void write_all_of(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Background::start(const char* name, const Work& work, std::chrono::milliseconds limit) {
  stop();
  bytes_.clear();
  until_ = Clock::now() + limit;
  Pipe pipe = make_pipe();
  pid_ = fork_work(name, work, pipe);
  if (pid_ < 0) {
    // No process is to be had: poll() finds the end of an empty answer.
    answer_ = journal::File{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    return;
  }
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  answer_ = std::move(pipe.read);
}

void Background::stop() {
  answer_.close();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // the processes below it end with it, by PR_SET_PDEATHSIG
  // One that writes to a file system that does not answer stays until that does: nobody waits for it.
  const journal::File process{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  pollfd ended{process.get(), POLLIN, 0};
  if (process) ::poll(&ended, 1, longest_end);
  ::waitpid(std::exchange(pid_, -1), nullptr, WNOHANG);
}

std::optional<std::string> Background::poll() {
  if (!answer_) return std::nullopt;
  char buffer[65536];
  ssize_t size;
  while ((size = ::read(answer_.get(), buffer, sizeof buffer)) > 0)
    if (bytes_.size() < most_answer) bytes_.append(buffer, static_cast<std::size_t>(size));
  if (size < 0 && (errno == EAGAIN || errno == EINTR) && Clock::now() < until_) return std::nullopt;
  stop();
  return std::exchange(bytes_, {});
}

void run_pieces(std::span<const Piece> pieces, std::size_t at_once,
                const std::function<void(std::size_t piece, std::string bytes, bool late)>& done) {
  std::vector<Running> running;
  for (std::size_t next = 0; next < pieces.size() || !running.empty();) {
    while (next < pieces.size() && running.size() < std::max<std::size_t>(at_once, 1)) {
      const Piece& piece = pieces[next];
      Pipe pipe = make_pipe();
      const pid_t pid = fork_work("tocsin-evidence", piece.work, pipe);
      if (pid > 0) {
        ::setpgid(pid, pid);
        running.push_back({next, pid, std::move(pipe.read), {}, Clock::now() + piece.limit});
      } else {
        done(next, {}, false);
      }
      ++next;
    }
    std::vector<pollfd> at;
    auto until = Clock::now() + std::chrono::minutes{1};
    for (const Running& one : running) at.push_back({one.answer.get(), POLLIN, 0}), until = std::min(until, one.until);
    if (at.empty()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(at.data(), at.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    const auto now = Clock::now();
    for (std::size_t i = 0; i < at.size(); ++i) {
      Running& one = running[i];
      char buffer[65536];
      const ssize_t size = at[i].revents != 0 ? ::read(one.answer.get(), buffer, sizeof buffer) : -1;
      if (size > 0 && one.bytes.size() < most_answer) one.bytes.append(buffer, static_cast<std::size_t>(size));
      const bool late = size != 0 && now >= one.until;
      if (size != 0 && !late) continue;
      ::kill(-one.pid, SIGKILL);  // its tool is of its group
      // One that the kernel blocks does not end, and is not waited for.
      ::waitpid(one.pid, nullptr, late ? WNOHANG : 0);
      one.pid = -1;
      done(one.piece, std::move(one.bytes), late);
    }
    std::erase_if(running, [](const Running& one) { return one.pid < 0; });
  }
}

}  // namespace tocsin::adapters::evidence
