// Prints the digest of each job as the stored state of a service has it: chaos_digests ADDRESS|DIRECTORY. The service
// is stopped: the newest state is whole.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "adapters/disk_log/disk_log.h"
#include "adapters/journal/state.h"
#include "adapters/kafka/kafka_state.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/packs/pack_store.h"
#include "stream/job/shard.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using stream::Result;

namespace {

class Nowhere final : public stream::AlertSink {
 public:
  void transition(const stream::AlertTransition&) override {}
  void verdict(const stream::Verdict&) override {}
};

Result<void> print_state(stream::SnapshotStore& state) {
  auto stored = state.newest();
  if (!stored) return stored.error();
  if (!*stored || (*stored)->packs.empty()) return {};
  packs::PackStore packs;
  for (const auto& pack : (*stored)->packs) packs.prepare(pack.hash, pack.text);
  auto first = packs.pack((*stored)->packs.front().hash);
  if (!first) return first.error();
  Nowhere sink;
  stream::Shard shard{std::move(*first), &packs, sink};
  if (const auto from = shard.load((*stored)->sections, (*stored)->position); !from) return from.error();
  for (const auto& [job, digest] : shard.digests())
    std::printf("%s %016llx\n", job.c_str(), static_cast<unsigned long long>(digest));
  return {};
}

Result<void> print(const char* at) {
  const auto address = kafka::parse_address(at);
  if (!address) return address.error();
  auto topic = kafka::TopicReader::open(*address, kafka::topic::state, kafka::TopicReader::Isolation::committed);
  if (!topic) return topic.error();
  const auto partitions = (*topic)->partitions(15s);
  if (!partitions) return partitions.error();
  for (int partition = 0; partition < *partitions; ++partition) {
    kafka::KafkaState state{**topic, partition, [] { return std::optional<stream::Position>{}; }};
    if (auto printed = print_state(state); !printed) return printed;
  }
  return {};
}

Result<void> print_directory(const std::filesystem::path& directory) {
  const auto partitions = disk_log::partitions_in(directory);
  if (!partitions) return partitions.error();
  for (int partition = 0; partition < *partitions; ++partition) {
    journal::StateStore state{disk_log::partition_directory(directory, partition)};
    if (auto printed = print_state(state); !printed) return printed;
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto done = std::filesystem::is_directory(arguments[1]) ? print_directory(arguments[1]) : print(arguments[1]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
