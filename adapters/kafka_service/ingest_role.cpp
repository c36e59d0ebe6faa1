#include "adapters/kafka_service/ingest_role.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "adapters/ingest/rekey.h"
#include "adapters/ingest/source_clock.h"
#include "adapters/ingest/translator.h"
#include "adapters/kafka/appender.h"
#include "adapters/kafka/topic_consumer.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka_service/placement_topic.h"
#include "adapters/kafka_service/unattributed.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::kafka_service {

using ingest::wall_now;
using kafka::TopicPartition;
using stream::Errc;
using stream::Error;
using stream::Result;
using stream::Time;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto patience = 15s;
constexpr std::size_t most_waiting = 20'000;      // records that are not on the brokers yet
constexpr std::size_t largest_entry = 2'000'000;  // bytes: what each telemetry topic that `topics check` accepts takes

// All of the role that its thread works on.
class Worker final : public kafka::TopicConsumer::Listener, public ingest::Output {
 public:
  Worker(const IngestOptions& options, const std::atomic<bool>& stopping, kafka::Appender& appender, int telemetry)
      : options_(options),
        stopping_(stopping),
        appender_(appender),
        telemetry_(telemetry),
        unattributed_(appender, options.log) {
    rekeyer_.copy_by(placement_);
  }

  Result<void> make_sources() {
    for (const ingest::Source& source : options_.sources) {
      auto translator = ingest::Translator::make(source, &options_.nodes);
      if (!translator) return Error{Errc::refused, "source " + source.name + ": " + translator.error().message};
      sources_.emplace(source.topic, Source{source.name, std::move(*translator), {}});
    }
    return {};
  }

  Result<void> work(kafka::TopicConsumer& consumer) {
    consumer_ = &consumer;
    auto places = PlacementTopic::open(options_.kafka, appender_);
    if (!places) return places.error();
    places_ = std::move(*places);
    while (!stopping_) {
      if (auto read = places_->read(placement_, wall_now()); !read) return read;
      follow_pack();
      const auto message = consumer.next(50ms);
      if (!message) return message.error();
      if (*message != nullptr)
        if (auto taken = take(**message); !taken) return taken;
      if (Clock::now() < next_) continue;
      next_ = Clock::now() + 1s;
      if (auto forgotten = places_->forget(placement_, wall_now()); !forgotten) return forgotten;
      if (auto marked = announce(); !marked) return marked;
      if (auto kept = keep(1s); !kept) return kept;
      show();
    }
    if (auto kept = keep(patience); !kept) return kept;
    const bool moved =
        std::any_of(partitions_.begin(), partitions_.end(), [](const auto& one) { return one.second.moved; });
    if (const std::size_t waiting = appender_.waiting(); waiting > 0 || moved)
      return Error{Errc::io,
                   "not drained: the brokers did not take " + std::to_string(waiting) +
                       " records, or the positions behind them; the next instance reads on from the last positions"};
    return {};
  }

  void assigned(const std::vector<TopicPartition>& partitions) override {
    for (const TopicPartition& one : partitions) {
      partitions_[{one.topic, one.partition}] = Partition{one, {}, one.topic + '/' + std::to_string(one.partition)};
      options_.log("reading " + one.topic + "/" + std::to_string(one.partition) +
                   (one.next >= 0 ? " from offset " + std::to_string(one.next) : std::string{}));
    }
  }
  void revoked(const std::vector<TopicPartition>& partitions, bool lost) override {
    if (!lost)
      if (auto kept = keep(patience); !kept) options_.log(kept.error().message);  // the next owner reads it again
    for (const TopicPartition& one : partitions) {
      partitions_.erase({one.topic, one.partition});
      options_.log("reading " + one.topic + "/" + std::to_string(one.partition) + " no more");
    }
  }

  void record(const ingest::Record&) override {}  // they go to the rekeyer
  void left_out(const ingest::LeftOut& part) override { unattributed_.add(where_, part); }
  void unwanted(std::uint64_t values) override { now_->figures.unwanted += values; }

