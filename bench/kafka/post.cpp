// From the append of an entry to the request at Alertmanager. Each trial is a job of its own: a sample that makes a
// rule fire once the clock passes its lateness of a second, and the beat that carries the clock there. The time is from
// the broker's append of that beat to the first bytes of the request that names the job; an append has whole
// milliseconds, rounded down.
//   bench_kafka_post BROKERS TOPIC PARTITIONS TRIALS [ANY-ENTRY]
// Prints the port of its own Alertmanager, waits for a line on stdin, and prints one time a trial, in milliseconds.
// With ANY-ENTRY, other telemetry carries the clock as well: the time is then from when the tick was due.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/kafka/handle.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

namespace {

using namespace tocsin;
using namespace std::chrono_literals;
using Clock = std::chrono::system_clock;
using Time = Clock::time_point;

// Samples come between the beats: 1,000 ms are twelve and a half intervals.
constexpr auto interval = 80ms, lateness = 1000ms, behind_the_tick = 2ms;

// Takes what is posted, and notes when a job is named for the first time.
class Receiver {
 public:
  Receiver() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      bench::fail("no port", std::strerror(errno));
    port_ = ntohs(address.sin_port);
    std::thread{[this] {
      for (;;) serve(accept(listener_, nullptr, nullptr));
    }}.detach();
  }
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::map<std::string, Time> first_named() {
    const std::lock_guard lock{mutex_};
    return first_;
  }

 private:
  void serve(int connection) {
    std::string text;
    Time begun{};
    char buffer[65536];
    for (;;) {
      const auto got = recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      if (text.empty()) begun = Clock::now();
      text.append(buffer, static_cast<std::size_t>(got));
      const auto head = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
      if (head == text.npos || length == text.npos || text.size() < head + 4 + std::stoul(text.substr(length + 16)))
        continue;
      note(text, begun);
      const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
      if (send(connection, answer, sizeof answer - 1, 0) < 0) break;
      text.clear();
    }
    close(connection);
  }
  void note(const std::string& text, Time begun) {
    const std::lock_guard lock{mutex_};
    constexpr std::string_view label = "\"job_id\":\"";
    for (std::size_t at = 0; (at = text.find(label, at)) != text.npos;) {
      at += label.size();
      first_.try_emplace(text.substr(at, text.find('"', at) - at), begun);
    }
  }
  int listener_, port_ = 0;
  std::mutex mutex_;
  std::map<std::string, Time> first_;
};

struct Trial {
  std::string job;
  int partition = 0;
  Time sampled{}, appended{};
};

void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) bench::fail("a message was not sent", rd_kafka_err2str(message->err));
  if (message->_private == nullptr) return;
  static_cast<Trial*>(message->_private)->appended =
      Time{std::chrono::milliseconds{rd_kafka_message_timestamp(message, nullptr)}};
}

void produce(rd_kafka_t* client, rd_kafka_topic_t* topic, int partition, const std::string& key,
             const std::vector<std::byte>& bytes, Trial* trial) {
  if (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, const_cast<std::byte*>(bytes.data()), bytes.size(),
                       key.data(), key.size(), trial) != 0)
    bench::fail("a message cannot be sent", rd_kafka_err2str(rd_kafka_last_error()));
  rd_kafka_poll(client, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) bench::fail("usage", "bench_kafka_post BROKERS TOPIC PARTITIONS TRIALS [ANY-ENTRY]");
  const auto partitions = static_cast<std::uint32_t>(std::stoul(argv[3]));
  std::vector<Trial> trials(std::stoul(argv[4]));
  Receiver receiver;
  std::cout << receiver.port() << std::endl;
  std::string go;
  std::getline(std::cin, go);

  const auto client = bench::client(RD_KAFKA_PRODUCER, argv[1], {{"linger.ms", "0"}, {"acks", "all"}}, delivered);
  rd_kafka_topic_t* topic = rd_kafka_topic_new(client.get(), argv[2], nullptr);
  schemas::EntryBuilder builder;
  builder.beat();
  const auto beat = schemas::encode(builder.entry());
  const Time begun = Clock::now() + 500ms;
  const auto steps = trials.size() * 2;
  for (std::size_t sampled = 0, carried = 0; sampled + carried < steps;) {
    const Time next_sample = begun + interval * static_cast<int>(sampled);
    const Time next_beat = carried < sampled ? trials[carried].sampled + lateness + behind_the_tick : Time::max();
    if (sampled < trials.size() && next_sample < next_beat) {
      std::this_thread::sleep_until(next_sample);
      Trial& trial = trials[sampled];
      trial.job = "post" + std::to_string(sampled++);
      trial.partition = static_cast<int>(stream::murmur2(trial.job) % partitions);
      trial.sampled = std::chrono::floor<std::chrono::microseconds>(Clock::now());
      builder.clear();
      builder.about(trial.job);
      const schemas::EntryBuilder::Value values[] = {{"bench_flag", 1, {}, false}};
      builder.sample(stream::Time{trial.sampled}, schemas::EntryBuilder::job(), values);
      produce(client.get(), topic, trial.partition, trial.job, schemas::encode(builder.entry()), nullptr);
    } else {
      std::this_thread::sleep_until(next_beat);
      Trial& trial = trials[carried++];
      produce(client.get(), topic, trial.partition, {}, beat, &trial);
    }
  }
  rd_kafka_flush(client.get(), 10'000);
  std::this_thread::sleep_for(3s);
  const auto named = receiver.first_named();
  const bool any_entry = argc > 5;
  for (const Trial& trial : trials) {
    const auto found = named.find(trial.job);
    const Time from = any_entry ? trial.sampled + lateness : trial.appended;
    if (found == named.end()) std::cout << trial.job << " never\n";
    else
      std::cout << trial.job << ' ' << std::chrono::duration<double, std::milli>(found->second - from).count() << '\n';
  }
  rd_kafka_topic_destroy(topic);
  return 0;
}
