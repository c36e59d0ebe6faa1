#include "adapters/net/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tocsin::adapters::net {
namespace {

using stream::Errc;
using stream::Error;

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

struct HostAndPort {
  std::string host;
  std::optional<std::string> port;
};
// Without brackets; nullopt: a bracket that is not closed, or an IPv6 address without brackets.
std::optional<HostAndPort> split(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos) return std::nullopt;
    const auto rest = text.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    return HostAndPort{std::string{text.substr(1, close - 1)},
                       rest.empty() ? std::nullopt : std::optional{std::string{rest.substr(1)}}};
  }
  const auto colon = text.find(':');
  if (colon == text.npos) return HostAndPort{std::string{text}, std::nullopt};
  if (text.find(':', colon + 1) != text.npos) return std::nullopt;
  return HostAndPort{std::string{text.substr(0, colon)}, std::string{text.substr(colon + 1)}};
}

bool is_address(int family, const std::string& host) {
  in6_addr address{};  // the larger
  return inet_pton(family, host.c_str(), &address) == 1;
}

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool printable(char c) { return c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>'; }

// Without what may be a secret: a user and password in front of the host, a query behind it.
std::string shown(std::string_view text) {
  text = text.substr(0, text.find_first_of("?#"));
  const auto at = text.rfind('@');
  return at == text.npos ? std::string{text} : "…" + std::string{text.substr(at)};
}

Error bad(std::string_view text, const std::string& why) {
  return {Errc::malformed,
          "'" + shown(text) + "' is not an address: " + why + "; write http://HOST:PORT or https://HOST:PORT"};
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') != host.npos ? "[" + host + "]" : host;
  return port == (tls ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

stream::Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) url.tls = true, rest.remove_prefix(8);
  else if (rest.starts_with("http://")) rest.remove_prefix(7);
  else return bad(text, "it begins with neither http:// nor https://");
  if (rest.find_first_of("?#") != rest.npos) return bad(text, "it has a query or a fragment");
  const auto slash = std::min(rest.find('/'), rest.size());
  const auto authority = rest.substr(0, slash);
  if (authority.find('@') != authority.npos) {
    const auto server = std::string{rest.substr(rest.find('@') + 1)};
    return Error{Errc::malformed, "the address of '" + server +
                                      "' has a user or password in it; name the user and a password file instead"};
  }
  const auto parts = split(authority);
  if (!parts) return bad(text, "its host is malformed (an IPv6 address stands in brackets)");
  url.host = parts->host;
  if (url.host.empty()) return bad(text, "it has no host");
  if (!is_address(AF_INET6, url.host) && !std::all_of(url.host.begin(), url.host.end(), host_character))
    return bad(text, "its host is malformed");
  url.port = url.tls ? 443 : 80;
  if (parts->port) {
    const auto port = port_of(*parts->port);
    if (!port || *port == 0) return bad(text, "its port is not 1 to 65535");
    url.port = *port;
  }
  url.prefix = rest.substr(slash);
  if (!std::all_of(url.prefix.begin(), url.prefix.end(), printable)) return bad(text, "its path is malformed");
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  return url;
}

bool Listen::loopback() const { return address.starts_with("127.") || address == "::1"; }

stream::Result<Listen> parse_listen(std::string_view text) {
  const auto wrong = [text](const std::string& why) {
    return Error{Errc::malformed, "'" + std::string{text} + "' is nothing to listen on: " + why +
                                      "; write ADDRESS:PORT, as 127.0.0.1:9464"};
  };
  const auto parts = split(text);
  if (!parts) return wrong("its address is malformed (an IPv6 address stands in brackets)");
  if (!parts->port) return wrong("it has no port");
  const auto port = port_of(*parts->port);
  if (!port) return wrong("its port is not 0 to 65535");
  Listen listen{parts->host, *port};
  if (listen.address == "localhost") listen.address = "127.0.0.1";
  if (!is_address(AF_INET, listen.address) && !is_address(AF_INET6, listen.address))
    return wrong("its address is not an IP address (0.0.0.0 is every one)");
  return listen;
}

}  // namespace tocsin::adapters::net
