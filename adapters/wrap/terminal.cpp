#include "adapters/wrap/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <utility>

namespace tocsin::adapters::wrap {

Terminal::Terminal() {
  input_ = ::isatty(0) != 0;
  output_ = ::isatty(1) != 0;
  errors_ = ::isatty(2) != 0;
  ours_ = output_ ? 1 : errors_ ? 2 : input_ ? 0 : -1;
  if (!output_ && !errors_) return;  // keys alone go to the command without us

  Descriptor master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  char name[128];
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name, sizeof name) != 0)
    return;  // no pseudo-terminal to be had: pipes
  Descriptor slave{::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (!slave) return;
  if (::tcgetattr(ours_, &before_) == 0) {
    termios as = before_;
    if (!input_) as.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // ours is not raw then, and does it
    ::tcsetattr(slave.get(), TCSANOW, &as);
  }
  make_nonblocking(master.get());
  master_ = std::move(master);
  slave_ = std::move(slave);
  copy_size();
}

void Terminal::make_raw() {
  if (!interactive() || raw_ || ::tcgetpgrp(0) != ::getpgrp() || ::tcgetattr(0, &before_) != 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(0, TCSADRAIN, &raw) == 0;
}

void Terminal::restore() {
  if (!std::exchange(raw_, false) || ::tcgetpgrp(0) != ::getpgrp()) return;  // in the background it is not ours to set
  ::tcsetattr(0, TCSADRAIN, &before_);
}

void Terminal::copy_size() const {
  winsize size{};
  if (master_ && ::ioctl(ours_, TIOCGWINSZ, &size) == 0) ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

bool Terminal::gone() const {
  if (ours_ < 0) return false;
  pollfd at{ours_, 0, 0};
  if (::poll(&at, 1, 0) > 0 && (at.revents & (POLLHUP | POLLNVAL)) != 0) return true;
  return ::tcgetpgrp(ours_) < 0 && errno == EIO;
}

void Terminal::become_controlling() const {
  ::setsid();
  ::ioctl(slave_.get(), TIOCSCTTY, 0);
}

}  // namespace tocsin::adapters::wrap
