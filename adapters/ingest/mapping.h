#pragma once

#include <array>
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
  telegraf_json,
  influx,
  vector_metrics,
  logs_json,
  logs_syslog,
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
    FormatName{Format::telegraf_json, "telegraf_json", "Telegraf with data_format json, single or batch"},
    FormatName{Format::influx, "influx", "Telegraf with data_format influx: line protocol"},
    FormatName{Format::vector_metrics, "vector_metrics", "Vector's metric events, codec json"},
    FormatName{Format::logs_json, "logs_json",
               "a log line an object: Fluent Bit, Filebeat, Vector, rsyslog and their like"},
    FormatName{Format::logs_syslog, "logs_syslog", "rsyslog's default template: TIME HOST TAG: TEXT"},
    FormatName{Format::otlp_metrics, "otlp_metrics", "OpenTelemetry's metrics, protobuf or JSON"},
    FormatName{Format::otlp_logs, "otlp_logs", "OpenTelemetry's logs, protobuf or JSON"},
    FormatName{Format::slurm_jobcomp, "slurm_jobcomp",
               "Slurm's records of jobs that began or ended, as jobcomp/kafka writes them"},
};

// A topic and its mapping. An empty list stands for the labels that are usual: default_labels().
struct Source {
  std::string name, topic, format;  // format: one of format_names
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
