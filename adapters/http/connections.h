#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "adapters/http/routes.h"
#include "adapters/http/server.h"
#include "adapters/net/transport.h"

namespace tocsin::adapters::http {

constexpr auto awaited = boost::asio::as_tuple(boost::asio::use_awaitable);

// A connection that is open. Of the server's thread.
struct Connection {
  Connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls) : transport(std::move(socket), tls) {}
  net::Transport transport;
  bool waiting = false;  // for its client
  std::list<Connection*>::iterator place;
};

// What all connections of a server share. Of the server's thread, but for the status.
struct Shared {
  Shared(ServerOptions given, Gate who)
      : options(std::move(given)),
        gate(std::move(who)),
        names(options.names),
        rate(options.requests_per_second),
        strangers(options.requests_per_second) {}

  ServerOptions options;
  Routes routes;
  Gate gate;
  Names names;
  RateLimit rate,
      strangers;  // of those who may ask, and of those who may not: these must not use up what is for the others
  std::shared_ptr<boost::asio::io_context> context = std::make_shared<boost::asio::io_context>(1);
  std::unique_ptr<boost::asio::ssl::context> tls;
  bool stopping = false;
  boost::asio::steady_timer* end = nullptr;  // of waiting for what is being answered, when stopping
  std::set<Connection*> open;
  std::list<Connection*> waiting;                // the one that waits longest first
  std::set<boost::asio::steady_timer*> answers;  // of slow handlers that are waited for

  mutable std::mutex mutex;
  ServerStatus status;

  void add(std::uint64_t ServerStatus::*counter) {
    const std::lock_guard lock{mutex};
    ++(status.*counter);
  }
  void waits(Connection& connection, bool yes);
  void changed();  // connections were opened or closed
};

// Serves one connection to its end. What is shared outlives it.
[[nodiscard]] boost::asio::awaitable<void> serve(Shared& shared, boost::asio::ip::tcp::socket socket);

}  // namespace tocsin::adapters::http
