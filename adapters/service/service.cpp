#include "adapters/service/service.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/kafka/appender.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"
#include "adapters/kafka/transactor.h"
#include "adapters/packs/pack_store.h"
#include "adapters/service/reloader.h"
#include "adapters/service/shard_worker.h"
#include "schemas/codec.h"

namespace tocsin::adapters::service {

using kafka::TopicReader;
using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto patience = 15s;

// The partitions that this instance has, each with its worker.
// Owned by the main thread's frame; touched by the main thread alone.
class Partitions final : public kafka::Group::Listener {
 public:
  explicit Partitions(const Shared& shared) : shared_(&shared) {}
  // Workers begin once membership is there to be proven: an assignment comes with a poll of the group.
  void belongs_to(const kafka::Group& group) { group_ = &group; }

  void assigned(const std::vector<int>& partitions) override {
    for (const int partition : partitions)
      workers_.emplace(partition, std::make_unique<ShardWorker>(*shared_, *group_, partition));
  }
  void revoked(const std::vector<int>& partitions, bool lost) override {
    for (const int partition : partitions) {
      const auto worker = workers_.find(partition);
      if (worker == workers_.end()) continue;
      if (lost) worker->second->give_up();
      else worker->second->drain();
      if (lost && leaving_) all_handed_over_ = false;
      if (const auto failure = worker->second->failure()) {
        shared_->log.error(failure->message);  // what was not handed over is judged again by the next owner
        all_handed_over_ = false;
      }
      if (!leaving_ && shared_->outlet != nullptr) shared_->outlet->withdraw(partition);
      shared_->log("partition " + std::to_string(partition) + (lost ? ": lost" : ": given back"));
      workers_.erase(worker);
    }
  }

  [[nodiscard]] std::vector<int> numbers() const {
    std::vector<int> all;
    for (const auto& [partition, worker] : workers_) all.push_back(partition);
    return all;
  }
  [[nodiscard]] std::optional<Error> failure() const {
    for (const auto& [partition, worker] : workers_)
      if (auto failure = worker->failure()) return failure;
    return {};
  }
  // `all_lost`: what it had, and its brokers have answered nothing since.
  void begin_to_leave(bool all_lost) {
    leaving_ = true;
    all_handed_over_ = !all_lost;  // what failed before is another's by now
  }
  [[nodiscard]] bool all_handed_over() const noexcept { return all_handed_over_; }

 private:
  const Shared* shared_;
  const kafka::Group* group_ = nullptr;
  std::map<int, std::unique_ptr<ShardWorker>> workers_;
  bool all_handed_over_ = true, leaving_ = false;
};

// One beat a second into each partition that this instance has, caught up or not. While the brokers do not answer none
// are added to those that wait: what they would say late is nothing.
class Beats {
 public:
  explicit Beats(kafka::Appender& appender) : appender_(appender) {
    schemas::EntryBuilder entry;
    entry.beat();
    message_ = schemas::encode(entry.entry());
  }
  Result<void> beat(const std::vector<int>& partitions, Clock::time_point now) {
    if (now < next_ || partitions.empty()) return {};
    next_ = now + 1s;
    if (appender_.waiting() > 2 * partitions.size()) return {};
    for (const int partition : partitions)
      if (auto appended = appender_.append(kafka::topic::telemetry, partition, {}, message_); !appended)
        return appended;
    return {};
  }

 private:
  kafka::Appender& appender_;
  std::vector<std::byte> message_;
  Clock::time_point next_{};
};

Ended ended_by(const ServiceOptions& options, const Error& error) {
  options.log.error(error.message);
  return error.code == Errc::io ? Ended::failed : Ended::refused;
}

// Why a partition failed, if it still does. Another instance of the same name may cut off a commit before the group
// says so: it does with the next heartbeat. A fenced instance loses its partitions, and what failed with them.
std::optional<Error> cause_of_failure(const Partitions& partitions, kafka::Group& group,
                                      const std::function<bool()>& stop) {
  for (const auto until = Clock::now() + kafka::GroupOptions::name_known;
       Clock::now() < until || (group.contested() && !stop());)
    if (const auto went = group.poll(100ms); !went) return went.error();
  return partitions.failure();
}

}  // namespace

