#include "adapters/net/message.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <iterator>
#include <optional>

namespace tocsin::adapters::net {

namespace http = boost::beast::http;

struct IncomingMessage::State {
  // One of the two.
  std::optional<http::request_parser<http::string_body>> request;
  std::optional<http::response_parser<http::string_body>> response;

  template <class Act>
  decltype(auto) with(Act act) {
    return request ? act(*request) : act(*response);
  }
};

IncomingMessage::IncomingMessage(Kind kind, std::size_t most_head, std::size_t most_body)
    : state_(std::make_unique<State>()) {
  if (kind == Kind::request) state_->request.emplace();
  else state_->response.emplace();
  state_->with([&](auto& parser) {
    parser.header_limit(static_cast<std::uint32_t>(most_head));
    parser.body_limit(most_body);
  });
}
IncomingMessage::~IncomingMessage() = default;

bool IncomingMessage::has(Part part) const {
  return state_->with(
      [&](const auto& parser) { return part == Part::head ? parser.is_header_done() : parser.is_done(); });
}

std::size_t IncomingMessage::put(std::string_view bytes, Part part, error_code& error) {
  return state_->with([&](auto& parser) {
    parser.eager(part == Part::whole);
    const std::size_t used = parser.put(boost::asio::const_buffer{bytes.data(), bytes.size()}, error);
    if (error == http::error::need_more) error = {};
    // Where a request's body ends is known of chunks alone: what followed another encoding would be taken for a
    // request.
    const auto [coding, codings] = parser.get().equal_range(http::field::transfer_encoding);
    if (!error && state_->request && parser.is_header_done() && coding != codings &&
        (std::next(coding) != codings || !boost::beast::iequals(coding->value(), "chunked") ||
         parser.get().version() < 11))
      error = http::error::bad_transfer_encoding;
    return used;
  });
}

error_code IncomingMessage::end() {
  error_code error = http::error::end_of_stream;
  state_->with([&](auto& parser) {
    if (parser.got_some()) parser.put_eof(error);
  });
  return error;
}

std::string_view IncomingMessage::method() const { return state_->request->get().method_string(); }
std::string_view IncomingMessage::target() const { return state_->request->get().target(); }
unsigned IncomingMessage::status() const { return state_->response->get().result_int(); }
unsigned IncomingMessage::version() const {
  return state_->with([](const auto& parser) { return parser.get().version(); });
}
bool IncomingMessage::keep_alive() const {
  return state_->with([](const auto& parser) { return parser.get().keep_alive(); });
}
std::string_view IncomingMessage::field(std::string_view name) const {
  return state_->with([&](const auto& parser) -> std::string_view { return parser.get()[name]; });
}
std::string IncomingMessage::take_body() {
  return state_->with([](auto& parser) { return std::move(parser.get().body()); });
}

unsigned refusal_of(error_code error) {
  if (error == http::error::end_of_stream ||
      error.category() != http::make_error_code(http::error::bad_version).category())
    return 0;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == http::error::bad_version) return 505;
  return 400;
}

bool unreachable(error_code error) {
  return error == http::error::end_of_stream || error.category() == boost::asio::error::get_system_category();
}

namespace {

std::string head(std::string first_line, const Fields& fields) {
  std::string text = std::move(first_line);
  for (const auto& [name, value] : fields) text.append("\r\n").append(name).append(": ").append(value);
  return text.append("\r\n\r\n");
}

}  // namespace

std::string request_head(std::string_view method, std::string_view target, const Fields& fields) {
  return head(std::string{method}.append(" ").append(target).append(" HTTP/1.1"), fields);
}

std::string response_head(unsigned version, unsigned status, const Fields& fields) {
  const std::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
  return head((version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ") + std::to_string(status).append(" ").append(reason), fields);
}

}  // namespace tocsin::adapters::net
