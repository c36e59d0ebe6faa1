#include "adapters/http/page/page.h"

namespace tocsin::adapters::http::page {
namespace {

Response file(const char* type, std::string_view text) {
  Response response{200, type, std::string{text}};
  response.cache = "no-cache";  // a browser asks each time: the page belongs to the program that answers
  response.headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"Referrer-Policy", "no-referrer"},
                      {"X-Frame-Options", "DENY"}};
  return response;
}

}  // namespace

std::vector<std::pair<std::string, Response>> files() {
  return {{"/", file("text/html; charset=utf-8", html)},
          {"/page.css", file("text/css; charset=utf-8", style)},
          {"/page.js", file("text/javascript; charset=utf-8", script)}};
}

void add_page(Server& server) {
  for (auto& [path, response] : files())
    server.route("GET", path, [response = std::move(response)](const Request&) { return response; });
}

}  // namespace tocsin::adapters::http::page
