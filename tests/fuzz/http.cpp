// Any bytes as what a client sends to the server: its requests pass the parser and the limits of a connection, the
// routes, the gate and the parameters of the API. Each answer of the API is JSON, and nobody is let in without the
// secret.
#include <simdjson.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "adapters/http/envelope.h"
#include "adapters/http/recent_reports.h"
#include "adapters/http/routes.h"
#include "adapters/net/message.h"
#include "tests/alertmanager/transitions.h"

using namespace tocsin;
namespace http = adapters::http;
namespace net = adapters::net;

namespace {

constexpr const char *secret = "pl4nted-s3cret", *of_sender = "s3nder";

http::Gate& gate() {
  static http::Gate one = [] {
    const auto file = std::filesystem::temp_directory_path() / ("tocsin_fuzz_token_" + std::to_string(getpid()));
    const auto other = file.string() + "_sender";
    std::ofstream{file} << secret << "\n";
    std::ofstream{other} << of_sender << "\n";
    auto opened = http::Gate::open({"op", file, file, {{"a", other, {}, {}}}});
    if (!opened) std::abort();
    std::filesystem::remove(file), std::filesystem::remove(other);  // from now on the gate has what it read
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
  if (root["status"].get(status) != simdjson::SUCCESS || (status == "success") != (response.status == 200))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Message = net::IncomingMessage;
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  while (!rest.empty()) {
    Message request{Message::Kind::request, 8u << 10, 1u << 16};
    net::error_code error;
    const std::size_t used = request.put(rest, Message::Part::whole, error);
    if (!request.has(Message::Part::head)) return 0;
    const std::string_view credentials = request.field("Authorization");
    const http::Gate::Caller caller = gate().who(credentials, {});
    const auto has = [&](std::string_view text) { return credentials.find(text) != credentials.npos; };
    if (caller.admitted &&
        !(caller.sender != nullptr ? has(of_sender) : has(secret) || has("b3A6cGw0bnRlZC1zM2NyZXQ=")))
      std::abort();
    if (const auto target = http::parse_target(request.target())) {
      answer(reports().alerts(target->query));
      answer(reports().verdicts(target->query));
    }
    if (error || used == 0 || !request.has(Message::Part::whole)) return 0;
    rest.remove_prefix(used);
  }
  return 0;
}
