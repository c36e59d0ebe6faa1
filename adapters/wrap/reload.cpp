#include "adapters/wrap/reload.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <string_view>

namespace tocsin::adapters::wrap {

namespace {

void write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

// "ok <hash>\n<text>" or "no <message>".
std::string answer(const Reload::Load& load) {
  const auto pack = load();
  return pack ? "ok " + pack->hash + '\n' + pack->text : "no " + pack.error().message;
}

}  // namespace

Reload::~Reload() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Reload::start(const Load& load) {
  Pipe pipe = make_pipe();
  if (!pipe.write) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    pipe.read.close();
    write_whole(pipe.write.get(), answer(load));
    ::fflush(nullptr);
    ::_exit(0);
  }
  if (pid_ < 0) return;
  make_nonblocking(pipe.read.get());
  answer_ = std::move(pipe.read);
  bytes_.clear();
}

std::optional<stream::Result<PackRecord>> Reload::poll() {
  char buffer[16384];
  ssize_t size;
  while ((size = ::read(answer_.get(), buffer, sizeof buffer)) > 0)
    bytes_.append(buffer, static_cast<std::size_t>(size));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  answer_.close();
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  const std::size_t end = bytes_.find('\n');
  if (status == 0 && bytes_.starts_with("ok ") && end != std::string::npos)
    return PackRecord{bytes_.substr(3, end - 3), bytes_.substr(end + 1)};
  if (status == 0 && bytes_.starts_with("no ")) return stream::Error{stream::Errc::refused, bytes_.substr(3)};
  return stream::Error{stream::Errc::refused, "loading the rules ended unexpectedly; see `tocsin check`"};
}

}  // namespace tocsin::adapters::wrap
