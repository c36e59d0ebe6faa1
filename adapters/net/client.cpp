#include "adapters/net/client.h"

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <charconv>
#include <utility>

#include "adapters/net/message.h"
#include "adapters/net/message_reader.h"

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::net {
namespace {

namespace asio = boost::asio;
Outcome failed(std::string code, std::string message) { return {std::move(code), std::move(message), {}, {}}; }
Outcome failed(std::string code, const std::string& what, error_code error) {
  if (timed_out(error)) return {"timeout", what + ": no answer in time", {}, {}};
  return {std::move(code), what + ": " + error.message(), {}, {}};
}

// Certificates are read at each connection, so that they may be replaced.
void load(asio::ssl::context& tls, const ClientTls& files) {
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (files.ca_file.empty()) tls.set_default_verify_paths();
  else tls.load_verify_file(files.ca_file.string());
  if (!files.certificate_file.empty()) tls.use_certificate_chain_file(files.certificate_file.string());
  if (!files.key_file.empty()) tls.use_private_key_file(files.key_file.string(), asio::ssl::context::pem);
}

}  // namespace

Client::Client(asio::io_context& context, Endpoint endpoint, Url url, std::chrono::milliseconds timeout)
    : context_(&context), endpoint_(std::move(endpoint)), url_(std::move(url)), timeout_(timeout) {}

Client::~Client() = default;

void Client::close() {
  transport_.reset();
  tls_.reset();
  used_ = false;
}

asio::awaitable<std::optional<Outcome>> Client::connect(Transport& transport) {
  error_code error = co_await transport.resolve(url_.host, url_.port, timeout_);
  if (timed_out(error)) co_return failed("timeout", "cannot look up " + url_.host + " in time");
  if (error) co_return failed("unreachable", "cannot look up " + url_.host, error);
  transport.expires_after(timeout_);
  error = co_await transport.connect();
  if (error) co_return failed("unreachable", "cannot connect to " + url_.authority(), error);
  const std::string name = endpoint_.tls.server_name.empty() ? url_.host : endpoint_.tls.server_name;
  transport.expires_after(timeout_);
  error = co_await transport.handshake_as_client(name);
  if (error) co_return failed("tls", "no TLS with " + url_.authority(), error);
  co_return std::nullopt;
}

asio::awaitable<std::optional<Outcome>> Client::open() {
  if (transport_) co_return std::nullopt;
  const auto proof = authorization(endpoint_.auth);
  if (!proof) co_return failed("credentials", proof.error().message);
  authorization_ = *proof;
  std::unique_ptr<asio::ssl::context> tls;
  if (url_.tls) {
    tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
    try {
      load(*tls, endpoint_.tls);
    } catch (const boost::system::system_error& error) {
      co_return failed("tls", std::string{"cannot load certificates: "} + error.what());
    }
  }
  auto transport = std::make_unique<Transport>(*context_, tls.get());
  auto why = co_await connect(*transport);
  if (why) co_return why;
  tls_ = std::move(tls);
  transport_ = std::move(transport);
  co_return std::nullopt;
}

asio::awaitable<Outcome> Client::exchange(Request request, std::chrono::steady_clock::time_point until) {
  Fields fields{{"Host", url_.authority()}, {"User-Agent", "tocsin"}};
  if (!request.content_type.empty()) fields.emplace_back("Content-Type", request.content_type);
  if (!request.content_encoding.empty()) fields.emplace_back("Content-Encoding", request.content_encoding);
  if (!authorization_.empty()) fields.emplace_back("Authorization", authorization_);
  if (request.method != "GET") fields.emplace_back("Content-Length", std::to_string(request.body.size()));
  std::string bytes = request_head(request.method, url_.prefix + std::string{request.path}, fields);
  bytes += request.body;

  transport_->expires_after(timeout_);
  if (std::chrono::steady_clock::now() >= until)
    co_return Outcome{};  // nothing that takes long may come between this and the write
  const error_code not_written = co_await transport_->write(bytes);
  if (not_written) co_return failed("unreachable", "cannot write to " + url_.authority(), not_written);
  MessageReader reader{*transport_};
  std::optional<IncomingMessage> response;
  do {  // a proxy may send 1xx in front of the answer
    response.emplace(IncomingMessage::Kind::response, 8u << 10, request.most_answer);
    const error_code error = co_await reader.read(*response, IncomingMessage::Part::whole);
    if (error)
      co_return failed(unreachable(error) ? "unreachable" : "protocol", "no answer from " + url_.authority(), error);
  } while (response->status() < 200);
  Outcome outcome;
  outcome.code = std::to_string(response->status());
  const std::string_view after = response->field("Retry-After");
  int seconds = 0;
  std::from_chars(after.data(), after.data() + after.size(), seconds);
  outcome.retry_after = std::chrono::seconds{std::clamp(seconds, 0, 3600)};
  std::string text = response->take_body();
  if (outcome.delivered()) {
    outcome.body = std::move(text);
  } else {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    text = masked(std::move(text), std::string_view{authorization_}.substr(authorization_.find(' ') + 1));
    text.resize(std::min<std::size_t>(text.size(), 200));
    outcome.message = outcome.code + " from " + url_.authority() + ": " + text;
  }
  // Refused may be credentials or a certificate, which are read again for the next connection.
  if (!response->keep_alive() || !outcome.delivered()) close();
  co_return outcome;
}

asio::awaitable<Outcome> Client::send(Request request, std::chrono::steady_clock::time_point until) {
  const bool reused = std::exchange(used_, true);
  Outcome outcome = co_await exchange(request, until);
  const bool answered = outcome.code.size() == 3;
  if (!answered) close();
  // A connection that was kept open may have been closed at the other end, long before this request.
  if (!answered && reused && outcome.code == "unreachable") outcome.code.clear();
  co_return outcome;
}

}  // namespace tocsin::adapters::net
