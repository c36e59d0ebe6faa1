// Posts the telemetry of one healthy job to a service that has a log of its own, as a `wrap --to http://…` on each node
// does: a connection a node, a request a second on each, spread over the second.
//   bench_embedded_feed PORT [--ranks N] [--lines N] [--seconds N] [--variants N]
// A node has eight ranks. Prints a line a second with how far it is behind its pace and the slowest answer, and at the
// end what was sent. An answer other than 200 ends it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/kafka/workload.h"

namespace {

using namespace tocsin;
using namespace std::chrono_literals;
using bench::Prepared;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what, const std::string& why) {
  std::fprintf(stderr, "bench_embedded_feed: %s: %s\n", what, why.c_str());
  std::exit(1);
}

// One node's connection: the request that is under way, and the answer to it.
struct Sender {
  int socket = -1;
  std::string out, in;
  std::size_t sent = 0;
  Clock::time_point begun{};
  bool waits = false;
};

class Feed {
 public:
  Feed(int port, std::size_t nodes) : poll_(epoll_create1(0)), senders_(nodes) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (std::size_t i = 0; i < nodes; ++i) {
      Sender& sender = senders_[i];
      sender.socket = ::socket(AF_INET, SOCK_STREAM, 0);
      if (::connect(sender.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        fail("a connection", std::strerror(errno));
      const int on = 1;
      ::setsockopt(sender.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, sender.socket, &event);
    }
  }

  // Begins a node's request, once the one before is answered.
  void post(std::size_t node, const std::string& frames) {
    Sender& sender = senders_[node];
    while (sender.waits) serve(10ms);
    std::string body(ZSTD_compressBound(frames.size()), '\0');
    body.resize(ZSTD_compress(body.data(), body.size(), frames.data(), frames.size(), 3));
    sender.out =
        "POST /api/v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/vnd.tocsin.telemetry\r\n"
        "Content-Encoding: zstd\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    sender.begun = Clock::now();
    sender.waits = true;
    for (std::size_t at = 0; at < sender.out.size();) {  // a request fits in the socket's buffer
      const ssize_t size = ::send(sender.socket, sender.out.data() + at, sender.out.size() - at, MSG_NOSIGNAL);
      if (size <= 0) fail("a request", std::strerror(errno));
      at += static_cast<std::size_t>(size);
    }
    ++requests_, bytes_ += sender.out.size(), ++waiting_;
  }
  void serve(std::chrono::milliseconds wait) {
    epoll_event events[256];
    const int count = ::epoll_wait(poll_, events, 256, static_cast<int>(wait.count()));
    for (int i = 0; i < count; ++i) read(senders_[events[i].data.u64]);
  }
  void serve_until(Clock::time_point until) {
    while (Clock::now() < until)
      serve(std::max(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()), std::chrono::milliseconds{0}));
  }
  void finish() {
    while (waiting_ > 0) serve(100ms);
  }
  double take_slowest() { return std::exchange(slowest_, 0.0); }
  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void read(Sender& sender) {
    char buffer[4096];
    const ssize_t size = ::recv(sender.socket, buffer, sizeof buffer, 0);
    if (size <= 0) fail("an answer", size == 0 ? "the connection has ended" : std::strerror(errno));
    sender.in.append(buffer, static_cast<std::size_t>(size));
    const std::size_t head = sender.in.find("\r\n\r\n"), length = sender.in.find("Content-Length: ");
    if (head == std::string::npos || length > head ||
        sender.in.size() < head + 4 + std::stoul(sender.in.substr(length + 16)))
      return;
    if (!sender.in.starts_with("HTTP/1.1 200")) fail("an answer", sender.in);
    sender.in.clear();
    sender.waits = false;
    --waiting_;
    slowest_ = std::max(slowest_, std::chrono::duration<double>(Clock::now() - sender.begun).count());
  }

  int poll_;
  std::vector<Sender> senders_;
  std::size_t requests_ = 0, bytes_ = 0, waiting_ = 0;
  double slowest_ = 0;
};

void add(std::string& frames, const std::vector<std::byte>& message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  frames.append(reinterpret_cast<const char*>(&size), sizeof size);
  frames.append(reinterpret_cast<const char*>(message.data()), message.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage", "bench_embedded_feed PORT [OPTION VALUE...]; see the source");
  bench::Telemetry telemetry;
  telemetry.ranks = 16'384, telemetry.lines = 1;
  unsigned seconds = 60;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = static_cast<unsigned>(std::stoul(argv[i + 1]));
    if (name == "--ranks") telemetry.ranks = value;
    else if (name == "--lines") telemetry.lines = value;
    else if (name == "--seconds") seconds = value;
    else if (name == "--variants") telemetry.variants = value;
    else fail("no such option", name);
  }
  bench::Workload workload{telemetry};
  const std::size_t nodes = (telemetry.ranks + 7) / 8;
  Feed feed{std::atoi(argv[1]), nodes};
  const auto now = [] { return stream::Time{std::chrono::system_clock::now()}; };
  std::string frames;
  add(frames, workload.start(0, now()));
  feed.post(0, frames);
  std::size_t samples = 0, lines = 0;
  auto due = Clock::now();
  for (unsigned second = 0; second < seconds; ++second, due = std::max(due + 1s, Clock::now() - 500ms)) {
    std::vector<Prepared>& messages = workload.second(second);
    for (std::size_t node = 0; node < nodes; ++node) {
      feed.serve_until(due + std::chrono::nanoseconds{static_cast<std::int64_t>(1e9 * static_cast<double>(node) /
                                                                                static_cast<double>(nodes))});
      const std::size_t from = messages.size() * node / nodes, to = messages.size() * (node + 1) / nodes;
      frames.clear();
      for (std::size_t i = from; i < to; ++i) {
        messages[i].set(now(), second);
        add(frames, messages[i].bytes);
        samples += messages[i].samples, lines += messages[i].lines;
      }
      feed.post(node, frames);
    }
    const double behind = std::chrono::duration<double>(Clock::now() - due).count() - 1;
    std::printf("second %u, %.3f s behind, slowest answer %.3f s\n", second, std::max(behind, 0.0),
                feed.take_slowest());
    std::fflush(stdout);
  }
  feed.finish();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("{\"requests\": %zu, \"bytes\": %zu, \"samples\": %zu, \"lines\": %zu, \"cpu\": %.2f}\n", feed.requests(),
              feed.bytes(), samples, lines,
              static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                  1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
}
