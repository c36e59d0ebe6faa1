#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "adapters/http/server.h"
#include "stream/values/result.h"

namespace tocsin::adapters::http {

// What the program gives the API. Each is called on the server's thread, and may be left empty: 404.
struct Providers {
  using Query = std::map<std::string, std::string>;
  using Data = std::function<stream::Result<std::string>(const Query&)>;  // a JSON value
  Data jobs, alerts, rules, verdicts, status;
  std::function<std::string()> metrics;    // Prometheus' text format
  std::function<std::string()> not_ready;  // why not; empty: ready
  // Reloads elsewhere, and calls `done` once, from any thread: with a JSON value, or the error, which is the answer's
  // text.
  std::function<void(std::function<void(stream::Result<std::string>)> done)> reload;
  // Takes a body of JSON lines, and calls `done` once, from any thread, when its records are kept: with a JSON value,
  // or the error; one of code `refused`: this sender may not send it.
  using Done = std::function<void(stream::Result<std::string>)>;
  std::function<void(Request, Done done)> push;
  // The same of messages as the log has them (formats/telemetry.h); the JSON value is the whole answer.
  std::function<void(Request, Done done)> push_telemetry;
  // The same of what other programs post: a message of this format, for the source that ?source= names, or the only
  // one.
  std::function<void(std::string_view format, Request, Done done)> ingest;
};

// /-/healthy, /-/ready, /-/reload (POST), /metrics, /api/v1/{jobs,alerts,rules,verdicts,status}, /api/v1/push (POST),
// and where other programs post: /v1/metrics, /v1/logs (OTLP), /api/v1/write (Prometheus' remote write):
// {"status":"success","data":…}
void add_api(Server& server, Providers providers);

}  // namespace tocsin::adapters::http
