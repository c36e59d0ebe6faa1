// Serves an API of examples with the page, and prints its port, for the tests in Python. A line on standard input:
// status, stop. The end of it ends all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/api.h"
#include "adapters/http/page/page.h"
#include "adapters/http/recent_reports.h"
#include "adapters/http/server.h"
#include "adapters/prometheus/metrics.h"
#include "tests/alertmanager/transitions.h"
#include "tests/http/kept_data.h"
#include "tests/prometheus/examples.h"

namespace {

using namespace tocsin;
using namespace tocsin::adapters;

std::string line_of(const http::ServerStatus& s) {
  return fmt::format(R"({{"requests":{},"unauthorized":{},"refused":{},"timed_out":{},"evicted":{},"connections":{}}})",
                     s.requests, s.unauthorized, s.refused, s.timed_out, s.evicted, s.connections);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Serves an API of examples"};
  http::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.names = {"x"};  // what clients of the tests write in Host
  std::string data;
  long read_time = 10'000, idle_time = 60'000, reload_time = 300;
  app.add_option("--listen", options.listen);
  app.add_option("--certificate", options.tls.certificate_file);
  app.add_option("--key", options.tls.key_file);
  app.add_option("--client-ca", options.tls.client_ca_file);
  app.add_option("--user", options.auth.user);
  app.add_option("--password-file", options.auth.password_file);
  app.add_option("--token-file", options.auth.token_file);
  app.add_option("--connections", options.connections);
  app.add_option("--rate", options.requests_per_second);
  app.add_option("--read-time", read_time);
  app.add_option("--idle-time", idle_time);
  app.add_option("--reload-time", reload_time, "of the first reload");
  app.add_option("--data", data, "a folder: jobs.json and so on are what the API has, instead of examples");
  CLI11_PARSE(app, argc, argv);
  options.read_time = std::chrono::milliseconds{read_time};
  options.idle_time = std::chrono::milliseconds{idle_time};
  auto bound = http::Server::bind(options);
  if (!bound) {
    fmt::print(stderr, "{}\n", bound.error().message);
    return 2;
  }
  http::Server& server = **bound;
  http::RecentReports reports;
  reports.report(0, test::slow_rank());
  prometheus::Metrics metrics;
  test::publish_examples(metrics);
  metrics.observe({}, {}, [&server] { return server.status(); });

  http::Providers providers;
  providers.alerts = [&](const auto& query) { return reports.alerts(query); };
  providers.verdicts = [&](const auto& query) { return reports.verdicts(query); };
  providers.jobs = [](const auto&) -> stream::Result<std::string> { throw std::runtime_error{"a provider fails"}; };
  providers.status = [](const auto&) -> stream::Result<std::string> { return std::string{R"({"ready":true})"}; };
  providers.metrics = [&] { return metrics.text(); };
  providers.not_ready = [&] { return std::string{options.auth.user == "not-ready" ? "restoring: 40 %" : ""}; };
  if (!data.empty()) {
    for (const auto& [name, provider] :
         {std::pair{"jobs", &providers.jobs}, std::pair{"alerts", &providers.alerts},
          std::pair{"rules", &providers.rules}, std::pair{"verdicts", &providers.verdicts},
          std::pair{"status", &providers.status}})
      *provider = test::kept_data(data, name);
  }
  std::vector<std::thread> reloads;
  int reloaded = 0;
  providers.reload = [&](std::function<void(stream::Result<std::string>)> done) {
    // It takes its time, or until another request came.
    reloads.emplace_back([&, done = std::move(done), number = ++reloaded, before = server.status().requests] {
      for (int i = 0; i < (number == 1 ? reload_time : 100) / 10 && server.status().requests == before; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
      if (number % 3 == 2) done(stream::Error{stream::Errc::malformed, "rules/a.lua:3: unexpected symbol"});
      else if (number % 3 == 0) done(stream::Error{stream::Errc::io, "no broker answers"});
      else done(std::string{R"({"pack":"abc","changed":true})"});
      done(std::string{"{}"});  // a second answer is no answer
    });
  };
  http::add_api(server, std::move(providers));
  http::page::add_page(server);
  server.route("POST", "/echo", [](const http::Request& request) {
    return http::Response{200, "text/plain", request.body};
  });
  server.start();
  std::cout << server.port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "stop") server.stop();
    std::cout << line_of(server.status()) << std::endl;
  }
  server.stop();
  for (auto& thread : reloads) thread.join();
}
