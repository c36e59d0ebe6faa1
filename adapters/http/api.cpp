#include "adapters/http/api.h"

#include <string_view>
#include <utility>

#include "adapters/formats/telemetry.h"
#include "adapters/http/envelope.h"

namespace tocsin::adapters::http {
namespace {

using stream::Errc;

void add_data(Server& server, const std::string& name, Providers::Data provider) {
  if (!provider) return;
  server.route("GET", "/api/v1/" + name, [provider = std::move(provider)](const Request& request) {
    auto data = provider(request.query);
    return data ? success(std::move(*data)) : failure(data.error());
  });
}

Response text(unsigned status, std::string_view line) {
  return {status, "text/plain; charset=utf-8", std::string{line} + "\n"};
}

Response not_taken(const stream::Error& error) {
  return error.code == Errc::refused ? failure(403, "forbidden", error.message) : failure(error);
}

// Answers as the protocol's own receivers do: 400 is given up by the client, 503 comes again.
void add_ingest(Server& server, const char* path, std::string_view format, const auto& ingest) {
  server.route_slow(
      "POST", path,
      [ingest, format](Request request, Answer answer) {
        const bool json = request.type.starts_with("application/json");
        ingest(format, std::move(request), [json, answer = std::move(answer)](stream::Result<std::string> done) {
          if (!done) return answer(not_taken(done.error()));
          answer(json ? Response{200, "application/json", "{}"} : Response{200, "application/x-protobuf", ""});
        });
      },
      Access::records);
}

}  // namespace

void add_api(Server& server, Providers providers) {
  server.route(
      "GET", "/-/healthy", [](const Request&) { return text(200, "tocsin is healthy"); }, Access::open);
  server.route(
      "GET", "/-/ready",
      [not_ready = std::move(providers.not_ready)](const Request&) {
        const std::string why = not_ready ? not_ready() : std::string{};
        return why.empty() ? text(200, "tocsin is ready") : text(503, why);
      },
      Access::open);
  if (providers.metrics)
    server.route("GET", "/metrics", [metrics = std::move(providers.metrics)](const Request&) {
      return Response{200, "text/plain; version=0.0.4; charset=utf-8", metrics()};
    });
  if (providers.reload)
    server.route_slow(
        "POST", "/-/reload", [reload = std::move(providers.reload)](const Request&, const Answer& answer) {
          reload([answer](stream::Result<std::string> done) {
            if (done) answer(success(std::move(*done)));
            else if (done.error().code == Errc::io) answer(failure(done.error()));
            else answer(failure(422, "execution", done.error().message));  // whatever is wrong with the rules
          });
        });
  if (providers.push)
    server.route_slow(
        "POST", "/api/v1/push",
        [push = std::move(providers.push), telemetry = std::move(providers.push_telemetry)](Request request,
                                                                                            Answer answer) {
          if (telemetry && request.type.substr(0, request.type.find(';')) == formats::telemetry_type)
            return telemetry(std::move(request), [answer = std::move(answer)](stream::Result<std::string> done) {
              answer(done ? Response{200, "application/json", std::move(*done) + "\n"} : not_taken(done.error()));
            });
          push(std::move(request), [answer = std::move(answer)](stream::Result<std::string> done) {
            answer(done ? success(std::move(*done)) : not_taken(done.error()));
          });
        },
        Access::records);
  if (providers.ingest) {
    add_ingest(server, "/v1/metrics", "otlp_metrics", providers.ingest);
    add_ingest(server, "/v1/logs", "otlp_logs", providers.ingest);
    add_ingest(server, "/api/v1/write", "prometheus_remote_write", providers.ingest);
  }
  add_data(server, "jobs", std::move(providers.jobs));
  add_data(server, "alerts", std::move(providers.alerts));
  add_data(server, "rules", std::move(providers.rules));
  add_data(server, "verdicts", std::move(providers.verdicts));
  add_data(server, "status", std::move(providers.status));
}

}  // namespace tocsin::adapters::http
