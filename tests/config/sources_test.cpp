// The section `ingest`: sources, their mistakes, and the static map.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "adapters/config/config.h"

using namespace tocsin;
using adapters::config::parse_config;
using adapters::config::show_config;

namespace {

const std::string brokers = "kafka: {brokers: [b:9092]}\n";

// What is wrong behind a first line with brokers.
std::string refused(const std::string& rest) {
  const auto config = parse_config(brokers + rest, "t.yml");
  return config ? "" : config.error().message;
}

}  // namespace

TEST_CASE("a source says where its messages come from, once, and in a format that comes from there") {
  const auto wrong = [](const std::string& rest) {
    const auto config = parse_config("ingest: {sources: [{name: a, " + rest + "}]}", "t.yml");
    return config ? "" : config.error().message;
  };
  CHECK(wrong("format: otlp_logs, post: true").empty());
  CHECK(wrong("format: prometheus_text, scrape: [\"n1:9400\", \"https://n2/m\", t.json], every: 5s").empty());
  CHECK(wrong("format: logs_plain, files: [\"/l/{job}/*-rank{rank}.out\"]").empty());
  CHECK(wrong("format: otlp_logs") == "t.yml:1:20: the source a needs one of topic, scrape, files and post: true");
  CHECK(wrong("format: otlp_logs, post: true, files: [x]") ==
        "t.yml:1:20: the source a needs one of topic, scrape, files and post: true");
  CHECK(wrong("format: influx, post: true") ==
        "t.yml:1:20: what is posted is otlp_metrics, otlp_logs or prometheus_remote_write, and the source a is influx");
  CHECK(wrong("format: influx, scrape: [\"n1:9400\"]") ==
        "t.yml:1:20: what is scraped is prometheus_text, and the source a is influx");
  CHECK(wrong("format: prometheus_text, scrape: [\"n 1\"]").starts_with("t.yml:1:63: ingest.sources.scrape: 'n 1': "));
  CHECK(
      wrong("format: logs_plain, files: [\"/l/{jop}\"]").starts_with("t.yml:1:57: ingest.sources.files: '/l/{jop}': "));
}

TEST_CASE("sources of ingest are read, shown and read back") {
  const auto read = parse_config(brokers + R"(ingest:
  group: g
  sources:
    - name: dcgm
      topic: metrics.dcgm
      format: prometheus_text
      job: [hpc_job]
      signals: {a_b: gpu_memory_used MiB}
      keep: ["DCGM_*"]
    - {name: logs, topic: logs, format: logs_json, covers: kernel_log, extract: {file: "/l/{job}/*.log"}, labels: {c: "1"}}
)",
                                 "t.yml");
  REQUIRE_MESSAGE(read, read.error().message);
  REQUIRE(read->ingest.sources.size() == 2);
  CHECK(read->ingest.sources[0].job == std::vector<std::string>{"hpc_job"});
  CHECK(read->ingest.sources[0].signals.at("a_b") == "gpu_memory_used MiB");
  CHECK(read->ingest.sources[1].extract.at("file") == "/l/{job}/*.log");
  const auto again = parse_config(show_config(*read), "shown.yml");
  REQUIRE_MESSAGE(again, again.error().message);
  CHECK(show_config(*again) == show_config(*read));
  CHECK(again->ingest.sources[1].covers == "kernel_log");
}

