#pragma once

#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::sources {

// The body of a request, out of its Content-Encoding: none, identity, gzip; or snappy, which is remote write's own
// form.
[[nodiscard]] stream::Result<std::string> plain_body(std::string body, std::string_view encoding);

}  // namespace tocsin::adapters::sources
