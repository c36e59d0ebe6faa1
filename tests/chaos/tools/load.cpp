// Sends samples of many ranks to a telemetry topic, as their collectors would; all messages are made before the first
// is sent:
//   chaos_load ADDRESS JOBS RANKS SECONDS
// Each rank has the signals of bench/load.h once a second, a message has the eight ranks of a node. Rank 3 of each job
// is slow from second 10 on; of each 40 seconds the loss is high for 10.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "adapters/kafka/appender.h"
#include "adapters/kafka/topic_settings.h"
#include "bench/load.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using schemas::EntryBuilder;
using stream::Result;
using stream::Time;

namespace {

constexpr unsigned ranks_a_node = 8, slow_rank = 3, slow_from = 10;

struct Message {
  Time at{};
  int partition = 0;
  std::string subject;
  std::vector<std::byte> bytes;
};

class Prepared {
 public:
  Prepared(unsigned jobs, unsigned ranks, unsigned seconds, int partitions, Time begin)
      : ranks_(ranks), partitions_(partitions) {
    for (unsigned job = 0; job < jobs; ++job) start("load" + std::to_string(job), begin);
    for (unsigned second = 1; second <= seconds; ++second)
      for (unsigned job = 0; job < jobs; ++job)
        for (unsigned first = 0; first < ranks; first += ranks_a_node) {
          // All nodes together are spread over the second.
          const unsigned number = job * (ranks / ranks_a_node) + first / ranks_a_node;
          const auto into = std::chrono::nanoseconds{1s} * number / (std::uint64_t{jobs} * ranks / ranks_a_node);
          node("load" + std::to_string(job), first, second, begin + std::chrono::seconds{second} + into);
        }
  }
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  void start(const std::string& job, Time begin) {
    builder_.about(job);
    const EntryBuilder::Field size[] = {{"world_size", static_cast<double>(ranks_), {}, false}};
    builder_.event(begin, EntryBuilder::job(), "start", size, "scheduler");
    for (unsigned rank = 0; rank < ranks_; ++rank) {
      const std::string node = "n" + std::to_string(rank / ranks_a_node), gpu = std::to_string(rank % ranks_a_node);
      const EntryBuilder::Field where[] = {{"node", 0, node, true}, {"gpu", 0, gpu, true}};
      builder_.event(begin, EntryBuilder::rank(rank), "member", where, "scheduler");
    }
    keep(job, begin);
  }
  void node(const std::string& job, unsigned first, unsigned second, Time at) {
    const std::string name = "n" + std::to_string(first / ranks_a_node);
    builder_.about(job, {}, name);
    for (unsigned rank = first; rank < std::min(first + ranks_a_node, ranks_); ++rank) {
      const double wobble = static_cast<double>((rank * 2654435761u + second * 40503u) % 1000) / 1000.0;
      values_.clear();
      for (const std::string& signal : bench::gpu_signals)
        values_.push_back({signal, gpu_value(signal, wobble), {}, false});
      builder_.sample(at, {stream::Level::gpu, 0, name, std::to_string(rank % ranks_a_node)}, values_, "sampler");
      samples_ += values_.size();
    }
    for (unsigned rank = first; rank < std::min(first + ranks_a_node, ranks_); ++rank) {
      const double wobble = static_cast<double>((rank * 2246822519u + second * 30011u) % 1000) / 1000.0;
      values_.clear();
      values_.push_back({"step", static_cast<double>(second), {}, false});
      for (const std::string& signal : bench::rank_signals) {
        const double slower = signal == "compute_time" && rank == slow_rank && second > slow_from ? 2.4 : 1;
        values_.push_back({signal, slower * (0.5 + 0.02 * wobble), {}, false});
      }
      builder_.sample(at, EntryBuilder::rank(rank), values_, "profiler");
      samples_ += values_.size();
    }
    if (first == 0) {
      values_.clear();
      values_.push_back({"loss", (second % 40 < 10 ? 9 : 3) * (1 + 0.01 * static_cast<double>(second % 3)), {}, false});
      builder_.sample(at, EntryBuilder::rank(0), values_, "profiler");
      ++samples_;
    }
    keep(job, at);
  }
  static double gpu_value(const std::string& signal, double wobble) {
    if (signal == "sm_clock") return 1700 + 10 * wobble;
    if (signal == "gpu_temperature") return 60 + wobble;
    if (signal.find("throttle") != std::string::npos || signal == "row_remap_failure") return 0;
    return 0.5 + 0.02 * wobble;
  }
  void keep(const std::string& job, Time at) {
    builder_.produced_by("load/" + job, 1, ++sequence_);
    const auto partition = stream::partition_of(job, partitions_);
    messages_.push_back({at, partition, job, encoder_.encode(builder_.entry())});
    builder_.clear();
  }

  unsigned ranks_;
  int partitions_;
  EntryBuilder builder_;
  schemas::Encoder encoder_;
  std::vector<EntryBuilder::Value> values_;
  std::vector<Message> messages_;
  std::uint64_t samples_ = 0, sequence_ = 0;
};

Result<void> load(const char* to, unsigned jobs, unsigned ranks, unsigned seconds) {
  const auto address = kafka::parse_address(to);
  if (!address) return address.error();
  auto appender = kafka::Appender::open(*address);
  if (!appender) return appender.error();
  const auto partitions = (*appender)->partitions(kafka::topic::telemetry, 15s);
  if (!partitions) return partitions.error();
  // As many messages as can be made in a quarter of this time.
  const Time begin = std::chrono::system_clock::now() + 10s + seconds * 100ms;
  const Prepared prepared{jobs, ranks, seconds, *partitions, begin};
  std::printf("prepared %zu messages\n", prepared.messages().size());
  std::fflush(stdout);
  if (std::chrono::system_clock::now() > begin)
    return stream::Error{stream::Errc::refused, "the messages were not made in time: ask for fewer"};
  std::size_t bytes = 0;
  for (const Message& message : prepared.messages()) {
    std::this_thread::sleep_until(std::chrono::time_point_cast<std::chrono::system_clock::duration>(message.at));
    bytes += message.bytes.size();
    if (auto sent = (*appender)->append(kafka::topic::telemetry, message.partition, message.subject, message.bytes);
        !sent)
      return sent;
  }
  const auto flushed = (*appender)->flush(60s);
  if (!flushed) return flushed.error();
  if (!*flushed) return stream::Error{stream::Errc::io, "not all of it came to the broker"};
  std::printf("sent %llu samples in %zu messages of %zu bytes\n", static_cast<unsigned long long>(prepared.samples()),
              prepared.messages().size(), bytes / prepared.messages().size());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const auto number = [&](int at) { return static_cast<unsigned>(std::atoi(arguments[at])); };
  const auto done = load(arguments[1], number(2), number(3), number(4));
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
