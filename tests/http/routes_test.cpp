#include "adapters/http/routes.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/net/credentials.h"
#include "adapters/net/url.h"

using namespace tocsin::adapters;
using namespace std::chrono_literals;
using http::parse_target;

TEST_CASE("a target is its path and its parameters, decoded") {
  const auto target = parse_target("/api/v1/alerts?job=a%2Fb+c&limit=10&&empty=&bare&job2=%C3%BC");
  REQUIRE(target);
  CHECK(target->path == "/api/v1/alerts");
  CHECK(target->query == std::map<std::string, std::string>{
                             {"job", "a/b c"}, {"limit", "10"}, {"empty", ""}, {"bare", ""}, {"job2", "ü"}});
}

TEST_CASE("a target that is malformed is none") {
  for (const char* text : {"", "*", "http://host/", "/%", "/%2", "/%zz", "/%00", "/a?x=%", "/a?x=%g0"})
    CHECK(!parse_target(text));
  CHECK(parse_target("/?"));
}

TEST_CASE("a path that there is with another method says which it takes") {
  http::Routes routes;
  routes.add("GET", "/a", {[](const http::Request&) { return http::Response{}; }});
  routes.add("POST", "/a", {[](const http::Request&) { return http::Response{}; }});
  CHECK(std::holds_alternative<const http::Route*>(routes.find("HEAD", "/a")));
  const auto wrong = routes.find("DELETE", "/a");
  REQUIRE(std::holds_alternative<http::Routes::Missing>(wrong));
  CHECK(std::get<http::Routes::Missing>(wrong).status == 405);
  CHECK(std::get<http::Routes::Missing>(wrong).allow == "GET, POST");
  CHECK(std::get<http::Routes::Missing>(routes.find("GET", "/b")).status == 404);
}

TEST_CASE("credentials are checked against their files, also after these have changed") {
  const auto folder = std::filesystem::temp_directory_path() / ("tocsin_gate_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto write = [&](const char* name, const char* text) { std::ofstream{folder / name} << text; };
  write("password", "one two\n");
  write("token", "secret");
  auto gate = http::Gate::open({"me", folder / "password", folder / "token", {}});
  REQUIRE(gate);
  std::chrono::steady_clock::time_point now{100s};
  const auto admits = [&](const std::string& authorization) { return gate->who(authorization, now).admitted; };
  CHECK(admits("Basic " + net::base64("me:one two")));
  CHECK(admits("bEARER   secret"));
  for (const std::string& wrong :
       {std::string{}, std::string{"Bearer"}, std::string{"Bearer "}, std::string{"Bearer secre"},
        std::string{"Basic secret"}, "Bearer " + net::base64("me:one two"), "Basic " + net::base64("me:one")})
    CHECK(!admits(wrong));
  write("token", "other");
  now += 1s;
  CHECK(admits("Bearer other"));
  CHECK(!admits("Bearer secret"));
  std::filesystem::remove(folder / "token");
  now += 1s;
  CHECK(admits("Bearer other"));
  const auto missing = http::Gate::open({"", {}, folder / "token", {}});
  REQUIRE(!missing);
  CHECK(missing.error().message.find("cannot read the secret in ") == 0);
  CHECK(http::Gate::open({"me", {}, {}, {}}).error().message.find("set both or none") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a sender is known by its token, which may change, and is not admitted without one of its own") {
  const auto folder = std::filesystem::temp_directory_path() / ("tocsin_senders_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto write = [&](const char* name, const char* text) { std::ofstream{folder / name} << text; };
  write("token", "secret"), write("password", "one"), write("a", "of a"), write("b", "of b");
  const std::vector<http::Sender> senders{{"a", folder / "a", {}, {}, 2, 100}, {"b", folder / "b", {}, {}, 2, 100}};
  std::vector<std::string> log;
  const http::ServerAuth auth{"me", folder / "password", folder / "token", senders};
  auto gate = http::Gate::open(auth, [&](const std::string& line) { log.push_back(line); });
  REQUIRE(gate);
  std::chrono::steady_clock::time_point now{100s};
  const auto name = [&](const std::string& token) -> std::string {
    const auto caller = gate->who("Bearer " + token, now);
    return !caller.admitted ? "nobody" : caller.sender == nullptr ? "the server's" : caller.sender->name;
  };
  CHECK(name("secret") == "the server's");
  CHECK((name("of a") == "a" && name("of b") == "b" && name("of c") == "nobody" && name("") == "nobody"));
  const auto a = gate->who("Bearer of a", now).sender, b = gate->who("Bearer of b", now).sender;
  CHECK((a->requests.takes(now) && a->requests.takes(now) && !a->requests.takes(now) && b->requests.takes(now)));
  const auto later = [&] { now += 1s; };
  write("a", "new"), std::filesystem::remove(folder / "password"), later();  // the others are read nevertheless
  CHECK((name("of a") == "nobody" && name("new") == "a"));
  std::filesystem::remove(folder / "b"), later();
  CHECK((name("of b") == "nobody" && name("new") == "a"));
  later(), CHECK(name("") == "nobody");
  CHECK(log.size() == 1);
  CHECK(log.back().starts_with("the sender b is not admitted: cannot read the secret in "));
  write("b", "new"), later();
  CHECK(name("new") == "nobody");
  CHECK(log.back() == "the sender b is not admitted: it has the token of the sender a; give each its own");
  write("b", "of b"), write("a", "secret"), later();
  CHECK((name("of b") == "b" && name("secret") == "the server's"));
  CHECK(log.back() == "the sender a is not admitted: it has the token of the server itself; give each its own");
  write("password", "one");
  CHECK(http::Gate::open(auth).error().message.find("it has the token of the server itself") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a rate lets through so many at once, and so many a second") {
  http::RateLimit limit{10};
  std::chrono::steady_clock::time_point now{100s};
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += limit.takes(now) ? 1 : 0;
  CHECK(passed == 10);
  now += 500ms;
  for (int i = 0; i < 100; ++i) passed += limit.takes(now) ? 1 : 0;
  CHECK(passed == 15);
}

TEST_CASE("addresses are read, and what is none is refused with an example") {
  CHECK(net::parse_url("https://[::1]/a/b/")->prefix == "/a/b");
  CHECK(net::parse_url("https://[::1]")->authority() == "[::1]");
  CHECK(net::parse_url("http://host:8080")->authority() == "host:8080");
  for (const char* text : {"", "http://", "http:///a", "http://a b", "http://a:0", "http://a:x", "http://[::1",
                           "http://::1", "http://a/?q", "ftp://a"})
    CHECK(!net::parse_url(text));
  CHECK(net::parse_listen("localhost:1")->loopback());
  CHECK(net::parse_listen("[::1]:1")->loopback());
  CHECK(!net::parse_listen("0.0.0.0:9464")->loopback());
  for (const char* text : {"", "9464", ":9464", "127.0.0.1", "127.0.0.1:70000", "host:1", "::1:9464", "127.0.0.1:x"})
    CHECK(!net::parse_listen(text));
  CHECK(net::parse_listen("9464").error().message ==
        "'9464' is nothing to listen on: it has no port; write ADDRESS:PORT, as 127.0.0.1:9464");
}
