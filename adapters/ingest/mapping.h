#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// How messages of a foreign topic become records of jobs: what the configuration has for each source.
namespace tocsin::adapters::ingest {

enum class Format : std::uint8_t {
  prometheus_json,
  prometheus_text,
  prometheus_remote_write,
  telegraf_json,
  influx,
  vector_metrics,
  logs_json,
  logs_syslog,
  logs_plain,
  kernel_log,
  otlp_metrics,
  otlp_logs,
  slurm_jobcomp
};

struct FormatName {
  Format format;
  std::string_view name, meaning;
};
inline constexpr std::array format_names{
    FormatName{Format::prometheus_json, "prometheus_json", "a sample an object, as prometheus-kafka-adapter writes it"},
    FormatName{Format::prometheus_text, "prometheus_text", "the exposition format, as exporters answer a scrape"},
    FormatName{Format::prometheus_remote_write, "prometheus_remote_write", "Prometheus' remote write, version 1.0"},
    FormatName{Format::telegraf_json, "telegraf_json", "Telegraf with data_format json, single or batch"},
    FormatName{Format::influx, "influx", "Telegraf with data_format influx: line protocol"},
    FormatName{Format::vector_metrics, "vector_metrics", "Vector's metric events, codec json"},
    FormatName{Format::logs_json, "logs_json",
               "a log line an object: Fluent Bit, Filebeat, Vector, rsyslog and their like"},
    FormatName{Format::logs_syslog, "logs_syslog", "rsyslog's default template: TIME HOST TAG: TEXT"},
    FormatName{Format::logs_plain, "logs_plain", "lines as a program writes them; the file's name gives job and rank"},
    FormatName{Format::kernel_log, "kernel_log", "records of /dev/kmsg"},
    FormatName{Format::otlp_metrics, "otlp_metrics", "OpenTelemetry's metrics, protobuf or JSON"},
    FormatName{Format::otlp_logs, "otlp_logs", "OpenTelemetry's logs, protobuf or JSON"},
    FormatName{Format::slurm_jobcomp, "slurm_jobcomp",
               "Slurm's records of jobs that began or ended, as jobcomp/kafka writes them"},
};

// Where messages come from, and their mapping. An empty list stands for the labels that are usual: default_labels().
struct Source {
  std::string name, format;  // format: one of format_names
  // Exactly one of these says where from: a topic of Kafka; targets to scrape, or files that list them as Prometheus'
  // file discovery does; files to follow, * for what varies, and {job}, {rank} … for whose they are; requests to us.
  std::string topic;
  std::vector<std::string> scrape, files;
  bool post = false;
  std::chrono::milliseconds every{15'000};  // of a scrape
  // Labels in which each is looked for, in this order; the first that has a value counts. Of `gpu` all count, as names
  // of one GPU.
  std::vector<std::string> job, attempt, rank, node, gpu;
  std::vector<std::string> time, text;  // of formats of logs: the fields of the time and of the line
  std::map<std::string, std::string>
      extract;  // label: template with {job}, {attempt}, {rank}, {node}, {gpu}, and * for what varies
  std::map<std::string, std::string> labels;   // that each record has besides its own
  std::map<std::string, std::string> signals;  // foreign name: signal, or signal and the unit of the values
  std::vector<std::string> keep;               // names of metrics, * for what varies; empty: all
  std::string covers;                          // what the lines are: kernel_log, or empty for the ranks' own log
};

using Labels = std::vector<std::string>;
struct DefaultLabels {
  Labels job, attempt, rank, node, gpu, time, text;
};
[[nodiscard]] const DefaultLabels& default_labels();

// What is wrong with it, and what to write; empty: nothing.
[[nodiscard]] std::string problem_of_template(std::string_view text);
[[nodiscard]] std::string problem_of_signal(std::string_view text);

// A GPU and a node of the static map: what labels do not say.
struct MappedGpu {
  std::string index, pci, uuid;
};
struct MappedNode {
  std::string rack;
  std::vector<MappedGpu> gpus;
};
using NodeMap = std::map<std::string, MappedNode, std::less<>>;

}  // namespace tocsin::adapters::ingest
