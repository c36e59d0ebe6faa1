// Any bytes as what a client sends to the server: its requests pass the parser and the limits of a connection, the routes, the gate and
// the parameters of the API. Each answer of the API is JSON, and nobody is let in without the secret.
#include <simdjson.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "adapters/http/envelope.h"
#include "adapters/http/recent_reports.h"
#include "adapters/http/routes.h"
#include "tests/alertmanager/transitions.h"

using namespace tocsin;
namespace http = adapters::http;
namespace beast = boost::beast::http;

namespace {

constexpr const char* secret = "pl4nted-s3cret";

http::Gate& gate() {
  static http::Gate one = [] {
    const auto file = std::filesystem::temp_directory_path() / ("tocsin_fuzz_token_" + std::to_string(getpid()));
    std::ofstream{file} << secret << "\n";
    auto opened = http::Gate::open({"op", file, file});
    if (!opened) std::abort();
    std::filesystem::remove(file);  // from now on the gate has what it read
    return std::move(*opened);
  }();
  return one;
}

const http::RecentReports& reports() {
  static http::RecentReports all;
  static const bool filled = (all.report(0, test::slow_rank()), true);
  (void)filled;
  return all;
}

void answer(const stream::Result<std::string>& data) {
  const http::Response response = data ? http::success(*data) : http::failure(data.error());
  static simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(simdjson::padded_string{response.body}).get(root) != simdjson::SUCCESS) std::abort();
  std::string_view status;
  if (root["status"].get(status) != simdjson::SUCCESS || (status == "success") != (response.status == 200)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  boost::asio::const_buffer rest{data, size};
  while (rest.size() > 0) {
    beast::request_parser<beast::string_body> parser;
    parser.header_limit(8u << 10);
    parser.body_limit(1u << 16);
    parser.eager(true);
    boost::system::error_code error;
    const std::size_t used = parser.put(rest, error);
    if (!parser.is_header_done()) return 0;
    const auto& request = parser.get();
    const std::string_view credentials = request[beast::field::authorization];
    if (gate().admits(credentials) && credentials.find(secret) == credentials.npos &&
        credentials.find("b3A6cGw0bnRlZC1zM2NyZXQ=") == credentials.npos)
      std::abort();
    if (const auto target = http::parse_target(request.target())) {
      answer(reports().alerts(target->query));
      answer(reports().verdicts(target->query));
    }
    if (error || used == 0 || !parser.is_done()) return 0;
    rest += used;
  }
  return 0;
}
