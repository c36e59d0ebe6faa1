#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/rules/pack.h"
#include "stream/rules/rule_run.h"

namespace tocsin::stream {

// Which compiled rules of an attempt repeat their outcomes at each tick, because nothing has arrived for longer than
// any window reaches: only ages change, and they grow. Such a rule is not evaluated until an age can change an outcome,
// a finding changes, or something arrives. Owned by the attempt's Judge.
class SteadyRules {
 public:
  explicit SteadyRules(const Pack& pack) : pack_(&pack) {}

  // A record was applied that arrived then, or the attempt has learned something: windows and topology can be others
  // from the next tick on.
  void disturb(Time arrival);
  // The log had a gap: ages can be others.
  void age_anew() { ++version_; }
  // A tick at T, and T + L. False: every rule is evaluated at it.
  void begin_tick(Time tick, Time now, bool possible);
  // Whether the outcomes and the state of the rule's evaluation before are those of this tick. `leaves` give its
  // findings; no rule's answers have changed after the tick `answered`.
  [[nodiscard]] bool repeats(RuleIndex rule, Time answered, Leaves& leaves, const Graph& graph) {
    if (!lasts(rule)) return false;
    Steady& steady = rules_[static_cast<std::size_t>(rule)];
    return answered <= steady.answered || same_findings(steady, leaves, graph);
  }
  // True: it repeats, which no finding has to say.
  [[nodiscard]] bool repeats_at_once(RuleIndex rule, Time answered) const {
    return lasts(rule) && answered <= rules_[static_cast<std::size_t>(rule)].answered;
  }
  // After an evaluation of the rule at this tick: decides until when it repeats. `run` had lives before it, or not.
  void consider(RuleIndex rule, const RuleRun& run, bool had_lives, const Evaluator& evaluator,
                const Topology& topology, Leaves& leaves);

 private:
  struct Answers {  // of a finding, at the evaluation
    NodeId node{};
    Leaves::Reading reading;
    std::vector<Truth> values;
  };
  struct Steady {
    Time until = long_ago;     // T + L
    Time answered = long_ago;  // T at which its findings were seen last; never: it has none
    std::uint64_t version = 0;
    Duration memory{};  // nothing that arrived longer ago is in one of its windows
    bool freezes = false;
    bool ever = false;  // a finding can change without an answer
    std::vector<Answers> findings;
    std::vector<std::pair<NodeId, std::size_t>> states;  // nodes that read a field
    Time retry = long_ago;
    Duration wait{};
  };
  [[nodiscard]] bool lasts(RuleIndex rule) const {
    if (!possible_) return false;
    const Steady& steady = rules_[static_cast<std::size_t>(rule)];
    return steady.version == version_ && now_ <= steady.until;
  }
  [[nodiscard]] bool quiet(const Steady& steady) const { return possible_ && now_ >= disturbed_ + steady.memory; }
  void make();
  bool same_findings(Steady& steady, Leaves& leaves, const Graph& graph);
  void look(Steady& steady, const Rule& rule, const Evaluator& evaluator, const Topology& topology,
            Leaves& leaves) const;

  const Pack* pack_;
  std::vector<Steady> rules_;   // empty until nothing has come for a while: most jobs never need it
  std::vector<Truth> answers_;  // scratch
  Time disturbed_ = long_ago;   // after it, nothing arrived
  bool disturbed_now_ = true;   // since the tick before; after a restore it is not known
  std::uint64_t version_ = 1;
  Time tick_{}, now_{};
  bool possible_ = false;  // that rules repeat at this tick
};

}  // namespace tocsin::stream
