#include "adapters/wrap/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

namespace tocsin::adapters::wrap {

void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned from = 3;
  for (const int kept : keep) {
    if (kept < static_cast<int>(from)) continue;
    if (static_cast<unsigned>(kept) > from) ::close_range(from, static_cast<unsigned>(kept) - 1, 0);
    from = static_cast<unsigned>(kept) + 1;
  }
  ::close_range(from, ~0u, 0);
}

Supervisor::Supervisor(std::string name, std::vector<int> keep, int notes, Main main, Backoff backoff)
    : name_(std::move(name)),
      keep_(std::move(keep)),
      notes_(notes),
      main_(std::move(main)),
      backoff_(backoff),
      wait_(backoff.first) {}

void Supervisor::start(const Signals& signals, stream::Time now) {
  due_ = stream::never;
  const pid_t pid = ::fork();
  if (pid == 0) {
    signals.restore_for_helper();
    ::setsid();  // a terminal's signals are not for us
    ::prctl(PR_SET_NAME, name_.c_str());
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, 0);
    ::dup2(notes_, 1);
    ::dup2(notes_, 2);
    close_all_but(keep_);
    int code = 1;
    try {
      code = main_(starts_);
    } catch (const std::exception& error) { ::fprintf(stderr, "%s: %s\n", name_.c_str(), error.what()); }
    ::fflush(nullptr);
    ::_exit(code);
  }
  ++starts_;
  started_ = now;
  pid_ = pid;
  if (pid < 0) due_ = now + wait_;  // no process can be started now
}

void Supervisor::poll(const Signals& signals, stream::Time now) {
  if (pid_ <= 0 && !done_ && due_ <= now) start(signals, now);
}

bool Supervisor::ended(pid_t pid, int status, stream::Time now) {
  if (pid != pid_ || pid <= 0) return false;
  pid_ = -1;
  if (done_) return true;
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == refused)) {
    done_ = true;
    succeeded_ = WEXITSTATUS(status) == 0;
    return true;
  }
  if (now - started_ >= backoff_.good) wait_ = backoff_.first;
  due_ = now + wait_;
  wait_ = std::min(wait_ * 2, backoff_.most);
  return true;
}

void Supervisor::kill() {
  done_ = true;
  due_ = stream::never;
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

}  // namespace tocsin::adapters::wrap
