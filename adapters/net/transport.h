#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace boost::asio {
class io_context;
namespace ssl {
class context;
}
}  // namespace boost::asio

namespace tocsin::adapters::net {

using boost::asio::awaitable;
using boost::system::error_code;

// What was waited for did not come before the time of expires_after().
[[nodiscard]] bool timed_out(error_code error);

// A connection of TCP, with TLS or without. Owned by who serves it or asks over it; of the thread that runs its
// io_context. At most one read and one write are under way. No other source instantiates the operations of sockets and
// of TLS, which take long to compile.
class Transport {
 public:
  // tls: null for a connection without it; else it outlives the connection.
  Transport(boost::asio::ip::tcp::socket accepted, boost::asio::ssl::context* tls);
  Transport(boost::asio::io_context& context, boost::asio::ssl::context* tls);  // not connected yet
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // All that is waited for from now on has this time together; then the connection is closed, and the error is one of
  // timed_out().
  void expires_after(std::chrono::milliseconds time);

  // A client's beginning, in this order. The look-up cannot be interrupted: one that took longer than this fails when
  // it ends.
  [[nodiscard]] awaitable<error_code> resolve(const std::string& host, std::uint16_t port,
                                              std::chrono::milliseconds at_most);
  [[nodiscard]] awaitable<error_code> connect();
  // The certificate of the server must be for this name, or address.
  [[nodiscard]] awaitable<error_code> handshake_as_client(const std::string& name);
  // A server's beginning. Without TLS there is nothing to do.
  [[nodiscard]] awaitable<error_code> handshake_as_server();

  // Waits for at least a byte.
  [[nodiscard]] awaitable<std::pair<error_code, std::size_t>> read_some(std::span<char> into);
  // Writes all of it.
  [[nodiscard]] awaitable<error_code> write(std::string_view bytes);

  // Sends no more, and reads on for a moment: closing with unread bytes would take the last answer away from the other
  // end.
  awaitable<void> drain();
  awaitable<void> shutdown();
  // Ends what is waited for, with an error.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::net
