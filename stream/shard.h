#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/alert.h"
#include "stream/extractor.h"
#include "stream/pack.h"
#include "stream/record.h"

namespace tocsin::stream {

// A pack with the extraction that belongs to it, as a shard runs it.
struct LoadedPack {
  std::shared_ptr<Pack> pack;
  std::shared_ptr<const ExtractorSource> extraction;
};

// Gives the pack that a log's pack record names; nullopt: it cannot be had, and the one in use stays (counted).
class PackSource {
 public:
  virtual ~PackSource() = default;
  virtual std::optional<LoadedPack> pack(std::string_view hash, std::string_view text) = 0;
};

// What went through, and what did not, under a reason. Plain integers: whoever asks gets a copy.
struct Counters {
  std::uint64_t entries = 0, samples = 0, lines = 0, events = 0, heard = 0, beats = 0;
  std::uint64_t duplicates = 0, late = 0, unwanted = 0, unknown_signal = 0, corrected_times = 0, rejected_blocks = 0;
  std::uint64_t strays = 0, member_limit = 0, subject_limit = 0, gaps = 0;
  std::uint64_t ticks = 0, evaluations = 0, transitions = 0, alerts_over_limit = 0, benched = 0, packs_refused = 0;
  std::map<std::string, std::string> bench_messages;  // rule to its last message
};

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
    Position fill_from;
    Position judge_from;
  };
  Result<Resume> load(const Sections& sections);     // before any consume
  void fill(const Entry& entry);                     // entries in [fill_from, judge_from)
  void filled();                                     // now consume from judge_from
  [[nodiscard]] bool snapshot_due() const noexcept;  // 30 s of the log's clock since the last, or at a pack

  // Called after each evaluation of a rule; for explain.
  struct Evaluation {
    std::string_view subject, attempt;
    const Rule& rule;
    Time tick;
    const class Evaluator& values;
    const class Topology& topology;
    std::span<const Truth> outcomes;
    std::function<std::string(double)> text;
  };
  void observe(std::function<void(const Evaluation&)> observer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
