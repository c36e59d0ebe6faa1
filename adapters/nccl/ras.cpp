#include "adapters/nccl/ras.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace tocsin::adapters::nccl {

namespace {

using namespace std::chrono_literals;
using stream::Errc, stream::Error, stream::Result;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_answer = 64u << 20;
constexpr auto greeting_within = 1s;
constexpr int tries = 6;

}  // namespace

const short RasQuery::in = POLLIN, RasQuery::out = POLLOUT;

RasQuery::RasQuery(const std::string& address, stream::Duration patience)
    : address_(address), patience_(std::max(1, static_cast<int>(patience / 1s))) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon), port = colon == std::string::npos ? "28028" : address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM, wanted.ai_flags = AI_NUMERICSERV;
  if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); failed != 0) {
    fail(Errc::not_found, ::gai_strerror(failed));
    return;
  }
  int why = ECONNREFUSED;
  for (const addrinfo* it = found; it != nullptr && socket_ < 0; it = it->ai_next) {
    socket_ = ::socket(it->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ >= 0 && ::connect(socket_, it->ai_addr, it->ai_addrlen) != 0 && errno != EINPROGRESS) {
      why = errno;
      ::close(std::exchange(socket_, -1));
    }
  }
  ::freeaddrinfo(found);
  if (socket_ < 0) fail(Errc::not_found, std::strerror(why));
}

RasQuery::~RasQuery() {
  if (socket_ >= 0) ::close(socket_);
}

bool RasQuery::fail(Errc code, const std::string& why) {
  stage_ = Stage::over;
  error_ = Error{code, "NCCL's RAS at " + address_ + ": " + why};
  return true;
}

bool RasQuery::write() {
  while (!to_send_.empty()) {
    const ssize_t n = ::send(socket_, to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? false : fail(Errc::io, std::strerror(errno));
    to_send_.erase(0, static_cast<std::size_t>(n));
  }
  return false;
}

// To a line of the server while the conversation lasts; true: it is over.
bool RasQuery::reply(std::string_view line) {
  switch (stage_) {
    case Stage::greeting:
      if (!line.starts_with("SERVER PROTOCOL ")) return fail(Errc::malformed, "who listens there is not RAS");
      stage_ = Stage::timeout;
      to_send_ += "TIMEOUT " + std::to_string(patience_) + "\n";
      return write();
    case Stage::timeout:
      stage_ = Stage::format;
      to_send_ += "SET FORMAT json\n";
      return write();
    case Stage::format:  // refused before 2.28.7, which knows the text alone
      stage_ = Stage::status;
      to_send_ += "VERBOSE STATUS\n";
      return write();
    default: return false;
  }
}

bool RasQuery::advance() {
  if (stage_ == Stage::over) return true;
  if (stage_ == Stage::connecting) {
    int failed = 0;
    socklen_t size = sizeof failed;
    pollfd ready{socket_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) return false;
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0)
      return fail(Errc::not_found, std::strerror(failed));
    stage_ = Stage::greeting;
    to_send_ = "CLIENT PROTOCOL 2\n";
  }
  if (write()) return true;
  for (char buffer[16384];;) {
    const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? false : fail(Errc::io, std::strerror(errno));
    if (n == 0) {
      if (stage_ != Stage::status) return fail(Errc::torn, "it closed the connection");
      stage_ = Stage::over;
      return true;
    }
    received_.append(buffer, static_cast<std::size_t>(n));
    while (stage_ != Stage::status) {
      const auto end = received_.find('\n');
      if (end == std::string::npos) break;
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      if (reply(line)) return true;
    }
    if (received_.size() > longest_answer) return fail(Errc::too_large, "its answer is larger than 64 MiB");
  }
}

Result<RasStatus> RasQuery::result() const {
  if (error_) return *error_;
  if (stage_ != Stage::over && stage_ != Stage::status)
    return Error{Errc::torn, "NCCL's RAS at " + address_ + ": no answer in time"};
  auto parsed = parse_ras(received_);
  if (!parsed) return Error{parsed.error().code, "NCCL's RAS at " + address_ + ": " + parsed.error().message};
  if (stage_ != Stage::over) parsed->complete = false;
  return parsed;
}

Result<RasStatus> ask_ras(const std::string& address, stream::Duration limit,
                          const std::function<bool(pid_t, const std::string&)>& ours) {
  const auto end = Clock::now() + limit;
  std::optional<Error> why;
  for (int attempt = 0; attempt < tries && Clock::now() < end; ++attempt) {
    RasQuery query{address, limit / 2};
    const auto begun = Clock::now();
    while (!query.advance()) {
      const auto until = query.greeted() ? end : std::min<Clock::time_point>(end, begun + greeting_within);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      pollfd ready{query.descriptor(), query.events(), 0};
      if (left <= 0ms || ::poll(&ready, 1, static_cast<int>(left.count()) + 1) == 0) break;
    }
    auto status = query.result();
    if (status && (status->names_nobody() || status->includes(ours))) return status;
    if (!status) why = status.error();
    if (!status && status.error().code == Errc::not_found) break;  // nobody listens
    if (status && !why) why = Error{Errc::not_found, "NCCL's RAS at " + address + " answers for another job"};
  }
  return why.value_or(Error{Errc::torn, "NCCL's RAS at " + address + ": no answer in time"});
}

std::string ras_address() {
  const char* set = std::getenv("NCCL_RAS_ADDR");
  return set != nullptr && *set != '\0' ? set : "localhost:28028";
}

}  // namespace tocsin::adapters::nccl
