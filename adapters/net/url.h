#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::net {

// Where an HTTP server is: http://host:9093, https://[::1]/prefix. Without user, query and fragment.
struct Url {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string prefix;  // "" or "/prefix", without a slash at the end

  [[nodiscard]] std::string authority() const;  // host:port as a Host header has it
};
[[nodiscard]] stream::Result<Url> parse_url(std::string_view text);

// An address to listen on: 127.0.0.1:9464, [::1]:0. A host's name other than localhost is an error.
struct Listen {
  std::string address;
  std::uint16_t port = 0;
  [[nodiscard]] bool loopback() const;
};
[[nodiscard]] stream::Result<Listen> parse_listen(std::string_view text);

}  // namespace tocsin::adapters::net
