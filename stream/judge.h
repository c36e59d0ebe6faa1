#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stream/agenda.h"
#include "stream/alert.h"
#include "stream/alert_desk.h"
#include "stream/digest.h"
#include "stream/evaluator.h"
#include "stream/history.h"
#include "stream/pack.h"
#include "stream/rule_run.h"
#include "stream/shard.h"
#include "stream/symbols.h"
#include "stream/topology.h"

namespace tocsin::stream {

// What an attempt's parts share with its subject and shard; all of it outlives them.
struct Surroundings {
  AlertSink* sink = nullptr;
  Counters* counters = nullptr;
  Digest* digest = nullptr;
  bool digest_columns = false;
  const std::function<void(const Shard::Evaluation&)>* observer = nullptr;
};

// Runs the rules of a pack over one attempt: which are due, their merged graph, outcomes, state, alerts, the verdict. It looks at
// what the attempt has learned (history, topology, hearing) and never writes there.
// Owned by its Attempt.
class Judge final : private Leaves {
 public:
  struct Facts {  // the attempt's own, by reference
    const std::string& subject;
    const std::string& attempt;
    const std::map<std::string, std::string>& labels;
    const Topology& topology;
    const Hearing& hearing;
    const Symbols& symbols;
    History& history;
    Time start;
    Time end = never;  // E, once known
  };
  Judge(std::shared_ptr<Pack> pack, Facts facts, Surroundings around);
  ~Judge();

  void applied(const Applied& applied) { agenda_.applied(applied.signal, applied.at); }
  void end(Time end, std::string reason);
  [[nodiscard]] Time next_due() const;
  void perform(Time at);                                      // all that is due at this instant; it is next_due()
  [[nodiscard]] bool over() const noexcept { return over_; }  // "end" has run, the verdict is given
  [[nodiscard]] Time last_tick() const noexcept { return agenda_.last_tick(); }
  [[nodiscard]] const std::string& end_reason() const noexcept { return end_reason_; }

  [[nodiscard]] const Pack& pack() const noexcept { return *pack_; }
  // Takes over from the judge of another pack: rule state by name and kind, open alerts, what was due.
  void adopt(Judge& old, Time from);
  void save(Writer& out) const;
  Result<void> load(Reader& in);

 private:
  class Script;

  void run(const Agenda::Due& due);
  [[nodiscard]] bool selects(const Rule& rule) const;  // the job has the labels that the rule asks for
  void evaluate(RuleIndex index);
  bool evaluate_script(RuleIndex index, const Rule& rule, RuleRun& run);
  void write_state(const Rule& rule, RuleRun& run, std::span<const std::pair<std::size_t, NodeId>> writes);
  void take_outcomes(NodeId answer, const Rule& rule);
  void add_to_digest(const Rule& rule);
  void tell(RuleIndex index, Slot slot, AlertTransition& transition);
  // A rule built on others carries their evidence too: `stalled.limit` in `collective_hang`.
  void add_evidence_of_findings(const Rule& rule, Slot slot, AlertTransition& transition);
  void publish(const AlertTransition& transition);
  void conclude();
  void prepare();

  bool reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) override;
  void finding(const Node& node, std::span<Truth> out) override;
  void state(const Node& node, std::span<double> out) override;
  void freeze(const Node& node, std::span<double> in_out) override;
  [[nodiscard]] double symbol(std::string_view text) const override;

  std::shared_ptr<Pack> pack_;
  Facts facts_;
  Surroundings around_;
  Agenda agenda_;
  Evaluator evaluator_;
  std::vector<RuleRun> runs_;
  AlertDesk desk_;
  Moment moment_;
  std::vector<Truth> outcomes_;
  // Scripted rules as they answered at the tick that runs: their outputs are nodes above the graph's mark.
  std::map<RuleIndex, Rule> told_by_script_;
  Time expiry_ = never;     // of the first alert that nobody confirms; settled after each tick
  std::string end_reason_;  // empty: not known
  bool over_ = false;
  bool telling_ = false;  // nodes run to be told of, at another rule's tick: frozen values are not theirs to remember
};

// The verdict of a finished attempt: each family in, out or undecidable, and the one that precedence names.
[[nodiscard]] Verdict conclude(const Pack& pack, const std::vector<RuleRun>& runs,
                               const std::function<std::vector<std::string>(RuleIndex)>& missing);

}  // namespace tocsin::stream
