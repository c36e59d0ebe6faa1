#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/net/credentials.h"
#include "adapters/net/transport.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::net {

// How a request ended: an HTTP status, or what there is instead of one.
struct Outcome {
  std::string code;                    // "200", "timeout", "unreachable", "tls", "credentials", "protocol"
  std::string message;                 // empty for a success
  std::string body;                    // of a success
  std::chrono::seconds retry_after{};  // that the server asks for
  [[nodiscard]] bool delivered() const { return code.size() == 3 && code[0] == '2'; }
  // The request will never be taken: sending it again at once is of no use.
  [[nodiscard]] bool rejected() const { return code == "400" || code == "413" || code == "422"; }
};

struct Request {
  std::string_view method, path, content_type, content_encoding;  // the last two may be empty
  std::string_view body;
  std::size_t most_answer = 64u << 10;  // bytes of the answer's body
};

// One connection to a server, opened when it is needed and kept open. Used by the thread that runs the io_context
// alone.
class Client {
 public:
  Client(boost::asio::io_context& context, Endpoint endpoint, Url url, std::chrono::milliseconds timeout);
  ~Client();
  // nullopt: there is a connection.
  boost::asio::awaitable<std::optional<Outcome>> open();
  // Begins to send before `until`, or not at all: a process that was stopped may wake much later. An outcome without a
  // code: it was too late, or the connection had been closed meanwhile.
  boost::asio::awaitable<Outcome> send(Request request, std::chrono::steady_clock::time_point until);
  void close();

 private:
  boost::asio::awaitable<std::optional<Outcome>> connect(Transport& transport);
  boost::asio::awaitable<Outcome> exchange(Request request, std::chrono::steady_clock::time_point until);

  boost::asio::io_context* context_;
  Endpoint endpoint_;
  Url url_;
  std::chrono::milliseconds timeout_;
  std::string authorization_;
  bool used_ = false;  // the connection has carried a request
  std::unique_ptr<boost::asio::ssl::context> tls_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace tocsin::adapters::net
