#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/pack.h"
#include "stream/rules/streak.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"

namespace tocsin::stream {

// One member's state in a rule: from its first yes until it is quiet again.
struct Life {
  Streak streak;
  bool on = false;           // fire has held and clear has not since: the rule's answer, whatever happened to the alert
  bool published = false;    // an alert of it is firing
  Time withheld = never;     // since when the subject's limit keeps it from firing
  std::string explained_by;  // a parent that fires on an overlapping member
  std::string attempt;       // of a rule of scope "job": the attempt in which it fired first
  std::uint64_t id = 0;
  std::uint32_t number = 0;  // of its last transition
  Time first = never;        // first T: that of pending
  Time last_known{};
  Time moved = long_ago;  // T of its last transition
  Finding finding;        // of the last firing transition
  std::optional<std::uint64_t> pid;

  // The alert has cleared: the next one on this member gets a new id.
  void begin_anew() { first = never, number = 0, explained_by.clear(), attempt.clear(); }
  static void fields(auto& self, auto& archive) {
    archive(1, self.streak), archive(2, self.on), archive(3, self.published), archive(11, self.withheld);
    archive(5, self.explained_by), archive(6, self.id), archive(7, self.number), archive(8, self.first);
    archive(9, self.last_known), archive(10, self.finding.shows), archive(12, self.moved),
        archive(13, self.finding.actions);
    archive(14, self.attempt), archive(15, self.finding.implies), archive(16, self.finding.not_known);
    archive(17, self.finding.cannot_decide), archive(18, self.finding.evidence),
        archive(19, self.finding.evidence_texts);
    archive(20, self.finding.who), archive(21, self.pid);
  }
};

// One rule over an attempt's members so far: outcomes, the answer after fire and clear, state columns, held values.
// Owned by the attempt's Judge.
class RuleRun {
 public:
  explicit RuleRun(const Rule& rule);

  // Takes the outcomes of a tick: counts them, moves each member's streak, and settles the answers. True: some member
  // is not quiet.
  bool record(Time tick, std::span<const Truth> outcomes, const Topology& topology);
  // The same for a tick with the outcomes of the one before, of members that are all quiet and as many as then.
  void repeat(Time tick);

  [[nodiscard]] const Rule& rule() const noexcept { return *rule_; }
  [[nodiscard]] std::map<Slot, Life>& lives() noexcept { return lives_; }
  [[nodiscard]] const std::map<Slot, Life>& lives() const noexcept { return lives_; }
  [[nodiscard]] std::span<const Truth> outcomes() const noexcept { return outcomes_; }
  // After fire and clear, as of the last tick at or before `tick`; unknown before the first.
  [[nodiscard]] std::span<const Truth> answers(Time tick) const;
  // answers() are the same for each tick from this one on.
  [[nodiscard]] Time unchanged_since() const noexcept { return unchanged_since_; }
  // Yes if it was ever on, no if known in 90 % of its evaluations, else unknown.
  [[nodiscard]] Truth ever(Slot slot) const;
  [[nodiscard]] bool fired() const noexcept { return fired_; }  // ever on, for any member
  // First T of the first alert that fired; never: none fired, or the rule runs only at the end, where this has no
  // meaning.
  [[nodiscard]] Time began() const noexcept { return began_; }
  [[nodiscard]] bool on() const noexcept;    // now, for any member
  [[nodiscard]] double known_share() const;  // of its members' evaluations
  [[nodiscard]] bool mostly_known() const { return known_share() >= 0.9; }
  [[nodiscard]] std::size_t members_seen() const noexcept {
    return evaluated_.size() - (rule_->per == Level::rank && !evaluated_.empty());
  }
  // No member's outcome was known at the last tick, as where there are none.
  [[nodiscard]] bool undecided() const noexcept { return ticks_ > 0 && known_now_ == 0; }
  [[nodiscard]] bool answered_yes() const noexcept { return answered_yes_; }
  [[nodiscard]] std::uint64_t evaluations() const noexcept { return ticks_; }

  // Answers are stored for this long, for dependent rules whose ticks run later than its own.
  void keep_answers_for(Duration span) { answer_memory_ = std::max(answer_memory_, span); }
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
    std::vector<std::pair<Time, std::vector<Truth>>> earlier_answers;  // few
    std::optional<Time> quarantined_until;
    std::uint32_t failures = 0;  // in a row
    std::string failure;         // the last one, with file and line
    [[nodiscard]] bool empty() const noexcept {
      return state.empty() && held.empty() && holds.empty() && earlier_answers.empty() && !has_failed();
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
  void begin(Time tick);
  void drop_empty() {
    if (seldom_ && seldom_->empty()) seldom_.reset();
  }
  std::vector<Truth>& saved_answers() noexcept { return answers_; }
  [[nodiscard]] std::vector<Truth> saved_answers() const { return {answers_now().begin(), answers_now().end()}; }
  [[nodiscard]] std::span<const Truth> answers_now() const noexcept { return answers_.empty() ? outcomes_ : answers_; }
  void count_again();
  void count(std::span<const Truth> outcomes, std::span<const std::uint8_t> existing);

  // What each tick moves stands together.
  const Rule* rule_;
  Time last_tick_ = long_ago;
  Duration last_interval_{}, answer_memory_{};
  std::uint64_t ticks_ = 0, known_sum_ = 0, evaluated_sum_ = 0;
  std::uint64_t recorded_at_ = 0;  // the version of the topology at the last that was recorded; of that one:
  std::uint32_t members_now_ = 0, known_now_ = 0, yes_now_ = 0;
  std::uint32_t repeats_ = 0;  // of outcomes_, which evaluated_ and known_ do not count yet
  bool quiet_ = false;         // none says yes or has a life
  bool fired_ = false, answered_yes_ = false;
  std::vector<Truth> outcomes_;
  Time unchanged_since_ = long_ago;  // the answers, as far as is known
  std::map<Slot, Life> lives_;
  std::vector<Truth> answers_;  // empty: they are the outcomes, as while all members are quiet
  std::vector<std::uint32_t> evaluated_, known_;
  std::vector<std::uint8_t> ever_;
  Time began_ = never;
  std::unique_ptr<Seldom> seldom_;
};

}  // namespace tocsin::stream
