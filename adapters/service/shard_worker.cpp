#include "adapters/service/shard_worker.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "adapters/kafka/first_pack.h"
#include "adapters/kafka/kafka_log.h"
#include "adapters/kafka/kafka_state.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/runtime/hand_over.h"
#include "adapters/runtime/judge_ahead.h"
#include "adapters/runtime/quarantines.h"
#include "adapters/runtime/shard_runner.h"
#include "adapters/service/job_watch.h"
#include "schemas/codec.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t entries_a_step = 1024;

// Says a failure once, until it has changed or gone.
class Repeated {
 public:
  explicit Repeated(const Shared& shared) : shared_(&shared) {}
  void failed(const Error& error) {
    if (std::exchange(last_, error.message) != error.message) shared_->log.warning(error.message);
  }
  void succeeded() { last_.clear(); }

 private:
  const Shared* shared_;
  std::string last_;
};

// What a shard begins with: the pack that its log begins with. All others come by the log. A log of which the pack's
// record is gone, or never came, gets the one that the cluster's logs name. A shard that goes on from a state has its
// packs there.
Result<stream::LoadedPack> pack_to_begin_with(const Shared& shared, int partition, bool goes_on) {
  const stream::LoadedPack current = shared.rules.current();
  if (goes_on) return current;
  for (bool appended = false;; appended = true) {
    const auto found = kafka::first_pack(shared.telemetry, partition);
    if (!found) return found.error();
    if (*found) {
      shared.packs.prepare((*found)->pack.hash, (*found)->pack.text);
      auto loaded = shared.packs.pack((*found)->pack.hash);
      return loaded ? *loaded : current;  // one that does not load is reported, and judges nothing
    }
    if (!appended) {
      schemas::EntryBuilder entry;
      entry.pack(current.pack->hash, {}, current.pack->text);
      if (auto done = shared.appender.append(kafka::topic::telemetry, partition, {}, schemas::encode(entry.entry()));
          !done)
        return done.error();
    }
    if (auto flushed = shared.appender.flush(1s); !flushed) return flushed.error();
    else if (!*flushed)
      return Error{Errc::io, "the rules cannot be appended to partition " + std::to_string(partition)};
  }
}

// CPU time of this thread: what waits for the broker does not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What is shown of the partition, once a second.
class PublishedFigures {
 public:
  PublishedFigures(const Shared& shared, int partition) : outlet_(shared.outlet) {
    figures_.partition = static_cast<std::uint32_t>(partition);
    figures_.restored = 0;
    if (outlet_ != nullptr) outlet_->figures(figures_);
  }
  void stepped(double seconds) { figures_.step_seconds.add(seconds); }
  void committed(double seconds, bool kept) {
    figures_.commit_seconds.add(seconds);
    ++(kept ? figures_.commits : figures_.commit_failures);
  }
  void publish(const stream::Shard& shard, const kafka::KafkaLog& log) {
    if (outlet_ == nullptr || Clock::now() < next_) return;
    next_ = Clock::now() + 1s;
    figures_.counters = shard.counters();
    figures_.counters.rejected_blocks += log.undecodable();
    figures_.subjects = shard.subjects();
    figures_.lag_records = log.behind();
    figures_.queue_bytes = log.queued_bytes();
    if (shard.clock() != stream::long_ago)
      figures_.lag_seconds = std::max(0.0, stream::seconds(std::chrono::system_clock::now() - shard.clock()));
    figures_.restored = shard.restoring() ? 0 : 1;
    outlet_->figures(figures_);
  }
  void publish_jobs(const stream::Shard& shard) {
    if (outlet_ == nullptr) return;
    if (auto jobs = jobs_.look(shard, Clock::now()))
      outlet_->jobs(static_cast<int>(figures_.partition), std::move(jobs));
  }

 private:
  Outlet* outlet_;
  JobWatch jobs_;
  prometheus::PartitionFigures figures_;
  Clock::time_point next_{};
};

}  // namespace

ShardWorker::ShardWorker(const Shared& shared, const kafka::Group& group, int partition)
    : shared_(shared), group_(group), partition_(partition), thread_([this] { run(); }) {}
ShardWorker::~ShardWorker() { give_up(); }

void ShardWorker::drain() { finish(Order::drain); }
void ShardWorker::give_up() { finish(Order::give_up); }