Result<void> check_cluster(const kafka::Address& address) {
  const auto wrong = kafka::check_topics(address);
  if (!wrong) return wrong.error();
  if (wrong->empty()) return {};
  const std::string more =
      wrong->size() == 1 ? "" : " (and " + std::to_string(wrong->size() - 1) + " more: see `tocsin topics check`)";
  return Error{Errc::refused, wrong->front() + more};
}

Ended run_service(const ServiceOptions& options) {
  const kafka::Address& address = options.kafka;
  auto appender = kafka::Appender::open(address);
  if (!appender) return ended_by(options, appender.error());
  auto telemetry =
      TopicReader::open(address, kafka::topic::telemetry, TopicReader::Isolation::uncommitted, options.queue_bytes);
  if (!telemetry) return ended_by(options, telemetry.error());
  auto state = TopicReader::open(address, kafka::topic::state, TopicReader::Isolation::committed);
  if (!state) return ended_by(options, state.error());
  const auto alerts = (*appender)->partitions(kafka::topic::alerts, patience);
  if (!alerts) return ended_by(options, alerts.error());
  const auto verdicts = (*appender)->partitions(kafka::topic::verdicts, patience);
  if (!verdicts) return ended_by(options, verdicts.error());
  auto transactor = kafka::Transactor::open(address, options.group.group + "-" + options.group.instance);
  if (!transactor) return ended_by(options, transactor.error());
  packs::PackStore packs{[&options](std::string_view hash, const Error& why) {
    options.log.error("the rules that a log names (pack " + std::string{hash.substr(0, 8)} +
                      ") do not load, those before them judge on: " + why.message);
  }};
  auto reloader = Reloader::start(options, {**transactor, **appender, packs});
  if (!reloader) return ended_by(options, reloader.error());
  const Shared shared{**telemetry,
                      **state,
                      **transactor,
                      **appender,
                      packs,
                      **reloader,
                      options.shard,
                      {*alerts, *verdicts},
                      options.group.owned_for(),
                      options.outlet,
                      options.log};
  Partitions partitions{shared};
  auto group = kafka::Group::join(address, options.group, partitions);
  if (!group) return ended_by(options, group.error());
  partitions.belongs_to(**group);
  if (options.outlet != nullptr) options.outlet->joined();
  options.log("in group " + options.group.group + " as " + options.group.instance + ", pack " +
              (*reloader)->current().pack->hash.substr(0, 8));

  Beats beats{**appender};
  Ended ended = Ended::drained;
  bool contested = false;
  while (!options.stop()) {
    auto went = (*group)->poll(100ms);
    if (went && (*group)->contested() != contested) {
      contested = !contested;
      options.log.warning(contested ? "the brokers have ended the membership of this instance: whether another one has "
                                      "its name shows once the session is over"
                                    : "no other instance has the name of this one: it joins the group again");
    }
    if (went) went = beats.beat(partitions.numbers(), Clock::now());
    if (!went) {
      ended = ended_by(options, went.error());
      break;
    }
    if (!partitions.failure()) continue;
    if (const auto cause = cause_of_failure(partitions, **group, options.stop)) {
      ended = ended_by(options, *cause);
      break;
    }
  }
  partitions.begin_to_leave((*group)->lost());
  (*group)->leave();
  (*reloader)->stop();
  if (ended == Ended::drained && !partitions.all_handed_over()) {
    options.log.error(
        "not drained: what was judged after the last commit is not committed; the next instance judges it again");
    ended = Ended::failed;
  }
  return ended;
}

}  // namespace tocsin::adapters::service
