#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "adapters/alertmanager/poster.h"
#include "adapters/net/transport.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::alertmanager {

// How a request ended: an HTTP status, or what there is instead of one.
struct Outcome {
  std::string code;     // "200", "timeout", "unreachable", "tls", "credentials", "protocol"
  std::string message;  // empty for a success
  [[nodiscard]] bool delivered() const { return code.size() == 3 && code[0] == '2'; }
  // The request will never be taken: sending it again at once is of no use.
  [[nodiscard]] bool rejected() const { return code == "400" || code == "413" || code == "422"; }
};

// One connection to an Alertmanager, opened when it is needed and kept open. For the poster's thread.
class Client {
 public:
  Client(boost::asio::io_context& context, Instance instance, net::Url url, std::chrono::milliseconds timeout);
  ~Client();
  // nullopt: there is a connection.
  boost::asio::awaitable<std::optional<Outcome>> open();
  // Sends it before `until`: a process that was stopped may wake when another instance owns the alerts. An outcome
  // without a code: it was too late, or the connection had been closed meanwhile.
  boost::asio::awaitable<Outcome> post(const std::string& body, std::chrono::steady_clock::time_point until);
  void close();

 private:
  boost::asio::awaitable<std::optional<Outcome>> connect(net::Transport& transport);
  boost::asio::awaitable<Outcome> exchange(const std::string& body, std::chrono::steady_clock::time_point until);

  boost::asio::io_context* context_;
  Instance instance_;
  net::Url url_;
  std::chrono::milliseconds timeout_;
  std::string authorization_;
  bool used_ = false;  // the connection has carried a request
  std::unique_ptr<boost::asio::ssl::context> tls_;
  std::unique_ptr<net::Transport> transport_;
};

}  // namespace tocsin::adapters::alertmanager
