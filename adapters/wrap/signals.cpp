#include "adapters/wrap/signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <initializer_list>

namespace tocsin::adapters::wrap {

namespace {

constexpr std::initializer_list<int> handled = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                                                SIGCONT, SIGTSTP, SIGWINCH, SIGURG,  SIGIO,   SIGPWR,  SIGCHLD};

sigset_t handled_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : handled) sigaddset(&set, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&set, signal);
  return set;
}

}  // namespace

Signals::Signals() {
  // A parent that ignores SIGCHLD leaves us children that cannot be waited for.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &inherited_child_);

  const sigset_t mask = handled_set();
  sigset_t blocked = mask;
  sigaddset(&blocked, SIGPIPE);  // a write returns EPIPE; the signal is unused
  sigaddset(&blocked, SIGTTOU);  // setting the terminal from the background must not stop us
  ::sigprocmask(SIG_BLOCK, &blocked, &inherited_);
  descriptor_ = Descriptor{::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)};
}

bool Signals::next(Signal& signal) const {
  signalfd_siginfo info;
  if (::read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return false;
  signal.number = static_cast<int>(info.ssi_signo);
  signal.from_terminal = info.ssi_code == SI_KERNEL;
  return true;
}

void Signals::restore() const {
  ::sigaction(SIGCHLD, &inherited_child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &inherited_, nullptr);
}

void Signals::restore_for_helper() const {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTOU, SIGTTIN, SIGPIPE, SIGXFSZ})
    ::sigaction(signal, &ignore, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void die_by_signal(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 + signal);
}

void stop_self() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);  // delivered here: we sleep until SIGCONT
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace tocsin::adapters::wrap
