#include "adapters/service/shard_worker.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "adapters/runtime/last_lines.h"
#include "adapters/runtime/shard_loop.h"
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

// What a shard begins with: the pack that its log begins with. All others come by the log. A log of which the pack's
// record is gone, or never came, gets the one that the other logs name. A shard that goes on from a state has its
// packs there.
Result<stream::LoadedPack> pack_to_begin_with(const Shared& shared, Partition& ports, int partition, bool goes_on) {
  const stream::LoadedPack current = shared.rules.current();
  if (goes_on) return current;
  Appender& appender = shared.backend.appender();
  for (bool appended = false;; appended = true) {
    const auto found = ports.first_pack();
    if (!found) return found.error();
    if (*found) {
      shared.packs.prepare((*found)->hash, (*found)->text);
      auto loaded = shared.packs.pack((*found)->hash);
      return loaded ? *loaded : current;  // one that does not load is reported, and judges nothing
    }
    if (!appended) {
      schemas::EntryBuilder entry;
      entry.pack(current.pack->hash, {}, current.pack->text);
      if (auto done = appender.append(partition, {}, schemas::encode(entry.entry())); !done) return done.error();
    }
    if (auto flushed = appender.flush(1s); !flushed) return flushed.error();
    else if (!*flushed)
      return Error{Errc::io, "the rules cannot be appended to partition " + std::to_string(partition)};
  }
}

// CPU time of this thread: waiting does not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What is shown of the partition, once a second.
class PublishedFigures {
 public:
  PublishedFigures(const Shared& shared, int partition)
      : outlet_(shared.outlet), beats_without_jobs_(shared.backend.beats_without_jobs()) {
    figures_.partition = static_cast<std::uint32_t>(partition);
    figures_.restored = 0;
    if (outlet_ != nullptr) outlet_->figures(figures_);
  }
  void stepped(double seconds) { figures_.step_seconds.add(seconds); }
  void committed(double seconds, bool kept) {
    figures_.commit_seconds.add(seconds);
    ++(kept ? figures_.commits : figures_.commit_failures);
  }
  void publish(const stream::Shard& shard, const Partition::Figures& log) {
    if (outlet_ == nullptr || Clock::now() < next_) return;
    next_ = Clock::now() + 1s;
    figures_.counters = shard.counters();
    figures_.counters.rejected_blocks += log.undecodable;
    figures_.subjects = shard.subjects();
    figures_.state_bytes = shard.state_bytes();
    figures_.lag_records = log.behind;
    figures_.queue_bytes = log.queued_bytes;
    // A partition without jobs may have no beats, and then its clock stands still.
    const bool idle = !beats_without_jobs_ && shard.subjects() == 0 && log.behind == 0;
    if (idle) figures_.lag_seconds = 0;
    else if (shard.clock() != stream::long_ago)
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
  bool beats_without_jobs_;
  JobWatch jobs_;
  prometheus::PartitionFigures figures_;
  Clock::time_point next_{};
};

// The partition's loop, as the service looks after it.
class PartitionLoop final : private runtime::ShardLoop::Owner {
 public:
  // `lines`: where those of jobs are remembered; or null.
  PartitionLoop(const Shared& shared, std::unique_ptr<Partition> ports, int partition, std::function<bool()> goes_on,
                std::atomic<bool>& has_jobs, runtime::LastLines* lines)
      : shared_(shared),
        partition_(partition),
        goes_on_(std::move(goes_on)),
        has_jobs_(has_jobs),
        ports_(std::move(ports)),
        log_(ports_->log(), lines),
        needed_packs_(shared.packs),
        figures_(shared, partition),
        loop_({log_, ports_->sink(), shared.packs, &ports_->state(), true}, *this,
              {.shard = shared.options, .beside = true, .patient = true, .entries_a_step = entries_a_step}) {}

