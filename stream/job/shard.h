#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/job/figures.h"
#include "stream/ports.h"
#include "stream/rules/alert.h"
#include "stream/rules/counters.h"
#include "stream/rules/rule_evaluation.h"
#include "stream/values/record.h"

namespace tocsin::stream {

struct ShardOptions {
  bool digest_columns = false;
  bool evaluate_all =
      false;             // also the rules that repeat their outcomes while nothing arrives: the results are the same
  bool restarts = true;  // keeps what one goes on from; without, there are no sections
  bool ignore_packs = false;            // --rules DIR: that pack holds for the whole log
  std::uint32_t shard = 0, shards = 1;  // subjects are divided by murmur2
  std::size_t most_subjects = 100'000;
  Duration save_every = std::chrono::minutes{4};  // a subject that changes; a quarter more spreads them
};

// Judges the subjects of a log. The engine is a function of the entries it is given: batch boundaries and speed cannot
// matter, because everything due before an entry is done before the entry itself. Owned by whoever reads the log;
// touched by its thread alone.
class Shard {
 public:
  static constexpr std::size_t all_ticks = static_cast<std::size_t>(-1);

  Shard(LoadedPack pack, PackSource* packs, AlertSink& sink, ShardOptions options = {});
  ~Shard();

  // True: the entry is done. False: `most_ticks` have run and more are due first; call it again with the same entry.
  bool consume(const Entry& entry, std::size_t most_ticks = all_ticks);

  // Digest of each subject by name; equal digests mean equal ticks, outcomes, transitions and state.
  [[nodiscard]] std::map<std::string, std::uint64_t> digests() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> row_digests() const;
  // The alerts that fire: what a sink that remembers nothing has to know after a restore. Evidence and causes are not
  // in it.
  [[nodiscard]] std::vector<AlertTransition> firing() const;
  // What is shown of at most `most` subjects, by name: the first of them, or those after this one. Empty: there are no
  // more.
  [[nodiscard]] std::vector<SubjectFigures> figures(std::string_view after, std::size_t most) const;
  [[nodiscard]] const Counters& counters() const noexcept;
  [[nodiscard]] Time clock() const noexcept;
  [[nodiscard]] bool sealed() const noexcept;  // the seal was judged, with all that it ends
  [[nodiscard]] std::size_t subjects() const noexcept;
  // What is kept for a restart alone: places where it may begin to read, and names of subjects that are gone.
  [[nodiscard]] std::size_t kept_for_restarts() const noexcept;

  // What a restart goes on from: the shard's own section (""), and one a subject; an empty one says that the subject is
  // forgotten.
  using Sections = std::map<std::string, std::vector<std::byte>>;
  // Sections are due: those of the subjects that changed, each in its turn, at least every 5 min of the log's clock and
  // at a pack.
  [[nodiscard]] bool sections_due() const noexcept;
  // Those that are due, until they have about `most_bytes`: the others follow soon. Or of all subjects that changed.
  // They belong to the position after the last entry.
  static constexpr std::size_t section_bytes = 2u << 20;  // what is saved at once stops the shard for milliseconds
  [[nodiscard]] Sections take_sections(bool all = false, std::size_t most_bytes = section_bytes);
  // The shard's own section alone: kept with reports, it says up to which position they were made.
  [[nodiscard]] Sections take_own_section();
  // The hashes of the packs that a restore from the sections needs: their texts are kept with them.
  [[nodiscard]] std::vector<std::string> packs_in_use() const;
  // The hashes of the packs that judge a subject, and of the few that come into force next for each. No other is held
  // compiled.
  [[nodiscard]] std::vector<std::string> packs_to_come() const;
  // Before any consume: the sections that were kept, and the position that was handed over with the last of them.
  // Returns where to read from; entries before a subject's position write its rows again, and nothing before
  // `handed_over` is reported again.
  Result<Position> load(const Sections& sections, Position handed_over);
  // Reading has not come to the position that was handed over: no sections are due.
  [[nodiscard]] bool restoring() const noexcept;

  // Called after each evaluation of a rule; for explain.
  void observe(RuleObserver observer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
