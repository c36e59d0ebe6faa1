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
  bool evaluate_all = false;            // also the rules whose outcomes cannot have changed; the results are the same
  bool restarts = true;                 // keeps what a restore needs; false: there are no sections
  bool ignore_packs = false;            // --rules DIR: that pack holds for the whole log
  std::uint32_t shard = 0, shards = 1;  // subjects are divided by murmur2
  // A job is refused while the others take this much state, by estimate (state_bytes()). The cluster is never refused.
  std::size_t most_state = static_cast<std::size_t>(-1);
  Duration save_every = std::chrono::minutes{4};  // a subject that changes; a quarter more spreads them
};

// Judges the subjects of a log. Everything that is due before an entry is done before the entry, so batch boundaries
// and speed cannot change a result. Owned by whoever reads the log; touched by its thread alone.
class Shard {
 public:
  static constexpr std::size_t all_ticks = static_cast<std::size_t>(-1);

  Shard(LoadedPack pack, PackSource* packs, AlertSink& sink, ShardOptions options = {});
  ~Shard();

  // False: `most_ticks` ticks have run and more are due before the entry; call it again with the same entry.
  bool consume(const Entry& entry, std::size_t most_ticks = all_ticks);

  // The digest of each subject by name. Equal digests mean equal ticks, outcomes, transitions and state.
  [[nodiscard]] std::map<std::string, std::uint64_t> digests() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> row_digests() const;
  // The alerts that fire, for a sink that remembers nothing over a restart; without evidence and causes.
  [[nodiscard]] std::vector<AlertTransition> firing() const;
  // Figures of at most `most` subjects in the order of their names, from the first one after `after` on.
  [[nodiscard]] std::vector<SubjectFigures> figures(std::string_view after, std::size_t most) const;
  // Of samples that wait to be taken (at most five seconds of the log's clock) they do not tell yet.
  [[nodiscard]] const Counters& counters() const noexcept;
  [[nodiscard]] Time clock() const noexcept;
  [[nodiscard]] bool sealed() const noexcept;  // the seal and everything that it ends are judged
  [[nodiscard]] std::size_t subjects() const noexcept;
  // The state of all jobs, by an estimate that a restart and a replay make again: of an attempt 80 KiB, and of each
  // signal that came 12 KiB, and 1.25 KiB for each member of the level that owns it. Without what waits.
  [[nodiscard]] std::size_t state_bytes() const noexcept;
  // The jobs that were refused since the last call, with the number of their records that were dropped. "": of the jobs
  // beyond the first 100.
  [[nodiscard]] std::map<std::string, std::uint64_t> take_refused_jobs();
  // The number of records that only a restore needs: marks in the log and names of forgotten subjects.
  [[nodiscard]] std::size_t kept_for_restarts() const noexcept;

  // The state that a restore loads, by section: "" is the shard's own, every other name is a subject. An empty section
  // means that the subject is forgotten.
  using Sections = std::map<std::string, Section>;
  // True if a subject's section is due: a subject that changed is saved at least every 5 min of the log's clock, and
  // when its pack changes.
  [[nodiscard]] bool sections_due() const noexcept;
  // The due sections up to about `most_bytes` that the shard itself writes (the rest stays due), or with `all` those of
  // every subject that changed. They belong to the position after the last entry, whenever their bytes are written.
  static constexpr std::size_t section_bytes = 2u << 20;  // takes milliseconds, in which nothing is judged
  [[nodiscard]] Sections take_sections(bool all = false, std::size_t most_bytes = section_bytes);
  // The shard's own section, which tells up to which position the reports were made.
  [[nodiscard]] Sections take_own_section();
  // The packs, by hash, that a restore from the sections needs; their texts are stored with the sections.
  [[nodiscard]] std::vector<std::string> packs_in_use() const;
  // The packs, by hash, that judge a subject now, and the few that take effect next. Only these stay compiled.
  [[nodiscard]] std::vector<std::string> packs_to_come() const;
  // Where a restore begins to read once all sections that were taken so far are stored.
  [[nodiscard]] Position needed_from() const noexcept;
  // Restores the shard before its first entry. `handed_over` is the position of the last bundle: reports of earlier
  // entries are not made again. Returns where to read from; entries before a subject's section refill its rows.
  Result<Position> load(const Sections& sections, Position handed_over);
  // True until reading has reached `handed_over`; no section is due before.
  [[nodiscard]] bool restoring() const noexcept;

  // Called after each evaluation of a rule.
  void observe(RuleObserver observer);
  // The same once the alerts of the tick have settled; for explain.
  void observe_settled(RuleObserver observer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
