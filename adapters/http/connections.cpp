#include "adapters/http/connections.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Received = beast::http::request_parser<beast::http::string_body>;
using Sent = beast::http::response<beast::http::string_body>;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr auto longest_answer = std::chrono::minutes{10};

// Where a slow handler's answer goes. The timer belongs to the connection that waits for it, and is gone before it.
struct Awaited {
  asio::steady_timer* timer = nullptr;
  std::optional<Response> response;
};

unsigned status_of(error_code why) {
  using beast::http::error;
  if (why == error::body_limit) return 413;
  if (why == error::header_limit) return 431;
  if (why == error::bad_version) return 505;
  return 400;
}

Response plain(unsigned status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text) + "\n"}; }

// A page of another site that a browser shows must not reload our rules.
bool from_elsewhere(const Received::value_type& request) {
  const std::string_view origin = request[beast::http::field::origin];
  const std::string_view host = request[beast::http::field::host];
  return !origin.empty() && origin != "http://" + std::string{host} && origin != "https://" + std::string{host};
}

template <class Stream>
class Conversation {
 public:
  Conversation(Shared& shared, Connection& connection, Stream& stream) : shared_(&shared), connection_(&connection), stream_(&stream) {}

  asio::awaitable<void> run() {
    bool first = true;
    for (bool goes_on = true; goes_on && !shared_->stopping; first = false) {
      shared_->waits(*connection_, true);
      if (buffer_.size() == 0) {
        connection_->stream.expires_after(first ? shared_->options.read_time : shared_->options.idle_time);
        const auto [error, bytes] = co_await stream_->async_read_some(buffer_.prepare(4096), awaited);
        if (error) {
          if (first && error == beast::error::timeout) shared_->add(&ServerStatus::timed_out);
          co_return;
        }
        buffer_.commit(bytes);
      }
      goes_on = co_await exchange();
    }
  }

 private:
  // Reads a request and answers it. False: nothing can follow.
  asio::awaitable<bool> exchange() {
    Received parser;
    parser.header_limit(static_cast<std::uint32_t>(shared_->options.header_bytes));
    parser.body_limit(shared_->options.body_bytes);
    connection_->stream.expires_after(shared_->options.read_time);
    const auto [head_error, head_bytes] = co_await beast::http::async_read_header(*stream_, buffer_, parser, awaited);
    error_code error = head_error;
    const auto& request = parser.get();
    Asked asked;
    if (!error) {
      // Whoever may not ask is answered before his body is read.
      asked = look_at(request);
      if (!asked.refusal && !parser.is_done()) error = co_await read_body(parser);
    }
    shared_->waits(*connection_, false);
    if (error == beast::error::timeout) shared_->add(&ServerStatus::timed_out);
    if (error) {
      if (error == beast::http::error::end_of_stream || error.category() != make_error_code(beast::http::error::bad_version).category())
        co_return false;  // the connection is gone
      shared_->add(&ServerStatus::refused);
      Response refusal = plain(status_of(error), "the request is refused: " + error.message());
      co_await send(std::move(refusal), 11, false, false, {});
      co_await drain();
      co_return false;
    }
    const bool whole = parser.is_done();
    const bool keeps = whole && request.keep_alive() && !shared_->stopping;
    Response response;
    if (asked.refusal) {
      response = std::move(*asked.refusal);
    } else {
      asked.request.body = request.body();
      response = co_await handle(*asked.route, asked.request);
    }
    count(asked, response.status);
    const bool head = request.method() == beast::http::verb::head;
    const bool sent = co_await send(std::move(response), request.version(), keeps, head, asked.extra);
    if (sent && !whole) co_await drain();
    co_return sent&& keeps;
  }

  asio::awaitable<error_code> read_body(Received& parser) {
    if (parser.get()[beast::http::field::expect] == "100-continue") {
      beast::http::response<beast::http::empty_body> go_on{beast::http::status::continue_, 11};
      const auto [error, bytes] = co_await beast::http::async_write(*stream_, go_on, awaited);
      if (error) co_return error;
    }
    const auto [error, bytes] = co_await beast::http::async_read(*stream_, buffer_, parser, awaited);
    co_return error;
  }

  // A request whose head was read.
  struct Asked {
    Request request;  // without its body
    const Route* route = nullptr;
    std::optional<Response> refusal;
    std::string extra;  // of the header that belongs to the refusal's status: Allow, WWW-Authenticate
  };
  Asked look_at(const Received::value_type& request) {
    Asked asked;
    shared_->add(&ServerStatus::requests);
    auto target = parse_target(request.target());
    if (!target) {
      shared_->add(&ServerStatus::refused);
      asked.refusal = plain(400, "the path of the request is malformed");
      return asked;
    }
    asked.request = {std::string{request.method_string()}, std::move(target->path), std::move(target->query), {}};
    const std::string& method = asked.request.method;
    const auto found = shared_->routes.find(method, asked.request.path);
    if (const auto* route = std::get_if<const Route*>(&found)) asked.route = *route;
    // Probes are always answered: a supervisor would restart a program that is only asked too often.
    const bool open = asked.route != nullptr && asked.route->access == Access::open;
    const bool admitted = open || shared_->gate.admits(request[beast::http::field::authorization]);
    if (!open && !(admitted ? shared_->rate : shared_->strangers).takes(std::chrono::steady_clock::now())) {
      shared_->add(&ServerStatus::refused);
      asked.refusal = plain(429, "too many requests");
    } else if (!admitted) {
      shared_->add(&ServerStatus::unauthorized);
      asked.extra = shared_->gate.challenge();
      asked.refusal = plain(401, "credentials are missing or wrong");
    } else if (asked.route == nullptr) {
      const auto& missing = std::get<Routes::Missing>(found);
      asked.extra = missing.allow;
      asked.refusal = plain(missing.status, missing.status == 405 ? "this path takes " + missing.allow : "there is nothing at this path");
    } else if (method != "GET" && method != "HEAD" && from_elsewhere(request)) {
      asked.refusal = plain(403, "the request comes from a page of another site");
    }
    return asked;
  }

