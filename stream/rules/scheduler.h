#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/values/archive.h"
#include "stream/values/time.h"

namespace tocsin::stream {

// When which rules of an attempt are due. A tick at T runs when the clock has reached T + L; ticks run in the order (T
// + L, T). Periodic ticks lie on the grid k·every + phase, the phase being a hash of the subject in whole seconds;
// record ticks have the T at which the record was applied; after the end E each periodic rule has one last tick at E.
// Owned by the attempt's Judge.
class Scheduler {
 public:
  struct Due {
    Time run_at{}, tick{};
    Time rows_to{};  // rows up to here are visible: the tick, but at E the end of the row that contains it
    std::vector<RuleIndex> rules;  // after the rules that they are built on
    bool last = false;             // of a period, at E
    bool at_end = false;           // the rules that wait for "end"; then the attempt is over
  };
  static constexpr Duration grace = std::chrono::seconds{120};  // records are accepted this long after E

  Scheduler(const Pack& pack, std::string_view subject, Time start);

  void applied(SignalId signal, Time at);
  // The signals whose records trigger rules.
  [[nodiscard]] std::span<const SignalId> triggers() const noexcept { return triggers_; }
  void end(Time end);                                         // E
  [[nodiscard]] Time next() const noexcept { return next_; }  // the run_at of the next; never: there is none
  [[nodiscard]] Time next_tick() const noexcept;
  Due take(std::vector<RuleIndex> room = {});                           // the next; its rules take the memory of `room`
  [[nodiscard]] Time last_tick() const noexcept { return last_tick_; }  // the greatest T taken

  // A reload: what was due stays due for the rules of the same name; one that is new has all that is due from `from`
  // on. One that was removed and comes back, defined otherwise perhaps, judges no moment twice.
  void adopt(const Scheduler& old, Time from);
  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  struct Period {
    Duration every{}, settle{};
    std::vector<RuleIndex> rules;  // in the order of evaluation
    Time next{};
    Time last = long_ago;  // the last that was taken
    bool over = false;
  };
  // Of those that are not over, the one whose tick runs first; null: there is none.
  [[nodiscard]] const Period* next_period() const noexcept {
    return next_period_ < periods_.size() ? &periods_[next_period_] : nullptr;
  }
  [[nodiscard]] const std::string& name_of(RuleIndex rule) const;
  [[nodiscard]] Time judged_before(const std::string& rule) const;
  [[nodiscard]] Time judged_until(const Rule& rule) const;
  [[nodiscard]] const Period* period_of(const std::string& rule, Duration every) const;
  [[nodiscard]] Time run_at(const Period& period) const noexcept {
    return std::max(period.next + period.settle, not_before_);
  }
  [[nodiscard]] Time ran() const;
  [[nodiscard]] Period adopted(const Period& own, RuleIndex rule, const Scheduler& old, Time from) const;
  // Whether it is evaluated before the other, where both are due.
  [[nodiscard]] bool precedes(RuleIndex one, RuleIndex other) const noexcept {
    return places_[static_cast<std::size_t>(one)] < places_[static_cast<std::size_t>(other)];
  }
  void order(std::vector<RuleIndex>& rules) const;
  void find_next() noexcept;
  void add(std::vector<RuleIndex>& due, const std::vector<RuleIndex>& rules) const;
  void take_next(Due& due);

  const Pack* pack_;
  std::uint64_t phase_;
  std::vector<std::uint32_t> places_;  // by rule, in the order of evaluation
  std::vector<Period> periods_;
  std::size_t next_period_ = 0;
  // The rules that records of a signal trigger.
  [[nodiscard]] std::span<const RuleIndex> triggered_by(SignalId signal) const noexcept {
    const auto index = static_cast<std::size_t>(signal);
    if (index + 1 >= triggered_from_.size()) return {};
    return std::span{triggered_}.subspan(triggered_from_[index], triggered_from_[index + 1] - triggered_from_[index]);
  }
  std::vector<RuleIndex> triggered_;           // those of a signal side by side
  std::vector<std::uint32_t> triggered_from_;  // by signal, and at the end
  std::vector<SignalId> triggers_;             // of which there are any
  std::vector<RuleIndex> at_end_;
  Duration longest_settle_{};
  std::map<std::pair<Time, Time>, std::vector<RuleIndex>> records_;  // (run_at, tick)
  Time end_ = never;
  bool finished_ = false;
  bool split_ = false;          // periods_ are not those that the pack alone gives: a reload changed how late rules run
  Time not_before_ = long_ago;  // of a reload: what ran later under the pack before runs now
  std::map<std::string, Time>
      removed_;  // or triggered otherwise, by reloads of the last minutes: the greatest T that they may have judged
  Time last_tick_ = long_ago, next_ = never;
  std::optional<std::pair<SignalId, Time>> last_applied_;  // its rules are in records_ already
};

}  // namespace tocsin::stream
