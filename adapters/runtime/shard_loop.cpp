#include "adapters/runtime/shard_loop.h"

#include <utility>

#include "adapters/formats/printable.h"

namespace tocsin::adapters::runtime {

using stream::Errc;
using stream::Result;

namespace {

// A bundle that may have been kept, and a log without the entries that come next: only a new start can go on, from
// what it finds.
stream::Error final_error(const stream::Error& error) {
  const bool new_start_helps = error.code == Errc::refused || error.code == Errc::not_found;
  return {new_start_helps ? Errc::io : error.code, error.message};
}

}  // namespace

ShardLoop::ShardLoop(ShardRunner::Ports ports, Owner& owner, Options options)
    : ports_(ports), owner_(&owner), options_(std::move(options)), handing_over_(ports.sink, options_.beside) {}

void ShardLoop::say_once(std::string& last, const std::string& message) {
  if (std::exchange(last, message) != message) owner_->say(message);
}

Result<void> ShardLoop::restore() {
  const ShardRunner::Ports ports{ports_.log, handing_over_, ports_.packs, ports_.snapshots, ports_.state_with_reports};
  while (owner_->goes_on()) {
    auto first = owner_->first_pack();
    const auto restored =
        first ? runner_.emplace(std::move(*first), ports, options_.shard).restore() : Result<void>{first.error()};
    if (restored) {
      last_read_failure_.clear();
      return {};
    }
    runner_.reset();
    if (!options_.patient || restored.error().code != Errc::io) return restored;
    say_once(last_read_failure_, restored.error().message);
    owner_->wait(options_.pace);
  }
  return {};
}

Result<void> ShardLoop::run() {
  auto ended = judge();
  if (runner_) name_refused_jobs(true);
  return ended;
}

Result<void> ShardLoop::judge() {
  while (runner_ && owner_->goes_on() && !runner_->shard().sealed()) {
    owner_->before_step(*runner_);
    if (full()) {
      if (!options_.patient) return {};  // drain() says why
      owner_->wait(std::chrono::milliseconds{10});
    } else {
      // What is live is handed over at once; far behind, many entries share a bundle.
      const bool live = runner_->shard().clock() + std::chrono::seconds{1} > std::chrono::system_clock::now();
      const auto judged = runner_->step(options_.entries_a_step, ShardRunner::ticks_a_step, live);
      look_for_quarantines();
      name_refused_jobs(false);
      if (judged) {
        last_read_failure_.clear();
        owner_->after_step(*judged);
        if (*judged == 0 && !owner_->wait_for_more()) return {};
      } else if (options_.patient && judged.error().code == Errc::io) {
        say_once(last_read_failure_, judged.error().message);
        owner_->wait(options_.pace);
      } else {
        return final_error(judged.error());
      }
    }
    if (auto done = hand_over(); !done) return done;
  }
  return {};
}

Result<void> ShardLoop::drain() { return runner_ ? runner_->hand_over_all() : Result<void>{}; }

std::size_t ShardLoop::reports_waiting() const {
  return handing_over_.reports() + (runner_ ? runner_->reports_waiting() : 0);
}

bool ShardLoop::full() const { return !handing_over_.idle() && runner_->reports_waiting() >= options_.most_reports; }

Result<void> ShardLoop::hand_over() {
  if (auto done = look_at_outcome(); !done) return done;
  if (handing_over_.waits() && Clock::now() >= next_try_) handing_over_.again();
  if (handing_over_.idle()) {
    if (owner_->must_renew()) runner_->renew();
    if (auto bundle = runner_->take_bundle()) handing_over_.give(std::move(*bundle));
  }
  return look_at_outcome();
}

Result<void> ShardLoop::look_at_outcome() {
  const auto outcome = handing_over_.ended();
  if (!outcome) return {};
  const auto handled = owner_->handed_over(*outcome);
  const Result<void>& done = outcome->kept ? handled : outcome->kept;
  if (done) {
    last_sink_failure_.clear();
    return {};
  }
  if (!outcome->kept && done.error().code == Errc::refused) return final_error(done.error());
  say_once(last_sink_failure_, done.error().message);
  next_try_ = Clock::now() + options_.pace;
  return {};
}

void ShardLoop::look_for_quarantines() {
  const stream::Counters& counters = runner_->shard().counters();
  if (std::exchange(quarantines_, counters.quarantined) == counters.quarantined) return;
  for (const auto& [rule, message] : counters.quarantine_messages)
    if (quarantined_.insert(rule + message).second)
      owner_->say("rule '" + rule + "' failed and is disabled for a while, longer each time: " + message);
}

// A flood of jobs must not become one of lines: what comes meanwhile is in the next line.
void ShardLoop::name_refused_jobs(bool now) {
  stream::Shard& shard = runner_->shard();
  const std::uint64_t refused = shard.counters().state_limit;
  if (refused == refused_ || (!now && Clock::now() < next_naming_)) return;
  next_naming_ = Clock::now() + 10 * options_.pace;
  std::string names;
  bool others = false;
  for (const auto& [job, records] : shard.take_refused_jobs())
    if (job.empty()) others = true;
    else names += (names.empty() ? "" : ", ") + ("'" + formats::printable(job)) + "' (" + std::to_string(records) + ")";
  owner_->say("no room for new jobs: the others take " + std::to_string(shard.state_bytes() >> 20) + " MiB of the " +
              std::to_string(options_.shard.most_state >> 20) + " MiB of limits.state_size; dropped " +
              std::to_string(refused - std::exchange(refused_, refused)) + " records, of " + names +
              (others ? " and other jobs" : ""));
}

}  // namespace tocsin::adapters::runtime
