#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stream/graph/evaluator.h"
#include "stream/rules/alert.h"
#include "stream/rules/alert_lifecycle.h"
#include "stream/rules/counters.h"
#include "stream/rules/job_rules.h"
#include "stream/rules/pack.h"
#include "stream/rules/rule_evaluation.h"
#include "stream/rules/rule_run.h"
#include "stream/rules/scheduler.h"
#include "stream/rules/script_runtime.h"
#include "stream/rules/steady.h"
#include "stream/rules/verdict.h"
#include "stream/topology/topology.h"
#include "stream/values/digest.h"
#include "stream/values/prefetch.h"
#include "stream/values/symbols.h"
#include "stream/windows/history.h"

namespace tocsin::stream {

class Explanation;

// What an attempt's parts share with its subject and shard; all of it outlives them.
struct Context {
  AlertSink* sink = nullptr;
  Counters* counters = nullptr;
  Digest* digest = nullptr;
  bool digest_columns = false;
  bool evaluate_all = false;
  const RuleObserver *observer = nullptr, *settled_observer = nullptr;
  BeatTimes beats;
};

// Runs the rules of a pack over one attempt: which are due, their merged graph, outcomes, state, alerts, the verdict.
// Reads what the attempt has learned (history, topology, coverage) and never changes it. Owned by its Attempt.
class Judge final : private Leaves {
 public:
  struct Facts {  // of the attempt, by reference
    const std::string& subject;
    const std::string& attempt;
    const std::map<std::string, std::string>& labels;
    const Topology& topology;
    const SourceCoverage& coverage;
    const Symbols& symbols;
    History& history;
    JobRules& job;  // of the subject
    Time start;
    Time end = never;  // E, once known
  };
  // `scripts` belongs to this pack and outlives the judge.
  Judge(PackPtr pack, ScriptRuntime& scripts, Facts facts, Context around);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // As those of an Attempt.
  void prefetch() const noexcept { prefetch_object(*this); }
  void prefetch_evaluator() const noexcept { evaluator_.prefetch(); }
  void prefetch_nodes() const noexcept { evaluator_.prefetch_nodes(); }

  void disturb(Time arrival) {
    steady_.disturb(arrival);
  }                                        // a record was applied, or the attempt has learned something
  void age_anew() { steady_.age_anew(); }  // the log had a gap
  void applied(const Applied& applied) { scheduler_.applied(applied.signal, applied.at); }
  // The member is about to leave the topology: its alerts resolve.
  void retire(Level level, Slot slot, Time at);
  void end(Time end, std::string reason);
  [[nodiscard]] Time next_due() const {
    if (over_) return expiry_;  // of alerts of the job
    return std::min(scheduler_.next(), facts_.end == never ? expiry_ : never);
  }
  [[nodiscard]] std::span<const SignalId> triggers() const noexcept { return scheduler_.triggers(); }
  void perform(Time at);  // runs all that is due at this instant, which is next_due()
  [[nodiscard]] bool over() const noexcept { return over_; }  // "end" has run and the verdict is published
  [[nodiscard]] Time last_tick() const noexcept { return scheduler_.last_tick(); }
  [[nodiscard]] const std::string& end_reason() const noexcept { return end_reason_; }
  [[nodiscard]] std::vector<UndecidedRule> undecided() const {
    return stream::undecided(*pack_, runs_, facts_.history, facts_.coverage);
  }
  [[nodiscard]] std::vector<AlertTransition> firing() const;

  // Of rules of scope "job", whose alerts do not end with the attempt: whether some are here once it is over.
  [[nodiscard]] bool holds_alerts() const;
  void resolve_rest();  // no other attempt follows that could take them
  void leave();         // their state stays with the job

  [[nodiscard]] const Pack& pack() const noexcept { return *pack_; }
  // Adopts from the judge of another pack, by rule and meaning: state, k of n, frozen values, open alerts, and what was
  // due.
  void adopt(Judge& old, Time from);
  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  class Script;

