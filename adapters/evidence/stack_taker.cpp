#include "adapters/evidence/stack_taker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapters/evidence/kernel_view.h"
#include "adapters/evidence/take.h"

namespace tocsin::adapters::evidence {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_bytes = 64u << 20;  // of all stacks

struct Pipe {
  journal::File read, write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {journal::File{ends[0]}, journal::File{ends[1]}};
}

// In a process of ours that was forked: nothing of the parent's holds for it, and it ends with the parent.
void begin_process(const char* name, int keep) {
  ::prctl(PR_SET_NAME, name);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (keep > 3) ::close_range(3, static_cast<unsigned>(keep) - 1, 0);
  ::close_range(static_cast<unsigned>(std::max(keep, 2)) + 1, ~0u, 0);
}

void write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

std::string line_of(ProcessStack stack, const StackTarget& target) {
  stack.pid = target.pid;
  stack.rank = target.rank;
  return formats::dump(to_json(stack)) + '\n';
}

std::string failure(const StackTarget& target, std::string error) {
  ProcessStack stack;
  stack.error = std::move(error);
  return line_of(std::move(stack), target);
}

// What is quick first: it is there if the rest takes too long.
[[noreturn]] void look(const StackTarget& target, const StackSettings& settings, int out) {
  begin_process("tocsin-stack", out);
  const auto same = [&] { return target.start == 0 || start_of(target.pid) == target.start; };
  const std::string gone = "the process has ended";
  if (!same()) write_whole(out, failure(target, gone)), ::_exit(0);
  write_whole(out, line_of(kernel_view(target.pid), target));
  ProcessStack stack = take_stack(target.pid, settings.gdb);
  write_whole(out, same() ? line_of(std::move(stack), target) : failure(target, gone));
  ::_exit(0);
}

struct Look {
  const StackTarget* target = nullptr;
  pid_t pid = -1;
  journal::File out;
  std::string bytes;
  Clock::time_point until;
};

// The last whole line that came; where it was late, its error says so.
std::string best_of(const Look& look, bool late) {
  const std::size_t end = look.bytes.rfind('\n');
  if (end == std::string::npos)
    return failure(*look.target, late ? "looking into the process took too long" : "looking into the process failed");
  const std::size_t begin = end == 0 ? std::string::npos : look.bytes.rfind('\n', end - 1);
  const std::size_t start = begin == std::string::npos ? 0 : begin + 1;
  std::string line = look.bytes.substr(start, end + 1 - start);
  if (!late) return line;
  auto stack = stack_from_json(line);
  if (!stack) return line;
  stack->error = "looking into the process took too long";
  return line_of(std::move(*stack), *look.target);
}

// The taking process.
[[noreturn]] void take_all(std::span<const StackTarget> targets, const StackSettings& settings, int out) {
  begin_process("tocsin-stacks", out);
  std::vector<Look> looks;
  const auto limit = settings.gdb ? settings.gdb_limit : settings.limit;
  for (std::size_t next = 0; next < targets.size() || !looks.empty();) {
    while (next < targets.size() && looks.size() < std::max<std::size_t>(settings.at_once, 1)) {
      const StackTarget& target = targets[next++];
      Pipe pipe = make_pipe();
      const pid_t pid = pipe.write ? ::fork() : -1;
      if (pid == 0) look(target, settings, pipe.write.get());
      if (pid < 0) {
        write_whole(out, failure(target, "there is no process to be had for looking"));
        continue;
      }
      ::setpgid(pid, pid);
      looks.push_back({&target, pid, std::move(pipe.read), {}, Clock::now() + limit});
    }
    std::vector<pollfd> at;
    auto until = Clock::time_point::max();
    for (const Look& look : looks) at.push_back({look.out.get(), POLLIN, 0}), until = std::min(until, look.until);
    if (at.empty()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(at.data(), at.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    const auto now = Clock::now();
    for (std::size_t i = 0; i < at.size(); ++i) {
      Look& look = looks[i];
      char buffer[65536];
      const ssize_t size = at[i].revents != 0 ? ::read(look.out.get(), buffer, sizeof buffer) : -1;
      if (size > 0) look.bytes.append(buffer, static_cast<std::size_t>(size));
      const bool late = size != 0 && now >= look.until;
      if (size != 0 && !late) continue;
      ::kill(-look.pid, SIGKILL);                        // its tool is of its group
      ::waitpid(look.pid, nullptr, late ? WNOHANG : 0);  // one that the kernel blocks does not end: nobody waits for it
      write_whole(out, best_of(look, late));
      look.target = nullptr;
    }
    std::erase_if(looks, [](const Look& look) { return look.target == nullptr; });
  }
  ::_exit(0);
}

}  // namespace

void StackTaker::start(std::span<const StackTarget> targets, const StackSettings& settings) {
  stop();
  targets_.assign(targets.begin(), targets.end());
  bytes_.clear();
  const std::size_t rounds = (targets.size() + settings.at_once - 1) / std::max<std::size_t>(settings.at_once, 1);
  until_ = Clock::now() + (rounds + 1) * (settings.gdb ? settings.gdb_limit : settings.limit);
  Pipe pipe = make_pipe();
  pid_ = pipe.write ? ::fork() : -1;
  if (pid_ == 0) take_all(targets_, settings, pipe.write.get());
  if (pid_ < 0) {
    // poll() reports that nothing was taken: an end without a line.
    lines_ = journal::File{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    return;
  }
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  lines_ = std::move(pipe.read);
}

void StackTaker::stop() {
  lines_.close();
  if (pid_ <= 0) return;
  // Its own children end with it, by PR_SET_PDEATHSIG.
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

std::optional<std::vector<ProcessStack>> StackTaker::poll() {
  if (!lines_) return std::nullopt;
  char buffer[65536];
  ssize_t size;
  while ((size = ::read(lines_.get(), buffer, sizeof buffer)) > 0)
    if (bytes_.size() < most_bytes) bytes_.append(buffer, static_cast<std::size_t>(size));
  if (size < 0 && (errno == EAGAIN || errno == EINTR) && Clock::now() < until_) return std::nullopt;
  stop();
  return result();
}

std::vector<ProcessStack> StackTaker::result() {
  std::vector<ProcessStack> out;
  for (const StackTarget& target : targets_) {
    ProcessStack& stack = out.emplace_back();
    stack.pid = target.pid;
    stack.rank = target.rank;
    stack.error = "looking into the process did not finish";
  }
  for (std::string_view rest = bytes_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto stack = stack_from_json(line);
    if (!stack) continue;
    const auto at = std::find_if(out.begin(), out.end(), [&](const ProcessStack& one) {
      return one.pid == stack->pid && one.rank == stack->rank;
    });
    if (at != out.end()) *at = std::move(*stack);
  }
  bytes_.clear();
  return out;
}

}  // namespace tocsin::adapters::evidence
