#include "adapters/alertmanager/client.h"

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <utility>

#include "adapters/net/message.h"
#include "adapters/net/message_reader.h"

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::alertmanager {
namespace {

namespace asio = boost::asio;
using net::error_code;
using net::IncomingMessage;

Outcome failed(std::string code, std::string message) { return {std::move(code), std::move(message)}; }
Outcome failed(std::string code, const std::string& what, error_code error) {
  if (net::timed_out(error)) return {"timeout", what + ": no answer in time"};
  return {std::move(code), what + ": " + error.message()};
}

// Certificates are read at each connection, so that they may be replaced.
void load(asio::ssl::context& tls, const net::ClientTls& files) {
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (files.ca_file.empty()) tls.set_default_verify_paths();
  else tls.load_verify_file(files.ca_file.string());
  if (!files.certificate_file.empty()) tls.use_certificate_chain_file(files.certificate_file.string());
  if (!files.key_file.empty()) tls.use_private_key_file(files.key_file.string(), asio::ssl::context::pem);
}

}  // namespace

Client::Client(asio::io_context& context, Instance instance, net::Url url, std::chrono::milliseconds timeout)
    : context_(&context), instance_(std::move(instance)), url_(std::move(url)), timeout_(timeout) {}

Client::~Client() = default;

void Client::close() {
  transport_.reset();
  tls_.reset();
  used_ = false;
}

asio::awaitable<std::optional<Outcome>> Client::connect(net::Transport& transport) {
  error_code error = co_await transport.resolve(url_.host, url_.port, timeout_);
  if (net::timed_out(error)) co_return failed("timeout", "cannot look up " + url_.host + " in time");
  if (error) co_return failed("unreachable", "cannot look up " + url_.host, error);
  transport.expires_after(timeout_);
  error = co_await transport.connect();
  if (error) co_return failed("unreachable", "cannot connect to " + url_.authority(), error);
  const std::string name = instance_.tls.server_name.empty() ? url_.host : instance_.tls.server_name;
  transport.expires_after(timeout_);
  error = co_await transport.handshake_as_client(name);
  if (error) co_return failed("tls", "no TLS with " + url_.authority(), error);
  co_return std::nullopt;
}

asio::awaitable<std::optional<Outcome>> Client::open() {
  if (transport_) co_return std::nullopt;
  const auto authorization = net::authorization(instance_.auth);
  if (!authorization) co_return failed("credentials", authorization.error().message);
  authorization_ = *authorization;
  std::unique_ptr<asio::ssl::context> tls;
  if (url_.tls) {
    tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
    try {
      load(*tls, instance_.tls);
    } catch (const boost::system::system_error& error) {
      co_return failed("tls", std::string{"cannot load certificates: "} + error.what());
    }
  }
  auto transport = std::make_unique<net::Transport>(*context_, tls.get());
  auto why = co_await connect(*transport);
  if (why) co_return why;
  tls_ = std::move(tls);
  transport_ = std::move(transport);
  co_return std::nullopt;
}

asio::awaitable<Outcome> Client::exchange(const std::string& body, std::chrono::steady_clock::time_point until) {
  net::Fields fields{{"Host", url_.authority()}, {"User-Agent", "tocsin"}, {"Content-Type", "application/json"}};
  if (!authorization_.empty()) fields.emplace_back("Authorization", authorization_);
  fields.emplace_back("Content-Length", std::to_string(body.size()));
  const std::string request = net::request_head("POST", url_.prefix + "/api/v2/alerts", fields) + body;

  transport_->expires_after(timeout_);
  if (std::chrono::steady_clock::now() >= until)
    co_return Outcome{};  // nothing that takes long may come between this and the write
  const error_code not_written = co_await transport_->write(request);
  if (not_written) co_return failed("unreachable", "cannot write to " + url_.authority(), not_written);
  net::MessageReader reader{*transport_};
  std::optional<IncomingMessage> response;
  do {  // a proxy may send 1xx in front of the answer
    response.emplace(IncomingMessage::Kind::response, 8u << 10, 64u << 10);
    const error_code error = co_await reader.read(*response, IncomingMessage::Part::whole);
    if (error)
      co_return failed(net::unreachable(error) ? "unreachable" : "protocol", "no answer from " + url_.authority(),
                       error);
  } while (response->status() < 200);
  Outcome outcome{std::to_string(response->status()), {}};
  if (!outcome.delivered()) {
    std::string text = response->take_body();
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    // A proxy may repeat what it was sent.
    if (const auto secret = authorization_.substr(authorization_.find(' ') + 1); !secret.empty())
      for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos;) text.replace(at, secret.size(), "***");
    text.resize(std::min<std::size_t>(text.size(), 200));
    outcome.message = outcome.code + " from " + url_.authority() + ": " + text;
  }
  // Refused may be credentials or a certificate, which are read again for the next connection.
  if (!response->keep_alive() || !outcome.delivered()) close();
  co_return outcome;
}

asio::awaitable<Outcome> Client::post(const std::string& body, std::chrono::steady_clock::time_point until) {
  const bool reused = std::exchange(used_, true);
  Outcome outcome = co_await exchange(body, until);
  const bool answered = outcome.code.size() == 3;
  if (!answered) close();
  // A connection that was kept open may have been closed at the other end, long before this request.
  if (!answered && reused && outcome.code == "unreachable") outcome.code.clear();
  co_return outcome;
}

}  // namespace tocsin::adapters::alertmanager
