// What a bare librdkafka consumer needs for a topic: reads all of it in batches, several times, and looks at nothing
// but lengths.
//   bench_kafka_bare BROKERS TOPIC PARTITIONS SECONDS
// One pass to warm the caches, then passes for so many seconds of CPU time, at least three. Prints the median of the
// passes as JSON.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "bench/kafka/handle.h"

namespace {

using namespace tocsin;
using Clock = std::chrono::steady_clock;

double cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Pass {
  double cpu = 0, wall = 0;
  std::size_t messages = 0, bytes = 0;
};

Pass read_all(rd_kafka_t* client, rd_kafka_topic_t* topic, int partitions) {
  Pass pass;
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  const auto begun = Clock::now();
  const double before = cpu();
  for (int p = 0; p < partitions; ++p)
    if (rd_kafka_consume_start_queue(topic, p, RD_KAFKA_OFFSET_BEGINNING, queue) != 0)
      bench::fail("cannot read", rd_kafka_err2str(rd_kafka_last_error()));
  std::vector<rd_kafka_message_t*> messages(4096);
  for (int ends = 0; ends < partitions;) {
    const auto got = rd_kafka_consume_batch_queue(queue, 10, messages.data(), messages.size());
    for (int i = 0; i < got; ++i) {
      const rd_kafka_message_t* message = messages[static_cast<std::size_t>(i)];
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ends;
      else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) ++pass.messages, pass.bytes += message->len;
      rd_kafka_message_destroy(messages[static_cast<std::size_t>(i)]);
    }
  }
  pass.cpu = cpu() - before;
  pass.wall = std::chrono::duration<double>(Clock::now() - begun).count();
  for (int p = 0; p < partitions; ++p) rd_kafka_consume_stop(topic, p);
  rd_kafka_queue_destroy(queue);
  return pass;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) bench::fail("usage", "bench_kafka_bare BROKERS TOPIC PARTITIONS SECONDS");
  const auto client = bench::client(RD_KAFKA_CONSUMER, argv[1],
                                    {{"group.id", "bare"},
                                     {"enable.auto.commit", "false"},
                                     {"enable.partition.eof", "true"},
                                     {"queued.min.messages", "4000000"},
                                     {"queued.max.messages.kbytes", "1048576"},
                                     {"fetch.wait.max.ms", "10"}});
  rd_kafka_topic_t* topic = rd_kafka_topic_new(client.get(), argv[2], nullptr);
  const int partitions = std::stoi(argv[3]);
  const double at_least = std::stod(argv[4]);
  read_all(client.get(), topic, partitions);
  std::vector<Pass> passes;
  for (double spent = 0; spent < at_least || passes.size() < 3;) {
    passes.push_back(read_all(client.get(), topic, partitions));
    spent += passes.back().cpu;
  }
  const auto median = [&](double Pass::*what) {
    std::vector<double> all;
    for (const Pass& pass : passes) all.push_back(pass.*what);
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
  };
  std::printf("{\"messages\": %zu, \"bytes\": %zu, \"passes\": %zu, \"cpu\": %.6f, \"wall\": %.6f}\n",
              passes.back().messages, passes.back().bytes, passes.size(), median(&Pass::cpu), median(&Pass::wall));
  rd_kafka_topic_destroy(topic);
  return 0;
}