TEST_CASE("mistakes in sources are named with their place and what was meant") {
  const auto source = [](const std::string& options) { return refused("ingest: {sources: [{" + options + "}]}"); };
  const std::string usual = "name: a, topic: t, format: ";
  CHECK(source("name: a, topic: t") == "t.yml:2:20: a source of ingest.sources has no format");
  CHECK(
      source(usual + "prometheus") ==
      "t.yml:2:48: ingest.sources.format is prometheus_json, prometheus_text, prometheus_remote_write, telegraf_json, "
      "influx, vector_metrics, logs_json, logs_syslog, logs_plain, kernel_log, otlp_metrics, otlp_logs or "
      "slurm_jobcomp, and not 'prometheus' (prometheus_json?)");
  CHECK(source(usual + "influxdb").ends_with("and not 'influxdb' (influx?)"));
  CHECK(source(usual + "influx, jobs: [x]") == "t.yml:2:56: there is no option ingest.sources.jobs (job?)");
  CHECK(source(usual + "influx, job: x") == "t.yml:2:61: ingest.sources.job is a list: write [x]");
  CHECK(source(usual + "influx, text: [x]") ==
        "t.yml:2:62: ingest.sources.text is of logs, and influx is a format of metrics");
  CHECK(source(usual + "logs_json, keep: [x]") ==
        "t.yml:2:65: ingest.sources.keep is of metrics, and logs_json is a format of logs");
  CHECK(source(usual + "slurm_jobcomp, covers: x")
            .ends_with("ingest.sources.covers is of logs, and slurm_jobcomp is a format of events"));
  CHECK(source(usual + "logs_json, extract: {f: '/x/{jobs}'}") ==
        "t.yml:2:72: '/x/{jobs}': {jobs} is none of {job}, {attempt}, {rank}, {node} and {gpu}");
  CHECK(source(usual + "influx, signals: {a: b c d}") ==
        "t.yml:2:69: 'b c d': write the name of a signal, or its name and the unit of the values: gpu_memory_used MiB");
  CHECK(source(usual + "influx}, {name: b, topic: t, format: influx") ==
        "t.yml:2:57: topic t is read by the source a already: a record would count twice");
  CHECK(source("name: a, topic: tocsin.telemetry, format: influx") ==
        "t.yml:2:19: ingest.sources reads tocsin.telemetry, which is one of tocsin's own topics: name one of another "
        "program");
  CHECK(refused("ingest: {sources: [metrics]}") == "t.yml:2:20: ingest.sources has a text: write - name: metrics");
  CHECK(refused("ingest: {sources: {a: b}}") ==
        "t.yml:2:19: ingest.sources is a list: write - name: NAME, a line each");
}

TEST_CASE("the static map of nodes is read, and its mistakes are named") {
  const auto nodes = adapters::config::parse_nodes(
      "n1: {rack: r1, gpus: [{index: 0, pci: '0000:1b:00.0', uuid: GPU-a}, {index: 1}]}\nn2: {rack: r2}\n",
      "nodes.yml");
  REQUIRE(nodes);
  CHECK(nodes->at("n1").rack == "r1");
  CHECK(nodes->at("n1").gpus[0].uuid == "GPU-a");
  CHECK(nodes->at("n1").gpus.size() == 2);
  CHECK(nodes->at("n2").gpus.empty());
  const auto refusal_of = [](const char* text) {
    const auto read = adapters::config::parse_nodes(text, "nodes.yml");
    return read ? std::string{} : read.error().message;
  };
  CHECK(refusal_of("n1: {rak: r1}") == "nodes.yml:1:6: there is no option n1.rak (rack?)");
  CHECK(refusal_of("n1: r1") == "nodes.yml:1:5: a node is written {rack: NAME, gpus: […]}");
  CHECK(refusal_of("n1: {}\nn1: {}") == "nodes.yml:2:1: n1 is given twice, first in line 1");
  CHECK(refusal_of("n1: {rack: a, rack: b}") == "nodes.yml:1:15: n1.rack is given twice, first in line 1");
  CHECK(refusal_of("n1: {rack: a}\n---\nn2: {rack: b}\n") ==
        "nodes.yml:3:1: the file holds several documents: keep one, without a line ---");
  CHECK(refusal_of("").empty());
  CHECK(refusal_of("- n1").find("this is a map of nodes") != std::string::npos);
  CHECK(refusal_of("a: [").find("not valid YAML") != std::string::npos);
}
