#include "fake_ras.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

namespace tocsin::test {

FakeRas::FakeRas(std::function<RasManners(int)> turn) {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  REQUIRE(::bind(listening_, reinterpret_cast<sockaddr*>(&at), size) == 0);
  REQUIRE(::listen(listening_, 16) == 0);
  REQUIRE(::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  REQUIRE(::pipe(stop_) == 0);
  thread_ = std::thread{[this, turn = std::move(turn)] {
    std::vector<int> silent;
    for (int number = 0;; ++number) {
      pollfd ready[] = {{listening_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
      ::poll(ready, 2, -1);
      if (ready[1].revents != 0) break;
      const int connection = ::accept(listening_, nullptr, nullptr);
      const RasManners manners = turn(number);
      if (manners.silent) {
        silent.push_back(connection);
        continue;
      }
      serve(connection, manners);
      ::close(connection);
    }
    for (const int it : silent) ::close(it);
  }};
}

FakeRas::~FakeRas() {
  ::close(stop_[1]);
  thread_.join();
  ::close(stop_[0]), ::close(listening_);
}

void FakeRas::serve(int connection, const RasManners& manners) const {
  const auto send = [&](std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(connection, text.data(),
                               manners.in_pieces ? std::min<std::size_t>(text.size(), 7) : text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  };
  std::string received;
  for (char buffer[256];;) {
    const auto end = received.find('\n');
    if (end == std::string::npos) {
      const ssize_t n = ::recv(connection, buffer, sizeof buffer, 0);
      if (n <= 0) return;
      received.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    const std::string command = received.substr(0, end);
    received.erase(0, end + 1);
    if (command.starts_with("CLIENT PROTOCOL ")) send(manners.greeting);
    else if (command.starts_with("TIMEOUT ")) send("OK\n");
    else if (command == "SET FORMAT json" && manners.json) send("OK\n");
    else if (command == "STATUS" || command == "VERBOSE STATUS") return send(manners.answer.substr(0, manners.cut));
    else send("ERROR: Unknown command " + command + "\n");
  }
}

}  // namespace tocsin::test
