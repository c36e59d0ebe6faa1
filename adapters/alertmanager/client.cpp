#include "adapters/alertmanager/client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <utility>
#include <variant>

namespace tocsin::adapters::alertmanager {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

Outcome failed(std::string code, std::string message) { return {std::move(code), std::move(message)}; }
Outcome failed(std::string code, const std::string& what, error_code error) {
  if (error == beast::error::timeout) return {"timeout", what + ": no answer in time"};
  return {std::move(code), what + ": " + error.message()};
}

// Certificates are read at each connection, so that they may be replaced.
void load(asio::ssl::context& tls, const net::ClientTls& files) {
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (files.ca_file.empty()) tls.set_default_verify_paths();
  else tls.load_verify_file(files.ca_file.string());
  if (!files.certificate_file.empty()) tls.use_certificate_chain_file(files.certificate_file.string());
  if (!files.key_file.empty()) tls.use_private_key_file(files.key_file.string(), asio::ssl::context::pem);
}

}  // namespace

Client::Client(asio::io_context& context, Instance instance, net::Url url, std::chrono::milliseconds timeout)
    : context_(&context), instance_(std::move(instance)), url_(std::move(url)), timeout_(timeout) {}

void Client::close() {
  secure_.reset();
  plain_.reset();
  tls_.reset();
  used_ = false;
}

asio::awaitable<std::optional<Outcome>> Client::connect(Stream& stream) {
  tcp::resolver::results_type addresses;
  error_code not_numeric;
  if (const auto address = asio::ip::make_address(url_.host, not_numeric); !not_numeric) {
    addresses = tcp::resolver::results_type::create(tcp::endpoint{address, url_.port}, url_.host, std::to_string(url_.port));
  } else {
    using asio::experimental::awaitable_operators::operator||;
    tcp::resolver resolver{*context_};
    asio::steady_timer timer{*context_, timeout_};
    const auto first = co_await (resolver.async_resolve(url_.host, std::to_string(url_.port), awaited) || timer.async_wait(awaited));
    if (first.index() == 1) co_return failed("timeout", "cannot look up " + url_.host + " in time");
    const auto& [error, found] = std::get<0>(first);
    if (error) co_return failed("unreachable", "cannot look up " + url_.host, error);
    addresses = found;
  }
  stream.expires_after(timeout_);
  const auto [error, endpoint] = co_await stream.async_connect(addresses, awaited);
  if (error) co_return failed("unreachable", "cannot connect to " + url_.authority(), error);
  co_return std::nullopt;
}

asio::awaitable<std::optional<Outcome>> Client::open() {
  if (plain_ || secure_) co_return std::nullopt;
  const auto authorization = net::authorization(instance_.auth);
  if (!authorization) co_return failed("credentials", authorization.error().message);
  authorization_ = *authorization;
  if (!url_.tls) {
    auto stream = std::make_unique<Stream>(*context_);
    auto why = co_await connect(*stream);
    if (why) co_return why;
    plain_ = std::move(stream);
    co_return std::nullopt;
  }
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  try {
    load(*tls, instance_.tls);
  } catch (const boost::system::system_error& error) { co_return failed("tls", std::string{"cannot load certificates: "} + error.what()); }
  auto stream = std::make_unique<TlsStream>(*context_, *tls);
  const std::string name = instance_.tls.server_name.empty() ? url_.host : instance_.tls.server_name;
  error_code not_numeric;
  asio::ip::make_address(name, not_numeric);
  if (not_numeric) SSL_set_tlsext_host_name(stream->native_handle(), name.c_str());
  stream->set_verify_callback(asio::ssl::host_name_verification{name});
  auto why = co_await connect(beast::get_lowest_layer(*stream));
  if (why) co_return why;
  beast::get_lowest_layer(*stream).expires_after(timeout_);
  const auto [error] = co_await stream->async_handshake(asio::ssl::stream_base::client, awaited);
  if (error) co_return failed("tls", "no TLS with " + url_.authority(), error);
  tls_ = std::move(tls);
  secure_ = std::move(stream);
  co_return std::nullopt;
}

template <class AnyStream>
asio::awaitable<Outcome> Client::exchange(AnyStream& stream, Stream& lowest, const std::string& body,
                                          std::chrono::steady_clock::time_point until) {
  http::request<http::string_body> request{http::verb::post, url_.prefix + "/api/v2/alerts", 11};
  request.set(http::field::host, url_.authority());
  request.set(http::field::user_agent, "tocsin");
  request.set(http::field::content_type, "application/json");
  if (!authorization_.empty()) request.set(http::field::authorization, authorization_);
  request.body() = body;
  request.prepare_payload();

  lowest.expires_after(timeout_);
  if (std::chrono::steady_clock::now() >= until) co_return Outcome{};  // nothing that takes long may come between this and the write
  const auto [write_error, written] = co_await http::async_write(stream, request, awaited);
  if (write_error) co_return failed("unreachable", "cannot write to " + url_.authority(), write_error);
  beast::flat_buffer buffer;
  std::optional<http::response_parser<http::string_body>> parser;
  do {  // a proxy may send 1xx in front of the answer
    parser.emplace();
    parser->body_limit(64u << 10);
    const auto [read_error, read] = co_await http::async_read(stream, buffer, *parser, awaited);
    if (read_error) {
      const bool gone = read_error == http::error::end_of_stream || read_error.category() == asio::error::get_system_category();
      co_return failed(gone ? "unreachable" : "protocol", "no answer from " + url_.authority(), read_error);
    }
  } while (parser->get().result_int() < 200);
  const auto& response = parser->get();
  Outcome outcome{std::to_string(response.result_int()), {}};
  if (!outcome.delivered()) {
    std::string text = response.body();
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    // A proxy may repeat what it was sent.
    if (const auto secret = authorization_.substr(authorization_.find(' ') + 1); !secret.empty())
      for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos;) text.replace(at, secret.size(), "***");
    text.resize(std::min<std::size_t>(text.size(), 200));
    outcome.message = outcome.code + " from " + url_.authority() + ": " + text;
  }
  // Refused may be credentials or a certificate, which are read again for the next connection.
  if (!response.keep_alive() || !outcome.delivered()) close();
  co_return outcome;
}

asio::awaitable<Outcome> Client::post(const std::string& body, std::chrono::steady_clock::time_point until) {
  const bool reused = std::exchange(used_, true);
  // One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
  Outcome outcome;
  if (secure_) outcome = co_await exchange(*secure_, beast::get_lowest_layer(*secure_), body, until);
  else outcome = co_await exchange(*plain_, *plain_, body, until);
  const bool answered = outcome.code.size() == 3;
  if (!answered) close();
  // A connection that was kept open may have been closed at the other end, long before this request.
  if (!answered && reused && outcome.code == "unreachable") outcome.code.clear();
  co_return outcome;
}

}  // namespace tocsin::adapters::alertmanager
