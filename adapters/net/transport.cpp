#include "adapters/net/transport.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <optional>

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;

namespace {

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
using Clock = std::chrono::steady_clock;

}  // namespace

bool timed_out(error_code error) { return error == beast::error::timeout; }

struct Transport::State {
  template <class From>
  State(From&& from, asio::ssl::context* with) : stream(std::forward<From>(from)) {
    if (with != nullptr) tls.emplace(stream, *with);
  }
  beast::tcp_stream stream;
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls;
  tcp::resolver::results_type addresses;
};

Transport::Transport(tcp::socket accepted, asio::ssl::context* tls)
    : state_(std::make_unique<State>(std::move(accepted), tls)) {}
Transport::Transport(asio::io_context& context, asio::ssl::context* tls)
    : state_(std::make_unique<State>(context, tls)) {}
Transport::~Transport() = default;

void Transport::expires_after(std::chrono::milliseconds time) { state_->stream.expires_after(time); }

void Transport::close() {
  state_->stream.cancel();
  state_->stream.close();
}

awaitable<error_code> Transport::resolve(const std::string& host, std::uint16_t port,
                                         std::chrono::milliseconds at_most) {
  error_code not_numeric;
  const auto address = asio::ip::make_address(host, not_numeric);
  if (!not_numeric) {
    state_->addresses = tcp::resolver::results_type::create(tcp::endpoint{address, port}, host, std::to_string(port));
    co_return error_code{};
  }
  const auto begin = Clock::now();
  tcp::resolver resolver{state_->stream.get_executor()};
  auto [error, found] = co_await resolver.async_resolve(host, std::to_string(port), awaited);
  if (Clock::now() - begin > at_most) co_return beast::error::timeout;
  if (!error) state_->addresses = std::move(found);
  co_return error;
}

awaitable<error_code> Transport::connect() {
  const auto [error, endpoint] = co_await state_->stream.async_connect(state_->addresses, awaited);
  co_return error;
}

awaitable<error_code> Transport::handshake_as_client(const std::string& name) {
  if (!state_->tls) co_return error_code{};
  error_code not_numeric;
  asio::ip::make_address(name, not_numeric);
  if (not_numeric) SSL_set_tlsext_host_name(state_->tls->native_handle(), name.c_str());
  state_->tls->set_verify_callback(asio::ssl::host_name_verification{name});
  const auto [error] = co_await state_->tls->async_handshake(asio::ssl::stream_base::client, awaited);
  co_return error;
}

awaitable<error_code> Transport::handshake_as_server() {
  if (!state_->tls) co_return error_code{};
  const auto [error] = co_await state_->tls->async_handshake(asio::ssl::stream_base::server, awaited);
  co_return error;
}

awaitable<std::pair<error_code, std::size_t>> Transport::read_some(std::span<char> into) {
  const asio::mutable_buffer buffer{into.data(), into.size()};
  if (state_->tls) {
    const auto [error, bytes] = co_await state_->tls->async_read_some(buffer, awaited);
    co_return std::pair{error, bytes};
  }
  const auto [error, bytes] = co_await state_->stream.async_read_some(buffer, awaited);
  co_return std::pair{error, bytes};
}

awaitable<error_code> Transport::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const asio::const_buffer buffer{bytes.data(), bytes.size()};
    error_code failed;
    std::size_t taken = 0;
    if (state_->tls) {
      const auto [error, written] = co_await state_->tls->async_write_some(buffer, awaited);
      failed = error, taken = written;
    } else {
      const auto [error, written] = co_await state_->stream.async_write_some(buffer, awaited);
      failed = error, taken = written;
    }
    if (failed) co_return failed;
    bytes.remove_prefix(taken);
  }
  co_return error_code{};
}

awaitable<void> Transport::drain() {
  error_code ignored;
  state_->stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  state_->stream.expires_after(std::chrono::seconds{1});
  char bytes[4096];
  const asio::mutable_buffer buffer{bytes, sizeof bytes};
  for (std::size_t left = 1u << 20; left > 0;) {
    const auto [error, read] = co_await state_->stream.async_read_some(buffer, awaited);
    if (error) break;
    left -= std::min(left, read);
  }
}

awaitable<void> Transport::shutdown() {
  if (!state_->tls) {
    error_code ignored;
    state_->stream.socket().shutdown(asio::socket_base::shutdown_both, ignored);
    co_return;
  }
  state_->stream.expires_after(std::chrono::seconds{1});
  co_await state_->tls->async_shutdown(awaited);
}

}  // namespace tocsin::adapters::net
