#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "adapters/alertmanager/poster.h"
#include "adapters/http/server.h"
#include "adapters/ingest/mapping.h"
#include "adapters/notify/receiver.h"
#include "stream/values/result.h"

namespace tocsin::adapters::config {

using Path = std::filesystem::path;
using Milliseconds = std::chrono::milliseconds;

// The configuration of `tocsin run`: one YAML file. What each option means, its unit and default: options.h and
// docs/configuration.md.
struct Config {
  struct Kafka {
    std::vector<std::string> brokers;  // host:port
    std::string prefix = "tocsin", group = "tocsin", instance_id;
    std::map<std::string, std::string> properties;  // of librdkafka, as they are
    std::map<std::string, Path> property_files;     // whose value is the first line of a file: passwords
    Milliseconds session_timeout{45'000};
  } kafka;

  std::vector<std::string> rules{"shipped"};  // "shipped" or a directory, in order

  alertmanager::PosterOptions alertmanager;
  http::ServerOptions http;
  bool http_open = false;  // beyond loopback, without credentials

  struct Notify {
    std::vector<notify::Receiver> receivers;
    std::string relay{notify::usual_relay};
    Path directory;
    std::uint64_t queue_size = 256u << 20;
    Milliseconds keep{72 * 3600'000};
  } notify;

  struct Ingest {
    std::string group = "tocsin-ingest";
    Path nodes;
    std::vector<ingest::Source> sources;
  } ingest;

  struct Log {
    std::string format = "logfmt", level = "info";  // of the lines that the program writes
    Path directory;                                 // of the embedded log
    std::uint64_t partitions = 4, retention_size = std::uint64_t{8} << 30;
    Milliseconds retention{std::chrono::hours{168}};
  } log;

  struct Limits {
    std::uint64_t queue_size = 16u << 20, state_size = std::uint64_t{4} << 30, job_series = 1000;
    Milliseconds save_every{240'000};
  } limits;
};

// Reads a configuration. The error is one line for each mistake, "FILE:LINE:COLUMN: what, and the remedy".
[[nodiscard]] stream::Result<Config> read_config(const Path& file);
[[nodiscard]] stream::Result<Config> parse_config(const std::string& text, const std::string& file_name);

// The static map of nodes (ingest.nodes): for each its rack and its GPUs. Errors as of a configuration.
//   node07: {rack: r12, gpus: [{index: 0, pci: "00000000:1B:00.0", uuid: GPU-…}]}
[[nodiscard]] stream::Result<ingest::NodeMap> read_nodes(const Path& file);
[[nodiscard]] stream::Result<ingest::NodeMap> parse_nodes(const std::string& text, const std::string& file_name);

// A server that others than this machine reach, and that asks nobody who he is, though http.open does not say so: what
// to set; empty: it is none.
[[nodiscard]] std::string unguarded(const Config& config);
// What is allowed and probably not meant, a line each.
[[nodiscard]] std::vector<std::string> warnings(const Config& config);

// The receivers of notify, with what their addresses say. The error is that of the first that is wrong.
[[nodiscard]] stream::Result<std::vector<notify::Receiver>> receivers(const Config& config);
// Of the server: with the name in http.external_url.
[[nodiscard]] http::ServerOptions server_options(const Config& config);
// Of librdkafka: kafka.properties, and those of kafka.property_files with the secrets read. Not to be logged.
[[nodiscard]] stream::Result<std::map<std::string, std::string>> kafka_properties(const Config& config);

// As YAML: every option with its meaning. The configuration's own values, or the defaults.
[[nodiscard]] std::string show_config(const Config& config);
// The table of options, as docs/configuration.md has it.
[[nodiscard]] std::string options_as_markdown();

}  // namespace tocsin::adapters::config