  // Includes what scripted rules appended at this tick.
  [[nodiscard]] const Graph& graph() const noexcept { return scripts_->graph(); }
  void run(Scheduler::Due& due);
  [[nodiscard]] bool selects(const Rule& rule) const;  // whether the job has the labels that the rule asks for
  void judge(RuleIndex index, DigestStep& digest);     // a rule that is due
  bool repeat_quiet(RuleIndex index, DigestStep& digest);
  void evaluate(RuleIndex index, RuleRun& run);
  void repeat(RuleRun& run);  // without an evaluation
  [[nodiscard]] bool observed() const;
  void show(RuleIndex index, const RuleObserver& observer);
  void take_over(RuleIndex index);  // of scope "job": what is in other attempts of the members that are in this one
  bool take(Judge& other, RuleRun& theirs, RuleRun& ours);
  bool take_left(RuleRun& ours);
  bool evaluate_script(RuleIndex index, const Rule& rule, RuleRun& run);
  void write_state(const Rule& rule, RuleRun& run, std::span<const std::pair<std::size_t, NodeId>> writes);
  void take_outcomes(NodeId answer, const Rule& rule);
  void add_to_digest(RuleRun& run, DigestStep& digest);
  void add_columns_to_digest(RuleRun& run, DigestStep& digest);
  void explain(RuleIndex index, Slot slot, AlertTransition& transition);
  // A rule built on others also carries their evidence: `stalled.limit` in `collective_hang`.
  void add_evidence_of_findings(const Rule& rule, Slot slot, AlertTransition& transition);
  [[nodiscard]] Explanation explanation(const Rule& rule);
  // Why the reduction of a window is unknown for the member.
  [[nodiscard]] std::string why_unknown(NodeId reduction, Level level, Slot slot);
  [[nodiscard]] std::vector<std::string> missed_by(const Rule& rule, const std::string& finding);
  void run_aside(std::span<const NodeId> nodes);  // at the tick of another rule
  void publish(AlertTransition transition);
  void conclude();
  [[nodiscard]] bool training() const;  // or nothing says that it is none
  void prepare();
  using HeldValues = std::map<std::uint32_t, std::vector<double>>;
  void adopt_frozen(const Judge& old, const HeldValues& before, RuleRun& now);

  bool reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) override;
  Reading reading(const Node& reduction, const WindowSpec& window) override {
    return facts_.history.reading(reduction, window, moment_, facts_.coverage);
  }
  Reading reading_of_finding(const Node& node) override;
  bool same(const Reading& reading) override {
    if (reading.zeros_of != Reading::of_finding) return facts_.history.same(reading, moment_, facts_.coverage);
    const auto unchanged = [&](RuleIndex rule) {
      return runs_[static_cast<std::size_t>(rule)].unchanged_since() <= reading.from;
    };
    // Once the end is known, rules for the end answer at a moment at which others have been read.
    return facts_.end == never && moment_.tick >= reading.from &&
           std::ranges::all_of(scripts_->named_by(graph()[static_cast<NodeId>(reading.signal)]), unchanged);
  }
  [[nodiscard]] std::uint64_t texts() const override { return facts_.symbols.size(); }
  [[nodiscard]] double job_age() const override;
  void finding(const Node& node, std::span<Truth> out) override;
  void state(const Node& node, std::span<double> out) override;
  void freeze(const Node& node, std::span<double> in_out) override;
  [[nodiscard]] double symbol(std::string_view text) const override;

  PackPtr pack_;
  ScriptRuntime* scripts_;
  Facts facts_;
  Context context_;
  Scheduler scheduler_;
  SteadyRules steady_;
  Evaluator evaluator_;
  std::vector<RuleRun> runs_;
  AlertLifecycle lifecycle_;
  Moment moment_;
  Time tick_{};  // T of the current tick: that of the moment, but exactly E at the last
  std::vector<Truth> outcomes_;
  // The answers of scripted rules at the current tick: their outputs are nodes above the graph's mark.
  std::map<RuleIndex, Rule> script_answers_;
  std::size_t gaps_ = 0;              // of the log that counted at the last tick
  Time expiry_ = never;               // of the first alert that has no confirmation; settled after each tick
  Time answered_ = long_ago;          // the last tick after which a rule's answers were others
  bool selective_ = false;            // a rule asks for labels
  std::vector<RuleIndex> due_rules_;  // memory of those of the tick
  std::vector<RuleIndex> alive_;      // rules of the tick with members that are not quiet, before or after it
  std::string end_reason_;            // empty: unknown
  bool over_ = false;
  bool explaining_ =
      false;  // nodes run for an explanation at another rule's tick: frozen values must not be remembered
};

}  // namespace tocsin::stream
