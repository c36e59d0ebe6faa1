// Sends a journal's records to a telemetry topic at a pace, as re-keyed records of one source whose watermark follows:
//   chaos_feed JOURNAL ADDRESS|- SPEED BEHIND
// It begins at the journal's first record, goes on SPEED times as fast as the clock, and never comes closer than BEHIND
// seconds to now. Behind the last record the watermark goes on, sixteen times as fast, until SIGTERM. Each second it
// also appends a beat to each partition, as an owner does: what the jobs come to then does not depend on who was there
// to judge them. With - it writes the messages to standard output instead, each behind its length (4 bytes), and no
// beats.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/journal/follow.h"
#include "adapters/kafka/appender.h"
#include "adapters/kafka/topic_settings.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using stream::Result;
using stream::Time;

namespace {

constexpr std::string_view source = "chaos";
constexpr double after_the_last = 16;

volatile std::sig_atomic_t ended = 0;

struct Outgoing {
  Time at{};
  int partition = 0;
  std::string subject;
  std::vector<std::byte> message;
};

Result<std::vector<Outgoing>> read(const char* directory, int partitions) {
  auto reader = journal::Reader::open(directory);
  if (!reader) return reader.error();
  journal::Follower log{std::move(*reader)};
  schemas::Encoder encoder;
  std::vector<Outgoing> all;
  for (;;) {
    const auto entry = log.next();
    if (!entry) return entry.error();
    if (*entry == nullptr) return all;
    if ((*entry)->subject.empty()) continue;
    stream::Entry rekeyed = **entry;
    rekeyed.origin_source = source;
    rekeyed.origin_offset = static_cast<std::uint64_t>(rekeyed.position) + 1;
    rekeyed.arrival = rekeyed.appended;
    rekeyed.controls = {};
    const auto partition = stream::partition_of(rekeyed.subject, partitions);
    all.push_back({rekeyed.appended, partition, std::string{rekeyed.subject}, encoder.encode(rekeyed)});
  }
}

class Feed {
 public:
  // Without an appender, to standard output.
  Feed(kafka::Appender* appender, int partitions, std::vector<Outgoing> records)
      : appender_(appender), partitions_(partitions), records_(std::move(records)) {}

  Result<void> run(double speed, stream::Duration behind) {
    if (records_.empty()) return stream::Error{stream::Errc::refused, "the journal has no record of a job"};
    double passed = 0;  // nanoseconds of the plan
    auto before = std::chrono::steady_clock::now();
    for (std::size_t next = 0; ended == 0; std::this_thread::sleep_for(20ms)) {
      const auto now = std::chrono::steady_clock::now();
      const double faster = next == records_.size() ? after_the_last : speed;
      passed += faster * static_cast<double>(std::chrono::nanoseconds{now - before}.count());
      before = now;
      const Time planned = records_.front().at + stream::Duration{static_cast<std::int64_t>(passed)};
      const Time reached = std::min(planned, Time{std::chrono::system_clock::now()} - behind);
      // A watermark for each second of the records, in its place among them.
      for (; next < records_.size() && records_[next].at <= reached; ++next) {
        if (auto went = watermark_up_to(records_[next].at - stream::Duration{1}); !went) return went;
        const Outgoing& record = records_[next];
        if (auto sent = append(record.partition, record.subject, record.message); !sent) return sent;
      }
      if (auto went = watermark_up_to(reached); !went) return went;
      if (next == records_.size() && !all_sent_) {
        all_sent_ = true;
        if (appender_ != nullptr) std::printf("all sent\n");
      }
      std::fflush(stdout);
      if (auto went = appender_ != nullptr ? beat() : Result<void>{}; !went) return went;
    }
    if (appender_ == nullptr) return {};
    const auto flushed = appender_->flush(30s);
    if (!flushed) return flushed.error();
    if (!*flushed) return stream::Error{stream::Errc::io, "not all of it came to the broker"};
    return {};
  }

 private:
  Result<void> append(int partition, std::string_view key, std::span<const std::byte> message) {
    if (appender_ != nullptr) return appender_->append(kafka::topic::telemetry, partition, key, message);
    const auto length = static_cast<std::uint32_t>(message.size());
    std::fwrite(&length, sizeof length, 1, stdout);
    std::fwrite(message.data(), 1, message.size(), stdout);
    return {};
  }
  Result<void> watermark_up_to(Time time) {
    if (mark_ == Time{}) mark_ = std::chrono::floor<std::chrono::seconds>(time);
    for (; mark_ <= time; mark_ += 1s) {
      builder_.clear();
      builder_.watermark(source, mark_);
      if (auto sent = append_to_all(); !sent) return sent;
    }
    return {};
  }
  Result<void> beat() {
    if (std::chrono::steady_clock::now() < next_beat_) return {};
    next_beat_ = std::chrono::steady_clock::now() + 1s;
    builder_.clear();
    builder_.beat();
    return append_to_all();
  }
  Result<void> append_to_all() {
    const auto message = encoder_.encode(builder_.entry());
    for (int partition = 0; partition < partitions_; ++partition)
      if (auto sent = append(partition, {}, message); !sent) return sent;
    return {};
  }

  kafka::Appender* appender_;
  int partitions_;
  std::vector<Outgoing> records_;
  schemas::Encoder encoder_;
  schemas::EntryBuilder builder_;
  Time mark_{};
  std::chrono::steady_clock::time_point next_beat_{};
  bool all_sent_ = false;
};

Result<void> feed(const char* journal, const char* to, double speed, double behind) {
  const stream::Duration distance{static_cast<std::int64_t>(behind * 1e9)};
  if (std::string_view{to} == "-") {
    auto records = read(journal, 1);
    if (!records) return records.error();
    return Feed{nullptr, 1, std::move(*records)}.run(speed, distance);
  }
  const auto address = kafka::parse_address(to);
  if (!address) return address.error();
  auto appender = kafka::Appender::open(*address);
  if (!appender) return appender.error();
  const auto partitions = (*appender)->partitions(kafka::topic::telemetry, 15s);
  if (!partitions) return partitions.error();
  auto records = read(journal, *partitions);
  if (!records) return records.error();
  return Feed{appender->get(), *partitions, std::move(*records)}.run(speed, distance);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  std::signal(SIGTERM, [](int) { ended = 1; });
  const auto done = feed(arguments[1], arguments[2], std::atof(arguments[3]), std::atof(arguments[4]));
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