 private:
  struct Source {
    std::string name;
    ingest::Translator translator;
    prometheus::SourceFigures figures;
  };
  struct Partition {
    TopicPartition position;
    ingest::SourceClock clock;
    std::string name;     // topic/partition, as records and watermarks have it
    bool moved = false;   // since the position was committed
    bool recent = false;  // a message came since the last watermark
    Clock::time_point
        unanswered{};  // when the brokers were last asked for its end in vain, and have not answered since
  };

  Result<void> take(const kafka::ForeignMessage& message) {
    const auto found = partitions_.find({std::string{message.topic}, message.partition});
    const auto source = sources_.find(message.topic);
    if (found == partitions_.end() || source == sources_.end()) return {};
    Partition& partition = found->second;
    now_ = &source->second;
    where_ = {now_->name, message.topic, message.value, message.partition, message.offset};
    const Time arrival = partition.clock.arrival(message.stamped, wall_now());
    rekeyer_.begin(partition.name, static_cast<std::uint64_t>(message.offset), arrival);
    if (!message.value.empty()) now_->translator.read(message.value, arrival, rekeyer_);
    rekeyer_.finish();
    ++now_->figures.messages, now_->figures.bytes += message.value.size();
    for (std::size_t i = 0; i < rekeyer_.entries(); ++i) {
      const auto& entry = rekeyer_.entry(i);
      const auto bytes = encoder_.encode(entry);
      if (bytes.size() > largest_entry) {
        left_out({ingest::Reason::too_large, 1,
                  "the records of job " + std::string{entry.subject} + " in this message take more than 2 MB"});
        continue;
      }
      if (auto room = wait_for_room(); !room) return room;
      const auto to = stream::partition_of(entry.subject, telemetry_);
      if (auto appended = appender_.append(kafka::topic::telemetry, to, entry.subject, bytes); !appended)
        return appended;
      ++now_->figures.entries;
    }
    partition.position.next = message.offset + 1;
    partition.moved = partition.recent = true;
    return places_->write(placement_, rekeyer_.placed(), rekeyer_.left());
  }

  // What the cluster needs, when other rules come into force.
  void follow_pack() {
    if (!options_.pack) return;
    stream::PackPtr pack = options_.pack();
    if (pack == pack_) return;
    pack_ = std::move(pack);
    rekeyer_.cluster_needs(pack_ ? ingest::cluster_needs(*pack_) : ingest::ClusterNeeds{});
  }

  // Reads no further while the brokers do not take what was made.
  Result<void> wait_for_room() {
    while (appender_.waiting() > most_waiting && !stopping_)
      if (const auto flushed = appender_.flush(200ms); !flushed) return flushed.error();
    return {};
  }

  // Of the partitions without a message since the last watermark, whether they were read to their ends. One that no
  // broker answers for takes the time of a question: those that were answered for come first, and of the others one a
  // second, each in its turn.
  void look_for_ends() {
    std::vector<Partition*> quiet;
    for (auto& [key, partition] : partitions_)
      if (!std::exchange(partition.recent, false)) quiet.push_back(&partition);
    std::stable_sort(quiet.begin(), quiet.end(),
                     [](const auto* a, const auto* b) { return a->unanswered < b->unanswered; });
    for (Partition* partition : quiet) {
      const Time asked = wall_now();
      const auto begun = Clock::now();
      if (consumer_->at_end(partition->position, 500ms)) partition->clock.read_to_end(asked);
      const bool answered = Clock::now() < begun + 400ms;
      partition->unanswered = answered ? Clock::time_point{} : Clock::now();
      if (!answered) return;
    }
  }

  // To each partition of the log, up to when each partition of a source has been read: behind the records that this
  // covers.
  Result<void> announce() {
    if (appender_.waiting() > most_waiting / 2) return {};  // late, a watermark says nothing
    look_for_ends();
    builder_.clear();
    bool any = false;
    for (auto& [key, partition] : partitions_) {
      if (const auto mark = partition.clock.mark()) {
        builder_.watermark(partition.name, *mark);
        any = true;
      }
    }
    if (!any) return {};
    const auto message = encoder_.encode(builder_.entry());
    for (int to = 0; to < telemetry_; ++to)
      if (auto appended = appender_.append(kafka::topic::telemetry, to, {}, message); !appended) return appended;
    return {};
  }

