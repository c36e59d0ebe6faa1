#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/rule_run.h"
#include "stream/topology/topology.h"
#include "stream/values/digest.h"

namespace tocsin::stream {

// The life of an attempt's alerts: pending, firing, resolved with a reason; children that wait for their parents, the subject's
// limit. It moves after the rules of a tick have answered, parents before children.
// Owned by the attempt's Judge.
class AlertLifecycle {
 public:
  struct Names {
    std::string subject, attempt;
  };
  // Fills in what the data shows for a member of a rule, at the values of the tick.
  using Tell = std::function<void(RuleIndex, Slot, AlertTransition&)>;
  using Publish = std::function<void(const AlertTransition&)>;

  AlertLifecycle(const Pack& pack, Names names) : pack_(&pack), names_(std::move(names)) { index_children(); }

  // The rules that ran at this tick, in any order.
  void settle(Time tick, std::span<const RuleIndex> ran, std::vector<RuleRun>& runs, const Topology& topology, const Tell& tell,
              const Publish& publish);
  // Alerts that nobody has confirmed for too long.
  [[nodiscard]] Time next_expiry(const std::vector<RuleRun>& runs) const;
  void expire(Time now, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);
  void resolve_all(Time at, ResolveReason reason, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);
  // The alerts of a rule that the next pack does not have.
  void remove_rule(RuleIndex rule, Time at, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);

  [[nodiscard]] std::uint32_t open() const noexcept { return open_; }
  [[nodiscard]] std::uint64_t over_limit() const noexcept { return over_limit_; }
  void save(Writer& out) const { fields(*this, out); }
  void load(Reader& in) { fields(*this, in); }
  void use(const Pack& pack) { pack_ = &pack, index_children(); }

 private:
  static void fields(auto& self, auto& archive) {
    archive(1, self.open_), archive(2, self.over_limit_), archive(3, self.withheld_), archive(4, self.summary_);
  }
  struct Call {
    Time tick;
    std::vector<RuleRun>& runs;
    const Topology& topology;
    const Tell* tell;
    const Publish& publish;
  };
  void index_children();
  void move(RuleIndex rule, const Call& call);
  void resolve(RuleIndex rule, Slot slot, Life& life, ResolveReason reason, const Call& call);
  void fire(RuleIndex rule, Slot slot, Life& life, const Call& call);
  void explain_children(RuleIndex parent, const Call& call);
  void summarise(const Call& call);
  [[nodiscard]] AlertTransition transition(RuleIndex rule, Slot slot, const Life& life, const Call& call) const;
  // What the parents of this member do: nothing, wait (one is pending), or explain (one fires: its name).
  struct Parents {
    bool wait = false;
    std::string explained_by;
  };
  [[nodiscard]] Parents parents(RuleIndex rule, Slot slot, const Call& call) const;

  const Pack* pack_;
  Names names_;
  std::multimap<RuleIndex, RuleIndex> children_;  // parent to child
  std::uint32_t open_ = 0;
  std::uint64_t over_limit_ = 0;  // members that ever met the limit
  std::uint64_t withheld_ = 0;    // members that it holds back now
  std::uint32_t summary_ = 0;     // number of the summary alert's last transition; odd: it is firing
};

}  // namespace tocsin::stream
