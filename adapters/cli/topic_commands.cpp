#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/printable.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::cli {
namespace {

// Prints which settings are wrong.
int check(const kafka::Address& cluster, const char* if_none) {
  const auto wrong = kafka::check_topics(cluster);
  if (!wrong) return cannot(wrong.error());
  for (const std::string& line : *wrong) say("tocsin: {}\n", line);
  if (wrong->empty()) fmt::print("{}", if_none);
  return wrong->empty() ? 0 : 1;
}

int create(const kafka::Address& cluster, const kafka::TopicShape& shape) {
  const auto made = kafka::create_topics(cluster, shape);
  if (!made) return cannot(made.error());
  for (const std::string& name : *made) fmt::print("made {}\n", name);
  return check(cluster, "");
}

int read(const kafka::Address& cluster, const std::string& name) {
  std::vector<std::string> names;
  for (const kafka::TopicSettings& topic : kafka::topic_settings()) names.emplace_back(topic.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return cannot(
        {stream::Errc::refused, fmt::format("the service has no topic '{}'{}; it has {}", formats::printable(name),
                                            stream::nearest(name, names), fmt::join(names, ", "))});
  const bool text =
      name == kafka::topic::alerts || name == kafka::topic::verdicts || name == kafka::topic::unattributed;
  const auto done = kafka::read_topic(cluster, name, [&](const kafka::TopicRecord& record) {
    if (text)
      fmt::print("{}\n", std::string_view{reinterpret_cast<const char*>(record.value.data()), record.value.size()});
    else fmt::print("{}\t{}\t{}\t{} bytes\n", record.partition, record.offset, record.key, record.value.size());
  });
  return done ? 0 : cannot(done.error());
}

// A command that does `work` in a cluster.
CLI::App* add_command(CLI::App& topics, const char* name, const char* meaning, int& status,
                      std::function<int(const kafka::Address&)> work) {
  auto address = std::make_shared<std::string>();
  auto* command = topics.add_subcommand(name, meaning);
  add_cluster(*command, "--kafka", *address);
  command->callback([address, work = std::move(work), &status] {
    const auto cluster = cluster_of(*address);
    status = cluster ? work(*cluster) : cannot(cluster.error());
  });
  return command;
}

}  // namespace

void add_topic_commands(CLI::App& app, int& status) {
  auto* topics = app.add_subcommand("topics", "Make the topics of the service in a cluster, or look at their settings");
  topics->require_subcommand(1);
  auto shape = std::make_shared<kafka::TopicShape>();
  auto* create_command =
      add_command(*topics, "create", "Make the topics that are not there, with the right settings", status,
                  [shape](const kafka::Address& cluster) { return create(cluster, *shape); });
  auto* partitions =
      add_option(*create_command, "--partitions", shape->partitions, "N",
                 "Partitions of the telemetry topic, which limit how many shards there can be (default: 12)")
          ->check(CLI::Range(1, 10'000));
  add_option(*create_command, "--replication", shape->replication, "N",
             "Copies of each (default: 3, with fewer brokers 1)")
      ->check(CLI::Range(1, 100));
  partitions->each([shape](const std::string&) { shape->exactly = true; });
  add_command(*topics, "check", "Report which settings are wrong, and how to fix them", status,
              [](const kafka::Address& cluster) { return check(cluster, "the topics are as they must be\n"); });

  auto name = std::make_shared<std::string>();
  auto* read_command = add_command(
      *topics, "read",
      "Print the committed records of a topic: alerts, verdicts and unattributed as JSON lines, others as they are",
      status, [name](const kafka::Address& cluster) { return read(cluster, *name); });
  add_needed(*read_command, "TOPIC", *name, "", "Which, without the prefix: alerts, verdicts, telemetry, state, …");
}

}  // namespace tocsin::adapters::cli
