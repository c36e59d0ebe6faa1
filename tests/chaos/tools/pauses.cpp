// Loaded into `tocsin run` by LD_PRELOAD; writes down for how long a shard does not ask for the records of its
// partition, because it judges, goes over to other rules or hands over.
//   CHAOS_PAUSES=FILE   a line each: seconds since 1970, partition, ms, ms of CPU, ms within transactions, records that
//   were read before
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace {

using Clock = std::chrono::steady_clock;
constexpr double least = 2;  // ms: what is shorter is not written down

double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// Of a queue of the telemetry topic, which one thread reads.
struct Reading {
  int partition = 0;
  bool begun = false;
  Clock::time_point since{};
  double cpu = 0;
  long records = 0;
};

struct Pauses {
  std::mutex mutex;
  std::map<const rd_kafka_queue_t*, Reading> reading;
  std::map<pid_t, double> transactions;  // ms of each thread since it read last
  std::FILE* file = nullptr;

  Pauses() {
    if (const char* path = std::getenv("CHAOS_PAUSES"); path != nullptr) file = std::fopen(path, "ae");
  }
};

Pauses& pauses() {
  static auto* const all = new Pauses;  // threads may use it until the process has gone
  return *all;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void ends_pause(const rd_kafka_queue_t* queue) {
  Pauses& all = pauses();
  const std::lock_guard lock{all.mutex};
  const auto found = all.reading.find(queue);
  if (found == all.reading.end() || !found->second.begun || all.file == nullptr) return;
  const double in_transactions = std::exchange(all.transactions[::gettid()], 0);
  const double passed = milliseconds(Clock::now() - found->second.since);
  if (passed < least) return;
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::fprintf(all.file, "%.3f %d %.3f %.3f %.3f %ld\n", now, found->second.partition, passed,
               cpu_milliseconds() - found->second.cpu, in_transactions, found->second.records);
  std::fflush(all.file);
}

void begins_pause(const rd_kafka_queue_t* queue, long records) {
  Pauses& all = pauses();
  const std::lock_guard lock{all.mutex};
  const auto found = all.reading.find(queue);
  if (found == all.reading.end()) return;
  found->second = {found->second.partition, true, Clock::now(), cpu_milliseconds(), records};
}

}  // namespace

extern "C" {

int rd_kafka_consume_start_queue(rd_kafka_topic_t* topic, int32_t partition, int64_t offset, rd_kafka_queue_t* queue) {
  static const auto real = next<decltype(&rd_kafka_consume_start_queue)>("rd_kafka_consume_start_queue");
  if (std::string_view{rd_kafka_topic_name(topic)}.ends_with(".telemetry")) {
    Pauses& all = pauses();
    const std::lock_guard lock{all.mutex};
    all.reading[queue] = {partition, false, {}, 0, 0};
  }
  return real(topic, partition, offset, queue);
}

ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t* queue, int timeout, rd_kafka_message_t** messages, size_t size) {
  static const auto real = next<decltype(&rd_kafka_consume_batch_queue)>("rd_kafka_consume_batch_queue");
  ends_pause(queue);
  const ssize_t count = real(queue, timeout, messages, size);
  begins_pause(queue, static_cast<long>(count));
  return count;
}

rd_kafka_error_t* rd_kafka_commit_transaction(rd_kafka_t* client, int timeout) {
  static const auto real = next<decltype(&rd_kafka_commit_transaction)>("rd_kafka_commit_transaction");
  const auto begun = Clock::now();
  rd_kafka_error_t* const error = real(client, timeout);
  Pauses& all = pauses();
  const std::lock_guard lock{all.mutex};
  all.transactions[::gettid()] += milliseconds(Clock::now() - begun);
  return error;
}
}
