#include "adapters/http/page/page.h"

#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <string>

using namespace tocsin::adapters;

TEST_CASE("the page's files come with their types, and with headers that leave strangers' texts nothing to do") {
  std::map<std::string, http::Response> files;
  for (auto& [path, response] : http::page::files()) files[path] = std::move(response);
  REQUIRE(files.size() == 3);
  CHECK(files["/"].type == "text/html; charset=utf-8");
  CHECK(files["/page.css"].type == "text/css; charset=utf-8");
  CHECK(files["/page.js"].type == "text/javascript; charset=utf-8");
  for (const auto& [path, file] : files) {
    CHECK(file.status == 200);
    CHECK(file.body.size() > 300);
    CHECK(file.cache == "no-cache");
    const std::map<std::string, std::string> headers{file.headers.begin(), file.headers.end()};
    CHECK(headers.at("Content-Security-Policy")
              .starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "));
    CHECK(headers.at("Content-Security-Policy").find("unsafe") == std::string::npos);
    CHECK(headers.at("Content-Security-Policy").find("frame-ancestors 'none'") != std::string::npos);
    CHECK(headers.at("Referrer-Policy") == "no-referrer");
    CHECK(headers.at("X-Frame-Options") == "DENY");
  }
}

TEST_CASE("the page names its own files by relative addresses, and no other server") {
  const std::string html{http::page::html}, script{http::page::script};
  CHECK(html.find("src=\"page.js\"") != std::string::npos);
  CHECK(html.find("href=\"page.css\"") != std::string::npos);
  for (const std::string& text : {html, script, std::string{http::page::style}}) {
    CHECK_FALSE(std::regex_search(text, std::regex{"https?://|(?:src|href)=\"/|url\\(|@import"}));
    CHECK_FALSE(std::regex_search(
        text, std::regex{"innerHTML|outerHTML|insertAdjacent|document\\.write|\\beval\\b|new Function|DOMParser"}));
  }
  CHECK(script.starts_with("\"use strict\";"));
}
