#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stream/job/shard.h"
#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// The loop of a shard over its ports: load what was kept, backfill, judge, hand over. It decides nothing about
// failures: each is returned, and what was not kept is handed over again, with what came since. Owned by whoever runs
// the shard; touched by its thread alone.
class ShardRunner final : private stream::AlertSink {
 public:
  struct Ports {
    stream::LogReader& log;
    stream::BundleSink& sink;
    stream::PackSource& packs;
    stream::SnapshotStore* snapshots = nullptr;  // none: nothing is restored, and no sections are handed over
    bool state_with_reports = false;             // the sink knows what was published by the position of the state alone
  };
  ShardRunner(stream::LoadedPack pack, Ports ports, stream::ShardOptions options = {});
  ~ShardRunner() override;

  // Goes on where the newest state ends, if there is one: loads it, and begins to read where its rows need it. Before
  // the first step.
  stream::Result<void> restore();
  // Judges entries as far as they are written, at most so many, up to the seal, until sections were due, or until
  // `most_ticks` have run: an entry before which more are due is judged in several steps, so that the owner can poll in
  // between. How many entries it worked on; 0: there are none. `until_reports`: it also ends with the entry that made
  // reports, so that they wait for no others.
  static constexpr std::size_t ticks_a_step = 256;
  stream::Result<std::size_t> step(std::size_t most_entries, std::size_t most_ticks = ticks_a_step,
                                   bool until_reports = false);
  // Something is to be handed over: reports that were made, sections that were due. Where the state comes with the
  // reports, not in the midst of an entry: reports of half an entry belong to no position.
  [[nodiscard]] bool waits() const noexcept {
    return !(ports_.state_with_reports && entry_ != nullptr) &&
           (!pending_.reports.empty() || !pending_.sections.empty());
  }
  [[nodiscard]] std::size_t reports_waiting() const noexcept { return pending_.reports.size(); }
  // Makes the shard's own section due where nothing waits: that it is kept shows whose the partition is.
  void renew();
  // It, as one bundle, which the caller gives to the sink before any other; none: nothing waits.
  [[nodiscard]] std::optional<stream::Bundle> take_bundle();
  // Gives it to the sink. What is not kept is handed over again.
  stream::Result<void> hand_over();
  // The last one: the sections of all subjects that changed are due.
  stream::Result<void> hand_over_all();

  [[nodiscard]] stream::Shard& shard() noexcept { return shard_; }
  [[nodiscard]] stream::Position position() const noexcept { return position_; }  // of the next entry to judge
  [[nodiscard]] std::uint64_t judged() const noexcept { return judged_; }         // entries

 private:
  void transition(const stream::AlertTransition& transition) override { pending_.reports.emplace_back(transition); }
  void verdict(const stream::Verdict& verdict) override { pending_.reports.emplace_back(verdict); }
  bool complete();
  bool take(stream::Sections sections);
  void add_packs();

  Ports ports_;
  const stream::Entry* entry_ = nullptr;  // that is judged, if it takes several steps
  stream::Bundle pending_;                // not kept yet
  stream::Position position_{};
  std::uint64_t judged_ = 0;
  stream::Shard shard_;
};

}  // namespace tocsin::adapters::runtime
