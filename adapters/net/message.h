#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tocsin::adapters::net {

using boost::system::error_code;

// A message of HTTP/1.0 or 1.1 that comes in, whose bytes arrive in any pieces. Knows no network.
class IncomingMessage {
 public:
  enum class Kind { request, response };
  enum class Part { head, whole };

  // The bytes that head and body may have.
  IncomingMessage(Kind kind, std::size_t most_head, std::size_t most_body);
  ~IncomingMessage();
  IncomingMessage(const IncomingMessage&) = delete;
  IncomingMessage& operator=(const IncomingMessage&) = delete;

  // Whether that much of it has come.
  [[nodiscard]] bool has(Part part) const;
  // Takes bytes until it has that part, and returns how many it took. Those that are left come again, with more behind
  // them.
  std::size_t put(std::string_view bytes, Part part, error_code& error);
  // The connection has ended. No error: so has a body without a length, and the message is whole.
  [[nodiscard]] error_code end();

  // Once it has its head:
  [[nodiscard]] std::string_view method() const;  // of a request
  [[nodiscard]] std::string_view target() const;  // of a request
  [[nodiscard]] unsigned status() const;          // of a response
  [[nodiscard]] unsigned version() const;         // 10 or 11
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] std::string_view field(std::string_view name) const;  // empty: there is none
  // Once it is whole.
  [[nodiscard]] std::string take_body();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How a server answers a request that it cannot read: 400, 413, 431, 505. 0: nobody is there to be answered.
[[nodiscard]] unsigned refusal_of(error_code error);
// The other end was gone before a response began, or the network fails. Else the response is none.
[[nodiscard]] bool unreachable(error_code error);

// Heads of messages that go out, with the empty line at their end.
using Fields = std::vector<std::pair<std::string_view, std::string>>;
[[nodiscard]] std::string request_head(std::string_view method, std::string_view target, const Fields& fields);
[[nodiscard]] std::string response_head(unsigned version, unsigned status, const Fields& fields);

}  // namespace tocsin::adapters::net