  Result<void> run() {
    if (auto restored = loop_.restore(); !restored) return restored;
    if (!goes_on_()) return {};
    const auto& runner = loop_.runner();
    shared_.log(name() + ": judging from offset " + std::to_string(static_cast<std::uint64_t>(runner.position())) +
                ", " + std::to_string(loop_.runner().shard().subjects()) + " jobs restored in " +
                std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_).count()) +
                " ms");
    return loop_.run();
  }
  // Commits what was judged. The error says from where the next owner judges it again.
  Result<void> drain() {
    const auto drained = loop_.drain();
    if (drained) return {};
    const auto from = ports_->kept() ? ports_->kept() : first_committed_;
    const std::size_t reports = loop_.reports_waiting();
    return Error{drained.error().code,
                 "what was judged from " +
                     (from ? "offset " + std::to_string(static_cast<std::uint64_t>(*from)) : "the log's beginning") +
                     " on " + (drained.error().code == Errc::refused ? "may not be" : "is not") + " committed (" +
                     std::to_string(reports) + (reports == 1 ? " report" : " reports") +
                     "), and the next owner judges it again: " + drained.error().message};
  }

 private:
  Result<stream::LoadedPack> first_pack() override {
    const auto committed = ports_->committed();
    if (!committed) return committed.error();
    first_committed_ = *committed;
    return pack_to_begin_with(shared_, *ports_, partition_, committed->has_value());
  }
  bool goes_on() override { return goes_on_(); }
  void wait(std::chrono::milliseconds time) override {
    for (const auto until = Clock::now() + time; goes_on_() && Clock::now() < until;) std::this_thread::sleep_for(10ms);
  }
  void say(const std::string& line) override { shared_.log.warning(name() + ": " + line); }
  void before_step(runtime::ShardRunner& runner) override {
    // The partition's former owner has reported them; Alertmanager forgets what nobody repeats.
    if (shared_.outlet != nullptr && !runner.shard().restoring() && !std::exchange(firing_reported_, true))
      for (const stream::AlertTransition& alert : runner.shard().firing()) shared_.outlet->firing(partition_, alert);
    figures_.publish(runner.shard(), ports_->figures());
    figures_.publish_jobs(runner.shard());
    if (Clock::now() >= next_needs_) {
      needed_packs_.needs(runner.shard().packs_in_use(), runner.shard().packs_to_come());
      next_needs_ = Clock::now() + 1s;
    }
    has_jobs_ = runner.shard().restoring() || runner.shard().subjects() > 0;
    step_begun_ = cpu_seconds();
  }
  void after_step(std::size_t entries) override {
    if (entries > 0) figures_.stepped(cpu_seconds() - step_begun_);
  }
  // Alerts may be posted for a while after a commit, and are to be repeated also where nothing else is committed.
  bool must_renew() override {
    return shared_.outlet != nullptr && Clock::now() + shared_.backend.owned_for() / 2 >= ports_->owned_until();
  }
  Result<void> handed_over(const runtime::HandOver::Outcome& outcome) override {
    figures_.committed(std::chrono::duration<double>(outcome.ended - outcome.begun).count(),
                       static_cast<bool>(outcome.kept));
    if (!outcome.kept) return {};
    // The bundle was taken after the one before it was kept: the shard needs no less of the log now than it did then.
    ports_->needs_from(needed_);
    needed_ = loop_.runner().shard().needed_from();
    if (shared_.outlet != nullptr) shared_.outlet->committed(partition_, ports_->owned_until());
    return {};
  }
  [[nodiscard]] std::string name() const { return "partition " + std::to_string(partition_); }

  const Shared& shared_;
  const int partition_;
  const std::function<bool()> goes_on_;
  std::atomic<bool>& has_jobs_;
  const Clock::time_point begun_ = Clock::now();
  std::unique_ptr<Partition> ports_;
  runtime::RememberingLog log_;
  packs::PackStore::Hold needed_packs_;
  PublishedFigures figures_;
  std::optional<stream::Position> first_committed_;
  Clock::time_point next_needs_{};
  stream::Position needed_{};  // when a bundle was kept last
  double step_begun_ = 0;
  bool firing_reported_ = false;
  runtime::ShardLoop loop_;  // last: it ends first
};

}  // namespace

ShardWorker::ShardWorker(const Shared& shared, int partition)
    : shared_(shared), partition_(partition), thread_([this] { run(); }) {}
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
  const auto goes_on = [this] { return order_ == Order::work; };
  runtime::LastLines lines;
  const bool remembers = shared_.outlet != nullptr && shared_.outlet->wants_last_lines();
  auto ports =
      shared_.backend.partition({partition_, [goes_on] { return !goes_on(); },
                                 [&](const stream::Report& report, std::string_view) {
                                   if (shared_.outlet == nullptr) return;
                                   const auto* verdict = std::get_if<stream::Verdict>(&report);
                                   if (remembers && verdict != nullptr)
                                     shared_.outlet->last_lines(verdict->subject, lines.take(verdict->subject));
                                   shared_.outlet->report(partition_, report);
                                 }});
  if (!ports) return ports.error();
  PartitionLoop loop{shared_, std::move(*ports), partition_, goes_on, has_jobs_, remembers ? &lines : nullptr};
  if (auto ran = loop.run(); !ran) return ran;
  return order_ == Order::drain ? loop.drain() : Result<void>{};
}

}  // namespace tocsin::adapters::service
