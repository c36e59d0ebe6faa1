#include "adapters/net/message_reader.h"

#include <boost/asio/error.hpp>
#include <cstddef>
#include <span>

// One co_await a statement: g++ 12 miscompiles those within conditions and conditional expressions.
namespace tocsin::adapters::net {

awaitable<error_code> MessageReader::more() {
  constexpr std::size_t at_once = 4096;
  const std::size_t before = bytes_.size();
  bytes_.resize(before + at_once);
  const auto [error, read] = co_await transport_->read_some(std::span{bytes_}.subspan(before));
  bytes_.resize(before + read);
  co_return error;
}

awaitable<error_code> MessageReader::wait() {
  error_code error;
  if (bytes_.empty()) error = co_await more();
  co_return error;
}

awaitable<error_code> MessageReader::read(IncomingMessage& message, IncomingMessage::Part part) {
  while (!message.has(part)) {
    if (!bytes_.empty()) {
      error_code wrong;
      bytes_.erase(0, message.put(bytes_, part, wrong));
      if (wrong) co_return wrong;
      if (message.has(part)) break;
    }
    const error_code error = co_await more();
    if (error == boost::asio::error::eof) co_return message.end();
    if (error) co_return error;
  }
  co_return error_code{};
}

}  // namespace tocsin::adapters::net
