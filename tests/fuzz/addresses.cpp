// Any text as the target of a request, and as an address to connect to or to listen on.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "adapters/http/routes.h"
#include "adapters/net/url.h"

using namespace tocsin::adapters;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto target = http::parse_target(text); target && target->path.find('\0') != std::string::npos)
    std::abort();
  if (const auto url = net::parse_url(text)) {
    const auto again = net::parse_url((url->tls ? "https://" : "http://") + url->authority() + url->prefix);
    if (!again || again->host != url->host || again->port != url->port || again->prefix != url->prefix) std::abort();
  }
  (void)net::parse_listen(text);
  return 0;
}
