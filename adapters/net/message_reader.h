#pragma once

#include <string>

#include "adapters/net/message.h"
#include "adapters/net/transport.h"

namespace tocsin::adapters::net {

// Reads the messages of a connection one after the other: what arrives behind one begins the next. Owned by who uses
// the connection, and gone before it.
class MessageReader {
 public:
  explicit MessageReader(Transport& transport) : transport_(&transport) {}
  // Until there is something of a message.
  [[nodiscard]] awaitable<error_code> wait();
  [[nodiscard]] awaitable<error_code> read(IncomingMessage& message, IncomingMessage::Part part);

 private:
  [[nodiscard]] awaitable<error_code> more();
  Transport* transport_;
  std::string bytes_;  // that belong to no message yet
};

}  // namespace tocsin::adapters::net