  void count(const Asked& asked, unsigned status) {
    const std::lock_guard lock{shared_->mutex};
    ++shared_->status.by_route[{asked.route != nullptr ? asked.request.path : "other", status}];
  }

  asio::awaitable<Response> handle(const Route& route, const Request& request) {
    try {
      if (const auto* handler = std::get_if<Handler>(&route.handler)) co_return (*handler)(request);
    } catch (const std::exception& error) { co_return plain(500, error.what()); }
    asio::steady_timer timer{*shared_->context, longest_answer};
    const auto awaits = std::make_shared<Awaited>();
    awaits->timer = &timer;
    const Answer resolve = [awaits, weak = std::weak_ptr{shared_->context}](Response response) {
      if (const auto context = weak.lock())
        asio::post(*context, [awaits, response = std::move(response)]() mutable {
          if (awaits->timer == nullptr || awaits->response) return;
          awaits->response = std::move(response);
          awaits->timer->cancel();
        });
    };
    std::optional<Response> failed;
    try {
      std::get<SlowHandler>(route.handler)(request, resolve);
    } catch (const std::exception& error) { failed = plain(500, error.what()); }
    shared_->answers.insert(&timer);
    if (!failed && !shared_->stopping) co_await timer.async_wait(awaited);
    shared_->answers.erase(&timer);
    awaits->timer = nullptr;
    if (failed) co_return *failed;
    co_return awaits->response ? std::move(*awaits->response) : plain(504, "the answer took too long");
  }

  asio::awaitable<bool> send(Response response, unsigned version, bool keeps, bool head, const std::string& extra) {
    using beast::http::field;
    Sent message{static_cast<beast::http::status>(response.status), version};
    message.set(field::content_type, response.type);
    message.set(field::cache_control, "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    if (response.status == 401) message.set(field::www_authenticate, extra);
    if (response.status == 405) message.set(field::allow, extra);
    if (response.status == 429) message.set(field::retry_after, "1");
    message.keep_alive(keeps);
    message.content_length(response.body.size());
    if (!head) message.body() = std::move(response.body);
    connection_->stream.expires_after(shared_->options.write_time);
    error_code failed;
    if (head) {
      beast::http::response_serializer<beast::http::string_body> serializer{message};
      const auto [error, bytes] = co_await beast::http::async_write_header(*stream_, serializer, awaited);
      failed = error;
    } else {
      const auto [error, bytes] = co_await beast::http::async_write(*stream_, message, awaited);
      failed = error;
    }
    if (failed == beast::error::timeout) shared_->add(&ServerStatus::timed_out);
    co_return !failed;
  }

  // Reads on for a moment: closing with unread bytes would take the answer away from the client.
  asio::awaitable<void> drain() {
    error_code ignored;
    connection_->stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    connection_->stream.expires_after(std::chrono::seconds{1});
    char bytes[4096];
    for (std::size_t left = 1u << 20; left > 0;) {
      const auto [error, read] = co_await connection_->stream.async_read_some(asio::buffer(bytes), awaited);
      if (error) break;
      left -= std::min(left, read);
    }
  }

  Shared* shared_;
  Connection* connection_;
  Stream* stream_;
  beast::flat_buffer buffer_;
};

}  // namespace

void Shared::waits(Connection& connection, bool yes) {
  if (connection.waiting == yes) return;
  connection.waiting = yes;
  if (yes) connection.place = waiting.insert(waiting.end(), &connection);
  else waiting.erase(connection.place);
}

namespace {

// A connection among those that are open, as long as it is.
class Counted {
 public:
  Counted(Shared& shared, Connection& connection) : shared_(&shared), connection_(&connection) { shared.open.insert(&connection); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    shared_->waits(*connection_, false);
    shared_->open.erase(connection_);
    shared_->changed();
  }

 private:
  Shared* shared_;
  Connection* connection_;
};

}  // namespace

void Shared::changed() {
  const std::lock_guard lock{mutex};
  status.connections = open.size();
  if (stopping && open.empty() && end != nullptr) end->cancel();
}

asio::awaitable<void> serve(Shared& shared, asio::ip::tcp::socket socket) {
  Connection connection{std::move(socket)};
  const Counted counted{shared, connection};
  if (!shared.tls) {
    Conversation conversation{shared, connection, connection.stream};
    co_await conversation.run();
    error_code ignored;
    connection.stream.socket().shutdown(asio::socket_base::shutdown_both, ignored);
    co_return;
  }
  asio::ssl::stream<beast::tcp_stream&> stream{connection.stream, *shared.tls};
  shared.waits(connection, true);
  connection.stream.expires_after(shared.options.read_time);
  const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::server, awaited);
  if (error) {
    shared.add(error == beast::error::timeout ? &ServerStatus::timed_out : &ServerStatus::refused);
    co_return;
  }
  Conversation conversation{shared, connection, stream};
  co_await conversation.run();
  connection.stream.expires_after(std::chrono::seconds{1});
  co_await stream.async_shutdown(awaited);
}

}  // namespace tocsin::adapters::http
