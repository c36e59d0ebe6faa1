#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/ports.h"
#include "stream/rules/alert.h"
#include "stream/rules/counters.h"
#include "stream/rules/rule_evaluation.h"
#include "stream/values/record.h"

namespace tocsin::stream {

struct ShardOptions {
  bool digest_columns = false;
  bool ignore_packs = false;            // --rules DIR: that pack holds for the whole log
  std::uint32_t shard = 0, shards = 1;  // subjects are divided by murmur2
};

// Judges the subjects of a log. The engine is a function of the entries it is given: batch boundaries and speed cannot matter,
// because everything due before an entry is done before the entry itself.
// Owned by whoever reads the log; touched by its thread alone.
class Shard {
 public:
  Shard(LoadedPack pack, PackSource* packs, AlertSink& sink, ShardOptions options = {});
  ~Shard();

  void consume(const Entry& entry);

  // Digest of each subject by name; equal digests mean equal ticks, outcomes, transitions and state.
  [[nodiscard]] std::map<std::string, std::uint64_t> digests() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> row_digests() const;
  [[nodiscard]] const Counters& counters() const noexcept;
  [[nodiscard]] Time clock() const noexcept;
  [[nodiscard]] bool sealed() const noexcept;

  // A snapshot in sections: the shard's own (""), then one a subject. Everything but rows.
  using Sections = std::map<std::string, std::vector<std::byte>>;
  [[nodiscard]] Sections snapshot() const;
  // Where a take-over begins to read: rows are filled from there up to the snapshot's position.
  struct Resume {
    Position backfill_from;
    Position judge_from;
  };
  Result<Resume> load(const Sections& sections);     // before any consume
  void fill(const Entry& entry);                     // entries in [backfill_from, judge_from)
  void filled();                                     // now consume from judge_from
  [[nodiscard]] bool snapshot_due() const noexcept;  // 30 s of the log's clock since the last, or at a pack

  // Called after each evaluation of a rule; for explain.
  void observe(RuleObserver observer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
