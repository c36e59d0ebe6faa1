#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/job/attempt.h"
#include "stream/job/duplicates.h"
#include "stream/job/log_state.h"
#include "stream/values/digest.h"
#include "stream/windows/origins.h"

namespace tocsin::stream {

// A job under its lineage: its attempts, one after the other and for a while side by side, and what outlives them. Or
// the cluster, which has one attempt, and ends only with its log. It goes by a clock of its own: the log's, or for
// re-keyed records the least watermark of their sources. Owned by its Shard.
class Subject {
 public:
  class Backfill;
  static constexpr Duration unseen = std::chrono::hours{24};  // an attempt without a record for so long has ended
  static constexpr Duration tombstone =
      std::chrono::hours{24};  // strays of an attempt that is over are swallowed and counted

  Subject(std::string name, const JobContext& job);
  ~Subject();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // An entry about it, to be applied after advance() to the clock at which it is read.
  // `more`: it is of samples alone, and others like it follow, with pass() between them; write_following() ends them.
  // They last until then.
  void apply(const Entry& entry, Time log_clock, bool more = false);
  void write_following() {
    for (const auto& attempt : attempts_) attempt->write_following();
  }
  void gap(Time from, Time to);
  // By when it has to be advanced.
  [[nodiscard]] Time advance_by() const { return due_by(rekeyed() ? &Attempt::next_due : &Attempt::advance_by); }
  // Does all that is due up to and at `clock`; packs change on the way. False: the budget is spent first; call it
  // again.
  bool advance(Time clock, TickBudget& budget);
  void pass(Time clock);  // the same before advance_by()
  // By when, for what may be reported.
  [[nodiscard]] Time reports_by() const { return due_by(&Attempt::reports_by); }
  void settle();  // does what has been put off up to its clock
  void seal();    // every attempt ends; advance() then judges each to its end
  // Its records came from other logs: it goes by their watermarks.
  [[nodiscard]] bool rekeyed() const noexcept { return !origins_.empty(); }
  [[nodiscard]] const Origins& origins() const noexcept { return origins_; }
  // False: nothing has changed by it.
  bool follow(Time log_clock, const Watermarks& watermarks, std::string_view moved);
  [[nodiscard]] Time clock(Time log_clock) const noexcept { return rekeyed() ? origins_.clock() : log_clock; }
  [[nodiscard]] bool begun() const noexcept { return started_ != 0; }
  // Whether samples of this attempt belong to the only one that there is, and are judged by the log's clock.
  [[nodiscard]] bool goes_on(std::string_view attempt) const noexcept;
  // As the attempt says, where goes_on() does.
  [[nodiscard]] Duration due_after(const SampleBlock& block) const { return attempts_.front()->due_after(block); }
  void prefetch(void (Attempt::*step)() const noexcept) const noexcept {
    if (!attempts_.empty()) (*attempts_.back().*step)();
  }
  // Nothing is left to do, and nothing to remember.
  [[nodiscard]] bool forgotten() const noexcept;
  [[nodiscard]] const PackChange::Key& pack() const noexcept { return change_.key; }
  [[nodiscard]] const std::string& pack_hash() const noexcept { return change_.hash; }

  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_->value(); }
  [[nodiscard]] std::uint64_t rows_digest() const;
  [[nodiscard]] std::vector<AlertTransition> firing() const;
  // Of the attempt that began last; nullopt: there is none. Of the cluster, nothing but what fires.
  [[nodiscard]] std::optional<SubjectFigures> figures(Time log_clock) const;
  // How far back a restore has to read for its rows, by its clock; 0: it has none.
  [[nodiscard]] Duration reach() const;
  // What it takes in memory, by estimate.
  [[nodiscard]] std::size_t state_bytes() const noexcept;

  // A place in the log where a restore may begin to read: the origins are remembered as they stand there. Those of
  // places before `oldest` are forgotten.
  void mark(Position at);
  void forget_before(Position oldest);
  void save(Writer& out) const;
  Result<void> load(Reader& in);
  // A restore reads entries from a marked place up to the section's position again, for their rows.
  void begin_backfill(Position from, Time log_clock);
  [[nodiscard]] Backfill* backfill() const noexcept { return backfill_.get(); }  // null: none is under way
  void end_backfill();

 private:
  struct Start {
    Position at{};
    std::string attempt;
    static void fields(auto& self, auto& archive) { archive(1, self.at), archive(2, self.attempt); }
  };
  [[nodiscard]] static const EventRecord* event_named(const Entry& entry, std::string_view name);
  Attempt* attempt_of(const Entry& entry, std::optional<std::size_t> origin, Time log_clock);
  [[nodiscard]] Attempt* attempt_without(const Parts::Start& part, Time arrival) const;
  Attempt& begin(std::string name, const Entry& entry, Time log_clock);
  [[nodiscard]] Attempt* find(std::string_view attempt) const;
  bool advance_attempts(Time clock, TickBudget& budget);
  [[nodiscard]] bool cluster() const noexcept { return cluster_; }
  // When an attempt without a further record has ended; the cluster's never has.
  [[nodiscard]] Time noticed(const Attempt& attempt) const {
    return cluster() ? never : attempt.last_arrival() + unseen;
  }
  [[nodiscard]] Time due_by(Time (Attempt::*of)() const) const;
  [[nodiscard]] Time due_of(const Attempt& attempt) const;
  bool advance_one(Attempt& attempt, Time clock, TickBudget& budget);
  void remember(Attempt& attempt, Time at);
  void use(const PackChange& change);
  void bury();

  std::string name_;
  bool cluster_;
  std::unique_ptr<Digest> digest_;
  std::unique_ptr<EarlierAttempts> earlier_;
  std::unique_ptr<JobRules> rules_;
  JobContext job_;
  PackChange change_;                                    // the pack that its attempts go by
  std::vector<std::unique_ptr<Attempt>> attempts_;       // by start; the last is current
  std::map<std::string, Time, std::less<>> tombstones_;  // until when
  Duplicates duplicates_;
  RefusedEntries refused_;
  std::vector<Start> starts_;  // as far back as a restore reads: whose entries without an attempt were
  Origins origins_;
  std::vector<std::pair<Position, Origins>> marks_;  // of a re-keyed subject
  std::unique_ptr<Backfill> backfill_;
  Duration ahead_{};  // the furthest that a source's arrival lay ahead of the log's clock
  std::uint32_t started_ = 0;
  bool sealed_ = false;
  Time clock_ = long_ago;
  Digest buried_rows_;
};

}  // namespace tocsin::stream
