#pragma once

#include <string>
#include <string_view>

#include "adapters/http/server.h"
#include "stream/values/result.h"

namespace tocsin::adapters::http {

// The envelope of an answer of /api/v1.
[[nodiscard]] Response success(std::string data);
[[nodiscard]] Response failure(unsigned status, std::string_view kind, std::string_view message);
[[nodiscard]] Response failure(
    const stream::Error& error);  // not_found: 404, malformed: 400, too_large: 413, refused: 422, io: 503, else 500

}  // namespace tocsin::adapters::http
