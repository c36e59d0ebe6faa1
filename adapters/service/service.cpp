#include "adapters/service/service.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/packs/pack_store.h"
#include "adapters/service/reloader.h"
#include "adapters/service/shard_worker.h"
#include "schemas/codec.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// The partitions that this instance has, each with its worker.
// Owned by the main thread's frame; touched by the main thread alone.
class Partitions final : public Membership::Listener {
 public:
  explicit Partitions(const Shared& shared) : shared_(&shared) {}

  void assigned(const std::vector<int>& partitions) override {
    for (const int partition : partitions)
      workers_.emplace(partition, std::make_unique<ShardWorker>(*shared_, partition));
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

  [[nodiscard]] std::vector<int> that_need_beats() const {
    std::vector<int> all;
    for (const auto& [partition, worker] : workers_)
      if (worker->has_jobs() || shared_->backend.beats_without_jobs()) all.push_back(partition);
    return all;
  }
  [[nodiscard]] std::optional<Error> failure() const {
    for (const auto& [partition, worker] : workers_)
      if (auto failure = worker->failure()) return failure;
    return {};
  }
  // `all_lost`: what it had, and nothing was assigned since.
  void begin_to_leave(bool all_lost) {
    leaving_ = true;
    all_handed_over_ = !all_lost;  // what failed before is another's by now
  }
  [[nodiscard]] bool all_handed_over() const noexcept { return all_handed_over_; }

 private:
  const Shared* shared_;
  std::map<int, std::unique_ptr<ShardWorker>> workers_;
  bool all_handed_over_ = true, leaving_ = false;
};

// One beat a second into each partition that this instance has and that needs them, caught up or not. None is added
// while the log takes nothing: a late beat says nothing.
class Beats {
 public:
  explicit Beats(Appender& appender) : appender_(appender) {
    schemas::EntryBuilder entry;
    entry.beat();
    message_ = schemas::encode(entry.entry());
  }
  Result<void> beat(const std::vector<int>& partitions, Clock::time_point now) {
    if (now < next_ || partitions.empty()) return {};
    next_ = now + 1s;
    if (appender_.waiting() > 2 * partitions.size()) return {};
    for (const int partition : partitions)
      if (auto appended = appender_.append(partition, {}, message_); !appended)
        return appender_.waiting() > 2 * partitions.size() ? Result<void>{} : appended;  // the log may be full
    return {};
  }

 private:
  Appender& appender_;
  std::vector<std::byte> message_;
  Clock::time_point next_{};
};

Ended ended_by(const ServiceOptions& options, const Error& error) {
  options.log.error(error.message);
  return error.code == Errc::io ? Ended::failed : Ended::refused;
}

}  // namespace

Ended run_service(const ServiceOptions& options) {
  auto backend = options.open();
  if (!backend) return ended_by(options, backend.error());
  packs::PackStore packs{[&options](std::string_view hash, const Error& why) {
    options.log.error("the rules that a log names (pack " + std::string{hash.substr(0, 8)} +
                      ") do not load, those before them judge on: " + why.message);
  }};
  Appender& appender = (*backend)->appender();
  auto reloader = Reloader::start(options, {(*backend)->packs(), appender, packs});
  if (!reloader) return ended_by(options, reloader.error());
  const Shared shared{**backend, packs, **reloader, options.shard, options.outlet, options.log};
  Partitions partitions{shared};
  auto membership = (*backend)->join(partitions);
  if (!membership) return ended_by(options, membership.error());
  if (options.outlet != nullptr) options.outlet->joined();
  options.log(options.membership + ", pack " + (*reloader)->current().pack->hash.substr(0, 8));

  Beats beats{appender};
  Ended ended = Ended::drained;
  while (!options.stop()) {
    auto went = (*membership)->poll(100ms);
    if (went) went = beats.beat(partitions.that_need_beats(), Clock::now());
    // The partition may have failed because it is another instance's by now: then it is lost, and its failure with it.
    if (went && partitions.failure()) went = (*membership)->confirm(options.stop);
    if (went)
      if (const auto failure = partitions.failure()) went = *failure;
    if (went) continue;
    ended = ended_by(options, went.error());
    break;
  }
  partitions.begin_to_leave((*membership)->lost());
  (*membership)->leave();
  (*reloader)->stop();
  if (ended == Ended::drained && !partitions.all_handed_over()) {
    options.log.error(
        "not drained: what was judged after the last commit is not committed; the next instance judges it again");
    ended = Ended::failed;
  }
  return ended;
}

}  // namespace tocsin::adapters::service
