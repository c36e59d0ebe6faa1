#include "adapters/http/connections.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "adapters/net/message.h"
#include "adapters/net/message_reader.h"

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::http {
namespace {

namespace asio = boost::asio;
using net::error_code;
using net::IncomingMessage;
using Part = IncomingMessage::Part;
constexpr auto longest_answer = std::chrono::minutes{10};

// Where a slow handler's answer goes. The timer belongs to the connection that waits for it, and is gone before it.
struct Awaited {
  asio::steady_timer* timer = nullptr;
  std::optional<Response> response;
};

Response plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}

// A page of another site that a browser shows must not reload our rules.
bool from_elsewhere(const IncomingMessage& request) {
  const std::string_view origin = request.field("Origin");
  const std::string_view host = request.field("Host");
  return !origin.empty() && origin != "http://" + std::string{host} && origin != "https://" + std::string{host};
}

class Conversation {
 public:
  Conversation(Shared& shared, Connection& connection)
      : shared_(&shared), connection_(&connection), transport_(&connection.transport), reader_(connection.transport) {}

  asio::awaitable<void> run() {
    bool first = true;
    for (bool goes_on = true; goes_on && !shared_->stopping; first = false) {
      shared_->waits(*connection_, true);
      transport_->expires_after(first ? shared_->options.read_time : shared_->options.idle_time);
      const error_code error = co_await reader_.wait();
      if (error) {
        if (first && net::timed_out(error)) shared_->add(&ServerStatus::timed_out);
        co_return;
      }
      goes_on = co_await exchange();
    }
  }

 private:
  // Reads a request and answers it. False: nothing can follow.
  asio::awaitable<bool> exchange() {
    IncomingMessage request{IncomingMessage::Kind::request, shared_->options.header_bytes, shared_->options.body_bytes};
    transport_->expires_after(shared_->options.read_time);
    error_code error = co_await reader_.read(request, Part::head);
    Asked asked;
    if (!error) {
      // Whoever may not ask is answered before his body is read.
      asked = look_at(request);
      if (!asked.refusal && !request.has(Part::whole)) error = co_await read_body(request);
    }
    shared_->waits(*connection_, false);
    if (net::timed_out(error)) shared_->add(&ServerStatus::timed_out);
    if (error) {
      const unsigned status = net::refusal_of(error);
      if (status == 0) co_return false;  // the connection is gone
      shared_->add(&ServerStatus::refused);
      Response refusal = plain(status, "the request is refused: " + error.message());
      co_await send(std::move(refusal), 11, false, false, {});
      co_await drain();
      co_return false;
    }
    const bool whole = request.has(Part::whole);
    const bool keeps = whole && request.keep_alive() && !shared_->stopping;
    Response response;
    if (asked.refusal) {
      response = std::move(*asked.refusal);
    } else {
      asked.request.body = request.take_body();
      response = co_await handle(*asked.route, std::move(asked.request));
    }
    count(asked, response.status);
    const bool head = request.method() == "HEAD";
    const bool sent = co_await send(std::move(response), request.version(), keeps, head, asked.extra);
    if (sent && !whole) co_await drain();
    co_return sent&& keeps;
  }

  // Who is refused within his request may read why. Others who come meanwhile take his place.
  asio::awaitable<void> drain() {
    shared_->waits(*connection_, true);
    co_await transport_->drain();
  }

  asio::awaitable<error_code> read_body(IncomingMessage& request) {
    if (request.field("Expect") == "100-continue") {
      const std::string go_on = net::response_head(11, 100, {});
      const error_code error = co_await transport_->write(go_on);
      if (error) co_return error;
    }
    const error_code error = co_await reader_.read(request, Part::whole);
    co_return error;
  }

  // A request whose head was read.
  struct Asked {
    Request request;  // without its body
    const Route* route = nullptr;
    std::string counted_as = "other";  // the route's path
    std::optional<Response> refusal;
    std::string extra;  // of the header that belongs to the refusal's status: Allow, WWW-Authenticate
  };
  Asked look_at(const IncomingMessage& request) {
    Asked asked;
    shared_->add(&ServerStatus::requests);
    auto target = parse_target(request.target());
    if (!target) {
      shared_->add(&ServerStatus::refused);
      asked.refusal = plain(400, "the path of the request is malformed");
      return asked;
    }
    asked.request = {std::string{request.method()},
                     std::move(target->path),
                     std::move(target->query),
                     {},
                     std::string{request.field("Content-Type")},
                     std::string{request.field("Content-Encoding")}};
    const std::string& method = asked.request.method;
    const auto found = shared_->routes.find(method, asked.request.path);
    if (const auto* route = std::get_if<const Route*>(&found))
      asked.route = *route, asked.counted_as = asked.request.path;
    // Probes are always answered: a supervisor would restart a program that is only asked too often.
    const bool open = asked.route != nullptr && asked.route->access == Access::open;
    const auto now = std::chrono::steady_clock::now();
    const Gate::Caller caller = open ? Gate::Caller{true} : shared_->gate.who(request.field("Authorization"), now);
    const bool records = asked.route != nullptr && asked.route->access == Access::records;
    if (caller.sender != nullptr) asked.request.sender = caller.sender->name;
    if (!open && !within_limits(caller, records, now)) {
      shared_->add(&ServerStatus::refused);
      asked.refusal = plain(429, "too many requests");
    } else if (caller.sender != nullptr && !records) {
      shared_->add(&ServerStatus::unauthorized);
      asked.refusal = plain(403, "the token of sender " + caller.sender->name + " is for sending records alone");
    } else if (!caller.admitted) {
      shared_->add(&ServerStatus::unauthorized);
      asked.extra = shared_->gate.challenge();
      asked.refusal = plain(401, "credentials are missing or wrong");
    } else if (!open && !shared_->gate.guarded() && shared_->options.tls.client_ca_file.empty() &&
               !shared_->names.ours(request.field("Host"))) {
      asked.refusal = plain(421, "this server has another name: ask for its address, or list the name in http.names");
    } else if (asked.route == nullptr) {
      const auto& missing = std::get<Routes::Missing>(found);
      asked.extra = missing.allow;
      asked.refusal = plain(
          missing.status, missing.status == 405 ? "this path takes " + missing.allow : "there is nothing at this path");
    } else if (method != "GET" && method != "HEAD" && from_elsewhere(request)) {
      asked.refusal = plain(403, "the request comes from a page of another site");
    }
    return asked;
  }

  // Who takes records says himself when too many wait.
  bool within_limits(const Gate::Caller& caller, bool records, std::chrono::steady_clock::time_point now) {
    if (caller.sender != nullptr) return caller.sender->requests.takes(now);
    if (!caller.admitted) return shared_->strangers.takes(now);
    return records || shared_->rate.takes(now);
  }

  void count(const Asked& asked, unsigned status) {
    const std::lock_guard lock{shared_->mutex};
    ++shared_->status.by_route[{asked.counted_as, status}];
  }

  asio::awaitable<Response> handle(const Route& route, Request request) {
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
      std::get<SlowHandler>(route.handler)(std::move(request), resolve);
    } catch (const std::exception& error) { failed = plain(500, error.what()); }
    shared_->answers.insert(&timer);
    if (!failed && !shared_->stopping) co_await timer.async_wait(awaited);
    shared_->answers.erase(&timer);
    awaits->timer = nullptr;
    if (failed) co_return *failed;
    co_return awaits->response ? std::move(*awaits->response) : plain(504, "the answer took too long");
  }

  asio::awaitable<bool> send(Response response, unsigned version, bool keeps, bool head, const std::string& extra) {
    net::Fields fields{
        {"Content-Type", response.type}, {"Cache-Control", response.cache}, {"X-Content-Type-Options", "nosniff"}};
    for (const auto& [name, value] : response.headers) fields.emplace_back(name, value);
    if (response.status == 401) fields.emplace_back("WWW-Authenticate", extra);
    if (response.status == 405) fields.emplace_back("Allow", extra);
    if (response.status == 429 || response.status == 503) fields.emplace_back("Retry-After", "1");
    if (keeps != (version == 11))
      fields.emplace_back("Connection", keeps ? "keep-alive" : "close");  // not what is usual for the version
    fields.emplace_back("Content-Length", std::to_string(response.body.size()));
    std::string text = net::response_head(version, response.status, fields);
    if (!head) text += response.body;
    transport_->expires_after(shared_->options.write_time);
    const error_code failed = co_await transport_->write(text);
    if (net::timed_out(failed)) shared_->add(&ServerStatus::timed_out);
    co_return !failed;
  }

  Shared* shared_;
  Connection* connection_;
  net::Transport* transport_;
  net::MessageReader reader_;
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
  Counted(Shared& shared, Connection& connection) : shared_(&shared), connection_(&connection) {
    shared.open.insert(&connection);
  }
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
  Connection connection{std::move(socket), shared.tls.get()};
  const Counted counted{shared, connection};
  shared.waits(connection, true);
  connection.transport.expires_after(shared.options.read_time);
  const error_code error = co_await connection.transport.handshake_as_server();
  if (error) {
    shared.add(net::timed_out(error) ? &ServerStatus::timed_out : &ServerStatus::refused);
    co_return;
  }
  Conversation conversation{shared, connection};
  co_await conversation.run();
  co_await connection.transport.shutdown();
}

}  // namespace tocsin::adapters::http
