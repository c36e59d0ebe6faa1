#include "adapters/node/node_recorder.h"

#include <poll.h>

#include <algorithm>

namespace tocsin::adapters::node {

using schemas::EntryBuilder;
using stream::Time;
using wrap::Recording;

NodeRecorder::NodeRecorder(const NodeRecorderSetup& setup)
    : setup_(setup),
      recording_(setup.run, setup.journal_bytes, setup.clock, setup.epoch),
      report_(setup.job.reported, recording_, *setup.legacy),
      kin_(setup.job.reported.node, setup.job.place),
      tree_(kin_),
      next_second_(wrap::next_half_second(setup.clock.now())),
      last_seen_(setup.clock.now()) {}

void NodeRecorder::begin() {
  const Time now = setup_.clock.now();
  if (!setup_.legacy->begun) {
    report_.about_attempt();
    report_.tell_start(now);
    report_.write();
  }
  report_.beat();
  recording_.sync(Recording::Sync::all);
  setup_.legacy->begun = recording_.working();
  tree_.look();
  const auto& processes = tree_.processes();
  watch_.emplace(tree_, report_, *setup_.legacy, setup_.clock,
                 wrap::RankWatch::Setup{.run = setup_.run,
                                        .gpus = "",  // other jobs are on this machine, too
                                        .memory_of = processes.empty() ? 0 : processes.begin()->first});
  watch_->resume();
}

void NodeRecorder::second(Time now) {
  watch_->sample(now);
  if (watch_->look(now)) {
    kin_.keep(tree_.processes());
    watch_->find(now);
    watch_->find_workers();
  }
  watch_->look_at_collectives();
  if (watch_->coverage_due(now)) {
    watch_->cover(report_.about_job(), now);
    report_.write();
  }
  report_.beat();
  if (!watch_->ranks().empty()) last_seen_ = now;
  next_second_ = wrap::next_half_second(now);
}

void NodeRecorder::finish() {
  recording_.finishes();
  const std::string seen = "no process of the job is left on " + setup_.job.reported.node;
  const EntryBuilder::Field why[] = {{"seen", 0, seen, true}};
  report_.about_attempt().event(last_seen_, EntryBuilder::job(), "end", why, "sampler");
  report_.write();
  report_.finish();
}

bool NodeRecorder::run() {
  begin();
  for (;;) {
    Time now = setup_.clock.now();
    if (now >= next_second_) {
      second(now);
      now = setup_.clock.now();
      if (now - last_seen_ >= setup_.gone_after) break;
    }
    watch_->glance(now);
    const auto seen = watch_->waits();
    pollfd at[] = {{setup_.stop, POLLIN, 0}, seen[0], seen[1], seen[2]};
    const Time wake = std::min(next_second_, watch_->due());
    if (::poll(at, std::size(at), wrap::milliseconds_until(wake, now)) < 0) continue;
    if (at[0].revents != 0) {
      report_.beat();
      recording_.sync(Recording::Sync::all);
      return false;
    }
    watch_->react({at[1], at[2], at[3]});
  }
  finish();
  return true;
}

}  // namespace tocsin::adapters::node
