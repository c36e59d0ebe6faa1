#include "adapters/wrap/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tocsin::adapters::wrap {

Outlet::Outlet(int descriptor) : descriptor_(descriptor) {
  struct stat about {};
  plain_file_ = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

std::size_t Outlet::put(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size() && !broken_ && !hung_up_) {
    std::size_t size = bytes.size() - sent;
    if (!plain_file_) {
      pollfd at{descriptor_, POLLOUT, 0};
      if (::poll(&at, 1, 0) <= 0 || (at.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) == 0) break;
      size = std::min<std::size_t>(size, PIPE_BUF);
    }
    const ssize_t written = ::write(descriptor_, bytes.data() + sent, size);
    if (written > 0) {
      sent += static_cast<std::size_t>(written);
    } else if (written < 0 && errno == EINTR) {
      continue;
    } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else if (written < 0 && errno == EIO) {
      hung_up_ = true;
    } else if (written < 0 && errno == EPIPE) {
      broken_ = true;
    } else {
      return bytes.size();  // a full disk: these bytes are lost, later ones may not be
    }
  }
  if (sent > 0) last_ = bytes[sent - 1];
  return broken_ || hung_up_ ? bytes.size() : sent;
}

void Outlet::write(std::string_view bytes) {
  if (pending()) flush();
  if (!pending()) bytes.remove_prefix(put(bytes));
  if (!bytes.empty()) held_.append(bytes);
}

void Outlet::flush() {
  if (pending()) sent_ += put(std::string_view{held_}.substr(sent_));
  if (!pending()) {
    held_.clear();
    sent_ = 0;
  }
}

}  // namespace tocsin::adapters::wrap
