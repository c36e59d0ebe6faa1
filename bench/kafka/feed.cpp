// Sends the telemetry of healthy jobs to a topic, once a second, evenly over the second; the messages are encoded
// ahead.
//   bench_kafka_feed BROKERS TOPIC [--partitions N] [--jobs N] [--ranks N] [--form node|MxW] [--lines N] [--seconds N]
//   [--from SECOND]
//                    [--burst SECOND,SECONDS,LINES] [--linger MS] [--request N]
// A beat goes to each partition each second, as from an owner that is not there. --from: the jobs have begun, their
// steps go on there. --request: a request to the broker has at most N messages: 3 as from nodes that send by
// themselves. Where sending falls behind, seconds take longer: nothing is left out. Prints a line a second, and what
// was sent at the end.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "bench/kafka/handle.h"
#include "bench/kafka/workload.h"
#include "schemas/codec.h"

namespace {

using namespace tocsin;
using namespace std::chrono_literals;
using bench::Prepared;
using Clock = std::chrono::steady_clock;

struct Burst {
  unsigned from = 0, seconds = 0, lines = 0;  // lines: a second, over all ranks of the first job
};

class Feed {
 public:
  Feed(const char* brokers, const char* topic, int partitions, const std::string& linger, const std::string& request)
      : client_(bench::client(RD_KAFKA_PRODUCER, brokers,
                              {{"linger.ms", linger.c_str()},
                               {"compression.codec", "lz4"},
                               {"batch.size", "1000000"},
                               {"batch.num.messages", request.c_str()},
                               {"message.max.bytes", "8000000"},
                               {"queue.buffering.max.messages", "1000000"},
                               {"queue.buffering.max.kbytes", "524288"},
                               {"delivery.report.only.error", "true"}},
                              [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
                                if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
                                  bench::fail("a message was not sent", rd_kafka_err2str(message->err));
                              })),
        topic_(rd_kafka_topic_new(client_.get(), topic, nullptr)),
        partitions_(partitions) {}
  ~Feed() { rd_kafka_topic_destroy(topic_); }

  void send(const std::vector<std::byte>& bytes, const std::string& key, int partition) {
    while (rd_kafka_produce(topic_, partition, RD_KAFKA_MSG_F_COPY, const_cast<std::byte*>(bytes.data()), bytes.size(),
                            key.empty() ? nullptr : key.data(), key.size(), nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
        bench::fail("a message cannot be sent", rd_kafka_err2str(rd_kafka_last_error()));
      rd_kafka_poll(client_.get(), 10);
    }
    ++messages_;
    bytes_ += bytes.size();
  }

  void run(bench::Workload& workload, const bench::Telemetry& telemetry, unsigned from, unsigned seconds,
           const Burst& burst) {
    schemas::EntryBuilder builder;
    builder.beat();
    const auto beat = schemas::encode(builder.entry());
    if (from == 0)
      for (unsigned job = 0; job < telemetry.jobs; ++job)
        send(workload.start(job, now()), workload.job(job), workload.partition(job));
    std::vector<Prepared> bursts;
    const unsigned nodes = (telemetry.ranks + 7) / 8;
    if (burst.lines > 0)
      for (unsigned node = 0, left = burst.lines; left > 0; ++node) {
        const unsigned count = std::min(left, std::max(8u, burst.lines / nodes));
        bursts.push_back(workload.lines(0, node % nodes, count, "burst" + std::to_string(node)));
        left -= count;
      }
    const std::size_t together = workload.second(0).size() > 5000 ? 64 : 1;  // that are sent at one time
    auto due = Clock::now();
    for (unsigned second = from; second < from + seconds; ++second, due = std::max(due + 1s, Clock::now() - 500ms)) {
      for (int p = 0; p < partitions_; ++p) send(beat, {}, p);
      auto& messages = workload.second(second);
      const bool bursting = second >= burst.from && second < burst.from + burst.seconds;
      const std::size_t extra = bursting ? bursts.size() : 0, all = messages.size() + extra;
      for (std::size_t i = 0, e = 0, m = 0; i < all; ++i) {
        if (i % together == 0) {
          std::this_thread::sleep_until(due + std::chrono::nanoseconds{static_cast<std::int64_t>(
                                                  1e9 * static_cast<double>(i) / static_cast<double>(all))});
          rd_kafka_poll(client_.get(), 0);
        }
        const bool take_extra = m == messages.size() || (e < extra && e * all <= i * extra);
        Prepared& message = take_extra ? bursts[e++] : messages[m++];
        message.set(now(), second);
        send(message.bytes, workload.job(message.job), workload.partition(message.job));
        samples_ += message.samples;
        lines_ += message.lines;
      }
      const double behind = std::chrono::duration<double>(Clock::now() - due).count() - 1;
      std::printf("second %u, %.3f s behind\n", second, std::max(behind, 0.0));
      std::fflush(stdout);
    }
    if (rd_kafka_flush(client_.get(), 60'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
      bench::fail("not all of it was sent", "the broker is slow");
  }

  void report() const {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    std::printf("{\"messages\": %zu, \"bytes\": %zu, \"samples\": %zu, \"lines\": %zu, \"cpu\": %.2f}\n", messages_,
                bytes_, samples_, lines_, seconds(used.ru_utime) + seconds(used.ru_stime));
  }

 private:
  static stream::Time now() { return stream::Time{std::chrono::system_clock::now()}; }
  bench::Handle client_;
  rd_kafka_topic_t* topic_;
  int partitions_;
  std::size_t messages_ = 0, bytes_ = 0, samples_ = 0, lines_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) bench::fail("usage", "bench_kafka_feed BROKERS TOPIC [OPTION VALUE...]; see the source");
  bench::Telemetry telemetry;
  Burst burst;
  unsigned seconds = 10, from = 0;
  std::string linger = "20", request = "10000";
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    const auto number = [&] { return static_cast<unsigned>(std::stoul(value)); };
    if (name == "--partitions") telemetry.partitions = number();
    else if (name == "--jobs") telemetry.jobs = number();
    else if (name == "--ranks") telemetry.ranks = number();
    else if (name == "--lines") telemetry.lines = number();
    else if (name == "--variants") telemetry.variants = number();
    else if (name == "--seconds") seconds = number();
    else if (name == "--from") from = number();
    else if (name == "--linger") linger = value;
    else if (name == "--request") request = value;
    else if (name == "--form" && value == "node") telemetry.form = {};
    else if (name == "--form" &&
             std::sscanf(value.c_str(), "%ux%u", &telemetry.form.members, &telemetry.form.width) == 2)
      continue;
    else if (name == "--burst" &&
             std::sscanf(value.c_str(), "%u,%u,%u", &burst.from, &burst.seconds, &burst.lines) == 3)
      continue;
    else bench::fail(name.c_str(), "no such option, or not with this value");
  }
  bench::Workload workload{telemetry};
  std::printf("prepared\n");
  std::fflush(stdout);
  Feed feed{argv[1], argv[2], static_cast<int>(telemetry.partitions), linger, request};
  feed.run(workload, telemetry, from, seconds, burst);
  feed.report();
  return 0;
}