  // Commits the positions, once all before them is on the brokers.
  Result<void> keep(std::chrono::milliseconds wait) {
    std::vector<TopicPartition> moved;
    for (const auto& [key, partition] : partitions_)
      if (partition.moved) moved.push_back(partition.position);
    const auto flushed = appender_.flush(wait);
    if (!flushed) return flushed.error();
    if (!*flushed || moved.empty()) return {};
    if (const auto committed = consumer_->commit(moved); !committed) {
      options_.log(committed.error().message);  // later; at worst they are read again
      return {};
    }
    for (auto& [key, partition] : partitions_) partition.moved = false;
    return {};
  }

  void show() {
    std::map<std::string, Time> oldest;  // mark of each source that is read here
    for (auto& [key, partition] : partitions_) {
      const auto mark = partition.clock.mark();
      if (!mark) continue;
      const auto [found, fresh] = oldest.emplace(key.first, *mark);
      if (!fresh) found->second = std::min(found->second, *mark);
    }
    std::vector<prometheus::SourceFigures> all;
    for (auto& [topic, source] : sources_) {
      source.figures.source = source.name;
      source.figures.left_out = unattributed_.counts(source.name);
      const auto mark = oldest.find(topic);
      source.figures.behind_seconds = mark == oldest.end()
                                          ? std::nullopt
                                          : std::optional{std::max(0.0, stream::seconds(wall_now() - mark->second))};
      all.push_back(source.figures);
    }
    if (options_.show) options_.show(std::move(all));
  }

  const IngestOptions& options_;
  const std::atomic<bool>& stopping_;
  kafka::Appender& appender_;
  const int telemetry_;  // partitions of the log
  kafka::TopicConsumer* consumer_ = nullptr;
  Unattributed unattributed_;
  std::map<std::string, Source, std::less<>> sources_;           // by topic
  std::map<std::pair<std::string, int>, Partition> partitions_;  // that are read here
  ingest::Placement placement_;
  std::unique_ptr<PlacementTopic> places_;
  stream::PackPtr pack_;
  ingest::Rekeyer rekeyer_{*this};
  schemas::Encoder encoder_;
  schemas::EntryBuilder builder_;
  Clock::time_point next_{};
  Source* now_ = nullptr;  // of the message that is read
  Unattributed::Where where_;
};

Result<void> ingest_until(const IngestOptions& options, const std::atomic<bool>& stopping) {
  auto appender = kafka::Appender::open(options.kafka);
  if (!appender) return appender.error();
  const auto telemetry = (*appender)->partitions(kafka::topic::telemetry, patience);
  if (!telemetry) return telemetry.error();
  Worker worker{options, stopping, **appender, *telemetry};
  if (auto made = worker.make_sources(); !made) return made;
  std::vector<std::string> topics;
  for (const ingest::Source& source : options.sources) topics.push_back(source.topic);
  auto consumer = kafka::TopicConsumer::join(options.kafka, options.group, topics, worker);
  if (!consumer) return consumer.error();
  options.log("in group " + options.group.group + " for " + std::to_string(topics.size()) + " sources");
  auto worked = worker.work(**consumer);
  (*consumer)->leave();
  return worked;
}

}  // namespace

IngestRole::IngestRole(IngestOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}
IngestRole::~IngestRole() { stop(); }

void IngestRole::run() {
  Result<void> worked;
  try {
    worked = ingest_until(options_, stopping_);
  } catch (const std::exception& error) { worked = Error{Errc::io, error.what()}; }
  if (worked) return;
  const std::lock_guard lock{mutex_};
  failure_ = worked.error();
}

void IngestRole::stop() {
  begin_to_stop();
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> IngestRole::failure() const {
  const std::lock_guard lock{mutex_};
  return failure_;
}

}  // namespace tocsin::adapters::kafka_service
