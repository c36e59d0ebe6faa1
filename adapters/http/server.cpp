#include "adapters/http/server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <thread>
#include <utility>

#include "adapters/http/connections.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using stream::Errc;
using stream::Error;
using tcp = asio::ip::tcp;

std::string remedy(error_code error) {
  if (error == asio::error::address_in_use) return "another program has this port: stop it, or listen on another one";
  if (error == asio::error::access_denied) return "ports below 1024 need a privilege: listen on a higher one";
  if (error == boost::system::errc::address_not_available)
    return "this machine has no such address: 127.0.0.1 is itself, 0.0.0.0 is every one";
  return "choose another address";
}

stream::Result<std::unique_ptr<asio::ssl::context>> load(const ServerTls& files) {
  if (files.certificate_file.empty() != files.key_file.empty())
    return Error{Errc::malformed,
                 "the HTTP server has a certificate without its key, or the other way round; set both or none"};
  if (files.certificate_file.empty()) {
    if (!files.client_ca_file.empty())
      return Error{Errc::malformed,
                   "the HTTP server wants certificates of its clients, and has none itself; set certificate and key"};
    return std::unique_ptr<asio::ssl::context>{};
  }
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  const std::filesystem::path* file = &files.certificate_file;
  try {
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1);
    tls->use_certificate_chain_file(file->string());
    tls->use_private_key_file((file = &files.key_file)->string(), asio::ssl::context::pem);
    if (!files.client_ca_file.empty()) {
      tls->load_verify_file((file = &files.client_ca_file)->string());
      tls->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
  } catch (const boost::system::system_error& error) {
    return Error{Errc::malformed, file->string() + " cannot be used: " + error.code().message() +
                                      "; it must be PEM, and key and certificate a pair"};
  }
  return tls;
}

}  // namespace

struct Server::State {
  explicit State(std::shared_ptr<Shared> with)
      : shared(std::move(with)), acceptor(*shared->context), pause(*shared->context) {}

  asio::awaitable<void> accept();
  void admit(tcp::socket socket);
  bool evict();

  std::shared_ptr<Shared> shared;
  tcp::acceptor acceptor;
  asio::steady_timer pause;  // after an error of accept, and before the end
  std::uint16_t port = 0;
  std::thread thread;
};

stream::Result<std::unique_ptr<Server>> Server::bind(ServerOptions options) {
  const auto listen = net::parse_listen(options.listen);
  if (!listen) return listen.error();
  auto gate = Gate::open(options.auth, options.log);
  if (!gate) return gate.error();
  auto tls = load(options.tls);
  if (!tls) return tls.error();
  options.connections = std::max<std::size_t>(options.connections, 1);
  auto shared = std::make_shared<Shared>(std::move(options), std::move(*gate));
  shared->tls = std::move(*tls);
  auto state = std::make_unique<State>(std::move(shared));

  const tcp::endpoint endpoint{asio::ip::make_address(listen->address), listen->port};
  error_code error;
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(asio::socket_base::reuse_address{true}, error);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{Errc::io,
                 "cannot listen on " + state->shared->options.listen + ": " + error.message() + "; " + remedy(error)};
  state->port = state->acceptor.local_endpoint().port();
  return std::unique_ptr<Server>{new Server{std::move(state)}};
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { stop(); }

void Server::route(std::string method, std::string path, Handler handler, Access access) {
  state_->shared->routes.add(std::move(method), std::move(path), {std::move(handler), access});
}
void Server::route_slow(std::string method, std::string path, SlowHandler handler, Access access) {
  state_->shared->routes.add(std::move(method), std::move(path), {std::move(handler), access});
}

void Server::start() {
  asio::co_spawn(*state_->shared->context, state_->accept(), [](const std::exception_ptr&) {});
  state_->thread = std::thread{[context = state_->shared->context] { context->run(); }};
}

void Server::stop() {
  if (!state_->thread.joinable()) return;
  asio::post(*state_->shared->context, [state = state_.get()] {
    state->shared->stopping = true;
    error_code ignored;
    state->acceptor.close(ignored);
    while (state->evict()) {}
    if (state->shared->open.empty()) return;
    // What is being answered has a second; then each connection ends, and with the last one the thread.
    state->shared->end = &state->pause;
    state->pause.expires_after(std::chrono::seconds{1});
    state->pause.async_wait([state](error_code) {
      for (Connection* connection : state->shared->open) connection->transport.close();
      for (auto* answer : state->shared->answers) answer->cancel();
    });
  });
  state_->thread.join();
}

std::uint16_t Server::port() const noexcept { return state_->port; }

ServerStatus Server::status() const {
  const std::lock_guard lock{state_->shared->mutex};
  return state_->shared->status;
}

// Closes the connection that waits longest for its client.
bool Server::State::evict() {
  if (shared->waiting.empty()) return false;
  Connection& oldest = *shared->waiting.front();
  shared->waits(oldest, false);
  oldest.transport.close();
  return true;
}

asio::awaitable<void> Server::State::accept() {
  while (!shared->stopping) {
    auto [error, socket] = co_await acceptor.async_accept(awaited);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // mostly: the process has no more descriptors
      evict();
      pause.expires_after(std::chrono::milliseconds{50});
      co_await pause.async_wait(awaited);
      continue;
    }
    admit(std::move(socket));
  }
}

void Server::State::admit(tcp::socket socket) {
  if (shared->open.size() >= shared->options.connections) {
    if (!evict()) return shared->add(&ServerStatus::refused);
    shared->add(&ServerStatus::evicted);
  }
  error_code ignored;
  socket.set_option(tcp::no_delay{true}, ignored);
  asio::co_spawn(*shared->context, serve(*shared, std::move(socket)), [](const std::exception_ptr&) {});
  shared->changed();
}

}  // namespace tocsin::adapters::http
