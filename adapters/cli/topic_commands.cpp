#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/cli/say.h"
#include "adapters/cli/service_commands.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/printable.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"
#include "dsl/problems.h"

namespace tocsin::adapters::cli {
namespace {

int create(const std::string& address, const kafka::TopicShape& shape) {
  const auto cluster = cluster_of(address);
  if (!cluster) return cannot(cluster.error());
  const auto made = kafka::create_topics(*cluster, shape);
  if (!made) return cannot(made.error());
  for (const std::string& name : *made) fmt::print("made {}\n", name);
  const auto wrong = kafka::check_topics(*cluster);
  if (!wrong) return cannot(wrong.error());
  for (const std::string& line : *wrong) say("tocsin: {}\n", line);
  return wrong->empty() ? 0 : 1;
}

int check(const std::string& address) {
  const auto cluster = cluster_of(address);
  if (!cluster) return cannot(cluster.error());
  const auto wrong = kafka::check_topics(*cluster);
  if (!wrong) return cannot(wrong.error());
  for (const std::string& line : *wrong) say("tocsin: {}\n", line);
  if (wrong->empty()) fmt::print("the topics are as they must be\n");
  return wrong->empty() ? 0 : 1;
}

int read(const std::string& address, const std::string& name) {
  std::vector<std::string> names;
  for (const kafka::TopicSettings& topic : kafka::topic_settings()) names.emplace_back(topic.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return cannot(
        {stream::Errc::refused, fmt::format("the service has no topic '{}'{}; it has {}", formats::printable(name),
                                            dsl::nearest(name, names), fmt::join(names, ", "))});
  const bool text =
      name == kafka::topic::alerts || name == kafka::topic::verdicts || name == kafka::topic::unattributed;
  const auto cluster = cluster_of(address);
  if (!cluster) return cannot(cluster.error());
  const auto done = kafka::read_topic(*cluster, name, [&](const kafka::TopicRecord& record) {
    if (text)
      fmt::print("{}\n", std::string_view{reinterpret_cast<const char*>(record.value.data()), record.value.size()});
    else fmt::print("{}\t{}\t{}\t{} bytes\n", record.partition, record.offset, record.key, record.value.size());
  });
  return done ? 0 : cannot(done.error());
}

CLI::Option* add_kafka_option(CLI::App& command, std::string& address) {
  return command.add_option("--kafka", address, cluster_text)
      ->required()
      ->option_text("ADDRESS (required)")
      ->check(is_kafka_address());
}

}  // namespace

void add_topic_commands(CLI::App& app, int& status) {
  auto address = std::make_shared<std::string>();
  auto shape = std::make_shared<kafka::TopicShape>();
  auto* topics = app.add_subcommand("topics", "Make the topics of the service in a cluster, or look at their settings");
  topics->require_subcommand(1);
  auto* create_command =
      topics->add_subcommand("create", "Make the topics that are not there, with the right settings");
  add_kafka_option(*create_command, *address);
  create_command
      ->add_option("--partitions", shape->partitions,
                   "Of the telemetry topic: how many shards there can be (default: 12)")
      ->option_text("N")
      ->check(CLI::Range(1, 10'000));
  create_command->add_option("--replication", shape->replication, "Copies of each (default: 3, with fewer brokers 1)")
      ->option_text("N")
      ->check(CLI::Range(1, 100));
  create_command->callback([address, shape, create_command, &status] {
    shape->exactly = create_command->count("--partitions") > 0;
    status = create(*address, *shape);
  });
  auto* check_command = topics->add_subcommand("check", "Say which settings are wrong, and how to mend them");
  add_kafka_option(*check_command, *address);
  check_command->callback([address, &status] { status = check(*address); });

  auto name = std::make_shared<std::string>();
  auto* read_command = topics->add_subcommand(
      "read",
      "Print what is committed in a topic: alerts, verdicts and unattributed as JSON lines, of others what there is");
  read_command->add_option("TOPIC", *name, "Which, without the prefix: alerts, verdicts, telemetry, state, …")
      ->required()
      ->option_text("(required)");
  add_kafka_option(*read_command, *address);
  read_command->callback([address, name, &status] { status = read(*address, *name); });
}

}  // namespace tocsin::adapters::cli
