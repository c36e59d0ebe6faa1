#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "adapters/runtime/hand_over.h"
#include "adapters/runtime/shard_runner.h"
#include "stream/job/shard.h"
#include "stream/ports.h"
#include "stream/rules/counters.h"

namespace tocsin::adapters::runtime {

// The loop of a shard, from its restore until its log is sealed or its owner ends it: reads, judges, hands over, tries
// again what failed, and says each failure once. The service, `wrap` and `replay` all run this loop; they differ in the
// ports, the options and the owner.
// Owned by whoever runs the shard; touched by its thread alone.
class ShardLoop {
 public:
  // What the loop asks of whoever runs it. Called on the loop's thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual stream::Result<stream::LoadedPack> first_pack() = 0;  // the pack that a log without state begins with
    virtual bool goes_on() = 0;                                   // false: the loop ends before its next step
    virtual void wait(std::chrono::milliseconds time) = 0;        // cut short when goes_on() turns false
    virtual void say(const std::string& line) = 0;                // a failure, or a rule that was set aside: once each
    // Nothing more is written: returns true when there may be more, false if the loop is to end.
    virtual bool wait_for_more() { return true; }
    virtual void before_step(ShardRunner&) {}
    virtual void after_step(std::size_t /*entries*/) {}
    virtual bool must_renew() { return false; }  // a bundle is due, so that the sink sees whose the log is
    virtual stream::Result<void> handed_over(const HandOver::Outcome&) { return {}; }
  };
  struct Options {
    stream::ShardOptions shard{};
    bool beside = false;   // bundles are handed over on a thread of their own, so that judging goes on meanwhile
    bool patient = false;  // a log or a state that cannot be read is tried again; else the loop ends with the error
    std::size_t entries_a_step = 256;
    // Behind a sink that keeps nothing, judging stops at so many reports: what comes meanwhile stays in the log.
    std::size_t most_reports = 10'000;
    std::chrono::milliseconds pace{1000};  // between two tries
  };

  ShardLoop(ShardRunner::Ports ports, Owner& owner, Options options);

  // Makes the shard and loads its state. No shard, and no error: the owner ended the loop first.
  stream::Result<void> restore();
  // The error says what it cannot go on from; Errc::io: a new start may.
  stream::Result<void> run();
  // Hands over all that was judged, with the sections of all subjects that changed.
  stream::Result<void> drain();
  [[nodiscard]] std::size_t reports_waiting() const;  // that are not kept; while nothing is under way
  [[nodiscard]] ShardRunner& runner() { return *runner_; }

 private:
  void say_once(std::string& last, const std::string& message);
  stream::Result<void> hand_over();
  stream::Result<void> look_at_outcome();
  stream::Result<void> judge();
  void look_for_quarantines();
  void name_refused_jobs(bool now);
  [[nodiscard]] bool full() const;

  ShardRunner::Ports ports_;
  Owner* owner_;
  Options options_;
  HandOver handing_over_;
  std::optional<ShardRunner> runner_;
  std::string last_read_failure_, last_sink_failure_;  // until reading, or the sink, succeeds
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_try_{};
  Clock::time_point next_naming_{};  // of refused jobs
  std::uint64_t quarantines_ = 0, refused_ = 0;
  std::set<std::string> quarantined_;
};

}  // namespace tocsin::adapters::runtime
