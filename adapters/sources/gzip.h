#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::sources {

// The content of a gzip stream, as OpenTelemetry's collector posts it by default. An error: it is none, or cut short,
// or holds more than `most` bytes.
[[nodiscard]] stream::Result<std::string> gunzip(std::string_view bytes, std::size_t most);

// The body of a request, out of its Content-Encoding: none, identity, gzip; or snappy, which is remote write's own
// form.
[[nodiscard]] stream::Result<std::string> plain_body(std::string body, std::string_view encoding);

}  // namespace tocsin::adapters::sources