void ShardWorker::finish(Order order) {
  Order working = Order::work;
  order_.compare_exchange_strong(working, order);
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> ShardWorker::failure() const {
  const std::lock_guard lock{mutex_};
  return failure_;
}

bool ShardWorker::pause(std::chrono::milliseconds time) const {
  for (const auto until = Clock::now() + time; order_ == Order::work && Clock::now() < until;)
    std::this_thread::sleep_for(10ms);
  return order_ == Order::work;
}

void ShardWorker::run() {
  Result<void> worked;
  try {
    worked = work();
  } catch (const std::exception& error) { worked = Error{Errc::io, error.what()}; }
  if (worked) return;
  const std::lock_guard lock{mutex_};
  failure_ = Error{worked.error().code, "partition " + std::to_string(partition_) + ": " + worked.error().message};
}

Result<void> ShardWorker::work() {
  kafka::KafkaLog log{shared_.telemetry, partition_};
  kafka::KafkaState state{shared_.state, partition_, [this] { return group_.committed(partition_); },
                          [this] { return order_ != Order::work; }};
  kafka::KafkaSink sink{shared_.transactor,
                        group_,
                        state,
                        partition_,
                        shared_.topics,
                        [this](const stream::Report& report, std::string_view) {
                          if (shared_.outlet != nullptr) shared_.outlet->report(partition_, report);
                        }};
  runtime::HandOver handing_over{sink};
  packs::PackStore::Hold needed_packs{shared_.packs};
  Repeated failures{shared_};
  PublishedFigures figures{shared_, partition_};
  const auto begun = Clock::now();
  std::optional<runtime::ShardRunner> running;
  std::optional<stream::Position> first_committed;
  for (;;) {
    const auto committed = group_.committed(partition_);
    if (committed) first_committed = *committed;
    auto first = committed ? pack_to_begin_with(shared_, partition_, committed->has_value()) : committed.error();
    Result<void> restored;
    if (!first) restored = first.error();
    else
      restored =
          running
              .emplace(std::move(*first), runtime::ShardRunner::Ports{log, handing_over, shared_.packs, &state, true},
                       shared_.options)
              .restore();
    if (restored) break;
    if (restored.error().code != Errc::io) return restored;
    if (order_ != Order::work) return {};
    failures.failed(restored.error());
    if (!pause(1s)) return {};
  }
  runtime::ShardRunner& runner = *running;
  runtime::JudgeAhead ahead{runner, handing_over};
  failures.succeeded();
  shared_.log("partition " + std::to_string(partition_) + ": judging from offset " +
              std::to_string(static_cast<std::uint64_t>(runner.position())) + ", " +
              std::to_string(runner.shard().subjects()) + " jobs restored in " +
              std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun).count()) +
              " ms");

  Clock::time_point next_try{}, next_answer{};
  bool firing_reported = false;
  runtime::Quarantines quarantines;
  while (order_ == Order::work) {
    // Whoever had the partition before has reported them; Alertmanager forgets what nobody repeats.
    if (!runner.shard().restoring() && !std::exchange(firing_reported, true) && shared_.outlet != nullptr)
      for (stream::AlertTransition& alert : runner.shard().firing())
        shared_.outlet->report(partition_, std::move(alert));
    figures.publish(runner.shard(), log);
    figures.publish_jobs(runner.shard());
    const double step_begun = cpu_seconds();
    // What is live is handed over at once; far behind, many entries share a transaction.
    const bool live = runner.shard().clock() + 1s > std::chrono::system_clock::now();
    if (ahead.full()) (void)pause(10ms);
    const auto judged = ahead.step(entries_a_step, runtime::ShardRunner::ticks_a_step, live);
    if (judged && *judged > 0) figures.stepped(cpu_seconds() - step_begun);
    quarantines.look(runner.shard().counters(), [&](const std::string& text) {
      shared_.log.warning("partition " + std::to_string(partition_) + ": " + text);
    });
    if (!judged) {
      if (judged.error().code == Errc::not_found)
        return Error{Errc::io, judged.error().message};  // a new start goes on from what is left
      if (judged.error().code != Errc::io) return judged.error();
      failures.failed(judged.error());
      if (!pause(1s)) break;
      continue;
    }
    if (Clock::now() >= next_answer) {
      needed_packs.needs(runner.shard().packs_in_use(), runner.shard().packs_to_come());
      next_answer = Clock::now() + 1s;
    }
    if (const auto ended = handing_over.ended()) {
      figures.committed(std::chrono::duration<double>(ended->ended - ended->begun).count(),
                        static_cast<bool>(ended->kept));
      if (ended->kept) {
        failures.succeeded();
        if (shared_.outlet != nullptr) shared_.outlet->committed(partition_, sink.owned_at() + shared_.owned_for);
      } else {
        const Error& error = ended->kept.error();
        if (error.code == Errc::refused) return Error{Errc::io, error.message};  // a new start finds what was committed
        failures.failed(error);
        next_try = Clock::now() + 1s;
      }
    }
    if (handing_over.waits() && Clock::now() >= next_try) handing_over.again();
    if (!handing_over.idle()) continue;
    // Alerts may be posted for a while after a commit, and are to be repeated also where nothing else is committed.
    if (shared_.outlet != nullptr && Clock::now() >= sink.owned_at() + shared_.owned_for / 2) runner.renew();
    if (auto bundle = runner.take_bundle()) handing_over.give(std::move(*bundle));
  }
  if (order_ != Order::drain) return {};
  const auto drained = runner.hand_over_all();
  if (drained) return {};
  const std::size_t reports = handing_over.reports() + runner.reports_waiting();
  const auto from = sink.kept() ? sink.kept() : first_committed;
  return Error{drained.error().code,
               "what was judged from " +
                   (from ? "offset " + std::to_string(static_cast<std::uint64_t>(*from)) : "the log's beginning") +
                   " on " + (drained.error().code == Errc::refused ? "may not be" : "is not") + " committed (" +
                   std::to_string(reports) + (reports == 1 ? " report" : " reports") +
                   "), and the next owner judges it again: " + drained.error().message};
}

}  // namespace tocsin::adapters::service
