#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/forward/destination.h"
#include "adapters/net/credentials.h"

namespace tocsin::adapters::forward {

struct HttpAddress {
  std::vector<net::Endpoint> servers;  // of one log: the first that answers gets the messages
};
// http://HOST:PORT[,HOST:PORT…][/PREFIX], or https. Without a port it is that of the service, 9464. Certificates and
// proof of who we are go to each of them.
[[nodiscard]] stream::Result<HttpAddress> parse_http_address(std::string_view text, const net::ClientTls& tls = {},
                                                             const net::ClientAuth& auth = {});
// Whether the text is the address of a service, not of brokers.
[[nodiscard]] bool is_http_address(std::string_view text);

// POST /api/v1/push of a service: Content-Type application/vnd.tocsin.telemetry, each message behind its length as four
// bytes, little-endian; compressed by zstd. A message is in the log once its request is answered with 200.
class HttpDestination final : public Destination {
 public:
  using Log = std::function<void(const std::string& line)>;
  // `log`: where it says which record the service will never take.
  HttpDestination(HttpAddress address, Log log);
  ~HttpDestination() override;

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] stream::Result<void> reach() override { return {}; }
  stream::Result<void> append(const stream::Entry& entry, std::span<const std::byte> message) override;
  stream::Result<void> control(std::span<const std::byte> message) override;
  [[nodiscard]] std::size_t waiting() const override;
  stream::Result<bool> flush(std::chrono::milliseconds wait) override;
  [[nodiscard]] std::string problem() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::forward
