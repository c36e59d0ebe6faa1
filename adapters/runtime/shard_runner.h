#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stream/job/shard.h"
#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// Connects a shard with its ports, one step at a time: restores it, feeds it entries, and collects its reports and
// sections into bundles. Returns every failure to its caller (ShardLoop decides what to do) and loses nothing by it.
// Owned by the ShardLoop; touched by its thread alone.
class ShardRunner final : private stream::AlertSink {
 public:
  struct Ports {
    stream::LogReader& log;
    stream::BundleSink& sink;
    stream::PackSource& packs;
    stream::SnapshotStore* snapshots = nullptr;  // null: nothing is restored, and bundles have no sections
    bool state_with_reports = false;             // each bundle with reports has the position that they belong to
  };
  ShardRunner(stream::LoadedPack pack, Ports ports, stream::ShardOptions options = {});
  ~ShardRunner() override;

  // Loads the newest state, if there is one, and seeks to where its rows begin. Call it before the first step.
  stream::Result<void> restore();
  // Judges at most `most_entries` entries. Returns early at the end of the log, after the seal, when sections are due,
  // where a restore ends (what fires there was reported before), after `most_ticks` ticks (the rest of that entry's
  // ticks run in the next steps, so that the owner can poll between them), and with `until_reports` after an entry that
  // made reports. Returns the number of entries it worked on.
  static constexpr std::size_t ticks_a_step = 256;
  stream::Result<std::size_t> step(std::size_t most_entries, std::size_t most_ticks = ticks_a_step,
                                   bool until_reports = false);
  // True if a bundle can be taken. With `state_with_reports`, never in the middle of an entry: its reports belong to no
  // position yet.
  [[nodiscard]] bool waits() const noexcept {
    return !(ports_.state_with_reports && entry_ != nullptr) &&
           (!pending_.reports.empty() || !pending_.sections.empty());
  }
  [[nodiscard]] std::size_t reports_waiting() const noexcept { return pending_.reports.size(); }
  // Queues the shard's own section if nothing else is pending. Storing it proves that this instance owns the log.
  void renew();
  // Everything that is pending, as one bundle. The caller gives it to the sink before any other.
  [[nodiscard]] std::optional<stream::Bundle> take_bundle();
  // Gives the pending bundle to the sink. After an error the bundle stays pending.
  stream::Result<void> hand_over();
  // The same with the sections of all subjects that changed: the last bundle before the shard goes.
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
