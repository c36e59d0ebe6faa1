#include "adapters/http/envelope.h"

#include <utility>

#include "adapters/formats/json.h"

namespace tocsin::adapters::http {

using stream::Errc;

Response success(std::string data) {
  return {200, "application/json", R"({"status":"success","data":)" + std::move(data) + "}\n"};
}

Response failure(unsigned status, std::string_view kind, std::string_view message) {
  return {status, "application/json",
          formats::dump({{"status", "error"}, {"errorType", kind}, {"error", message}}) + "\n"};
}

Response failure(const stream::Error& error) {
  switch (error.code) {
    case Errc::not_found: return failure(404, "not_found", error.message);
    case Errc::malformed: return failure(400, "bad_data", error.message);
    case Errc::too_large: return failure(413, "too_large", error.message);
    case Errc::refused: return failure(422, "execution", error.message);
    case Errc::io: return failure(503, "unavailable", error.message);
    default: return failure(500, "internal", error.message);
  }
}

}  // namespace tocsin::adapters::http
