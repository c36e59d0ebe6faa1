#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/evaluation_counts.h"
#include "stream/rules/life.h"
#include "stream/rules/outcomes.h"
#include "stream/rules/pack.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/prefetch.h"

namespace tocsin::stream {

// One rule over an attempt's members so far: outcomes, the answer after fire and clear, state columns, held values.
// Owned by the attempt's Judge.
class RuleRun {
 public:
  explicit RuleRun(const Rule& rule);

  // Takes the outcomes of a tick: counts them, moves each member's streak, and settles the answers. True: some member
  // is not quiet.
  bool record(Time tick, std::span<const Truth> outcomes, const Topology& topology);
  // The same for a tick with the outcomes of the one before, where quiet(), of as many members as then.
  void repeat(Time tick) {
    begin(tick);
    count_again();
  }

  [[nodiscard]] const Rule& rule() const noexcept { return *rule_; }
  // At the tick before, no member answered yes or had a life. A life that has ended since left its answer.
  [[nodiscard]] bool quiet() const noexcept { return quiet_; }
  [[nodiscard]] Lives& lives() noexcept { return lives_; }
  [[nodiscard]] const Lives& lives() const noexcept { return lives_; }
  [[nodiscard]] std::span<const Truth> outcomes() const noexcept { return outcomes_.all(); }
  // After fire and clear, as of the last tick at or before `tick`; unknown before the first.
  [[nodiscard]] std::span<const Truth> answers(Time tick) const;
  // answers() are the same for each tick from this one on.
  [[nodiscard]] Time unchanged_since() const noexcept { return unchanged_since_; }
  // Yes if it was ever on, no if known in 90 % of its evaluations, else unknown.
  [[nodiscard]] Truth ever(Slot slot) const;
  [[nodiscard]] bool fired() const noexcept { return fired_; }  // ever on, for any member
  // First T of the first alert that fired; never: none fired, or the rule runs only at the end, where this has no
  // meaning.
  [[nodiscard]] Time began() const noexcept { return seldom().began; }
  [[nodiscard]] bool on() const noexcept;    // now, for any member
  [[nodiscard]] double known_share() const;  // of its members' evaluations
  [[nodiscard]] bool mostly_known() const { return known_share() >= 0.9; }
  [[nodiscard]] std::size_t members_seen() const noexcept {
    return outcomes_.size() - (rule_->per == Level::rank && outcomes_.size() != 0);
  }
  // No member's outcome was known at the last tick, as where there are none.
  [[nodiscard]] bool undecided() const noexcept { return ticks_ > 0 && known_now_ == 0; }
  [[nodiscard]] bool answered_yes() const noexcept { return answered_yes_; }
  [[nodiscard]] std::uint64_t evaluations() const noexcept { return ticks_; }

  // Brings into the cache what an evaluation changes: that of thousands of jobs is not there.
  void prefetch() const noexcept { prefetch_object(*this); }
  void prefetch_outcomes() const noexcept { __builtin_prefetch(outcomes().data()); }

  // Answers are stored for this long, for dependent rules whose ticks run later than its own.
  void keep_answers_for(Duration span) { seldom().answer_memory = std::max(seldom().answer_memory, span); }
  // How long an alert can stay without a known outcome.
  [[nodiscard]] Duration patience() const;

  // State columns, by field; a member without a written value has the field's initial value.
  [[nodiscard]] std::vector<double>& state(std::size_t field, std::size_t members);
  [[nodiscard]] std::span<const double> state(std::size_t field) const { return seldom().state[field]; }

  // What most rules never have.
  struct Seldom {
    std::vector<std::vector<double>> state;  // as state() gives it
    // Values that a freeze node holds, by node in the order of the rule's nodes.
    std::map<std::uint32_t, std::vector<double>> held;
    // Of scope "job": by slot, whether the member's state and alert are here, and not in the run of another attempt.
    std::vector<std::uint8_t> holds;
    std::vector<Truth> answers;                                        // empty: they are the outcomes
    Duration answer_memory{};                                          // how long the next are stored
    std::vector<std::pair<Time, std::vector<Truth>>> earlier_answers;  // few
    std::vector<std::uint8_t> ever;                                    // by slot: was on; as far as any was
    Time began = never;
    std::optional<Time> quarantined_until;
    std::uint32_t failures = 0;  // in a row
    std::string failure;         // the last one, with file and line
    [[nodiscard]] bool empty() const noexcept {
      return state.empty() && held.empty() && holds.empty() && answers.empty() && answer_memory == Duration{} &&
             earlier_answers.empty() && ever.empty() && began == never && !has_failed();
    }
    [[nodiscard]] bool has_failed() const noexcept { return quarantined_until || failures > 0 || !failure.empty(); }
    void leave_quarantine() { quarantined_until.reset(), failures = 0; }
  };
  [[nodiscard]] Seldom& seldom() { return *(seldom_ ? seldom_ : seldom_ = std::make_unique<Seldom>()); }
  [[nodiscard]] const Seldom& seldom() const noexcept;

  // A member's alert in another attempt goes on in this one.
  void adopt(Slot slot, Life life);
  // Continues the run of the same rule in the pack before: all but `held`, and state by name.
  void adopt(RuleRun&& old);
  void save(Writer& out) const;
  void load(Reader& in);

 private:
  static void fields(auto& self, auto& archive);
  void begin(Time tick) {
    if (seldom_ && seldom_->answer_memory > Duration{}) keep_answers(tick);
    if (last_tick_ != long_ago) last_interval_ = tick - last_tick_;
    last_tick_ = tick;
    ++ticks_;
  }
  void keep_answers(Time tick);  // those of the tick before, for what runs later
  void drop_empty() {
    if (seldom_ && seldom_->empty()) seldom_.reset();
  }
  // After fire and clear; while all members are quiet, they are the outcomes.
  [[nodiscard]] std::span<const Truth> answers_now() const noexcept {
    return seldom().answers.empty() ? outcomes() : seldom().answers;
  }
  void count_again() {
    ++repeats_;
    known_sum_ += known_now_;
    evaluated_sum_ += members_now_;
  }
  void mark_ever(Slot slot);
  void count(std::span<const Truth> outcomes, std::span<const std::uint8_t> existing);

  // What each tick moves stands together.
  const Rule* rule_;
  Time last_tick_ = long_ago;
  Duration last_interval_{};
  std::uint64_t ticks_ = 0, known_sum_ = 0, evaluated_sum_ = 0;
  bool quiet_ = false;  // as quiet(); false after a restore
  bool yes_now_ = false, fired_ = false, answered_yes_ = false;
  std::uint32_t repeats_ = 0;  // of outcomes_, which counts_ does not have yet
  std::uint32_t members_now_ = 0, known_now_ = 0;
  Lives lives_;
  std::unique_ptr<Seldom> seldom_;
  Outcomes outcomes_;
  Time unchanged_since_ = long_ago;  // the answers, as far as is known
  [[no_unique_address]] EvaluationCounts counts_;
  std::uint32_t recorded_at_ = 0;  // the version of the topology at the last that was recorded
};

}  // namespace tocsin::stream
