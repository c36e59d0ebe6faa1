#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stream/rules/alert.h"
#include "stream/rules/rule_run.h"
#include "stream/topology/topology.h"
#include "stream/values/digest.h"

namespace tocsin::stream {

// The life of an attempt's alerts: pending, firing, resolved with a reason; children that wait for their parents; the
// limit of each severity and mode, which the attempts of a subject share. Runs after the rules of a tick have answered,
// parents before children. Owned by the attempt's Judge.
class AlertLifecycle {
 public:
  struct Names {
    std::string subject, attempt;
  };
  // Adds what the data shows for a member of a rule, from the values of the tick.
  using Explain = std::function<void(RuleIndex, Slot, AlertTransition&)>;
  using Publish = std::function<void(const AlertTransition&)>;

  // Those of one subject, which share its limit; it outlives them.
  using OfSubject = std::vector<const AlertLifecycle*>;
  AlertLifecycle(const Pack& pack, Names names, OfSubject* of_subject = nullptr)
      : pack_(&pack), names_(std::move(names)), of_subject_(of_subject) {
    if (of_subject_ != nullptr) of_subject_->push_back(this);
  }
  ~AlertLifecycle() {
    if (of_subject_ != nullptr) std::erase(*of_subject_, this);
  }
  AlertLifecycle(const AlertLifecycle&) = delete;
  AlertLifecycle& operator=(const AlertLifecycle&) = delete;

  // Processes the rules that ran at this tick, in any order.
  void settle(Time tick, std::span<const RuleIndex> ran, std::vector<RuleRun>& runs, const Topology& topology,
              const Explain& explain, const Publish& publish);
  // Ends every alert, published or not, whose outcome has been unknown for too long.
  [[nodiscard]] Time next_expiry(const std::vector<RuleRun>& runs) const;
  void expire(Time now, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);
  // A member is about to leave: its alerts resolve.
  void retire(Level level, Slot slot, Time at, std::vector<RuleRun>& runs, const Topology& topology,
              const Publish& publish);
  void resolve_all(Time at, ResolveReason reason, std::vector<RuleRun>& runs, const Topology& topology,
                   const Publish& publish);
  // The attempt is over: the same for all but the alerts of rules of scope "job".
  void resolve_attempt(Time at, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);
  // A reload: resolves the published alerts of a rule that the next pack lacks, or has with another severity or mode.
  void withdraw(RuleIndex rule, Time at, std::vector<RuleRun>& runs, const Topology& topology, const Publish& publish);
  // Continues the lifecycle of the pack before; `runs` hold the lives that continue.
  void adopt(const AlertLifecycle& old, Time from, std::vector<RuleRun>& runs, const Topology& topology,
             const Publish& publish);

  // Those that fire now, as their last transitions had it, but for the values that explained them.
  [[nodiscard]] std::vector<AlertTransition> firing(const std::vector<RuleRun>& runs, const Topology& topology) const;
  // The rule that keeps the member's alert waiting, because it is pending; empty: none.
  [[nodiscard]] std::string waits_for(RuleIndex rule, Slot slot, const std::vector<RuleRun>& runs,
                                      const Topology& topology) const {
    return parents(rule, slot, runs, topology).waits_for;
  }
  [[nodiscard]] std::uint64_t over_limit() const noexcept { return over_limit_; }
  // Counts the alerts of these runs, after a load or a reload.
  void count(const std::vector<RuleRun>& runs);
  void save(Writer& out) const { fields(*this, out); }
  void load(Reader& in) { fields(*this, in); }

 private:
  struct Call {
    Time tick;
    std::vector<RuleRun>& runs;
    const Topology& topology;
    const Explain* explain;
    const Publish& publish;
  };
  // The effect of this member's parents: none, wait (one is pending), or explain (one fires); with their names.
  struct Parents {
    std::string waits_for, explained_by;
  };
  // The alerts of one severity and mode.
  struct Quota {
    std::uint32_t open = 0, withheld = 0;
  };
  // The alert that counts the withheld members of a mode.
  struct Summary {
    std::uint32_t number = 0;  // of its last transition; odd: firing
    Time moved = long_ago;     // T of its last transition
    static void fields(auto& self, auto& archive) { archive(1, self.number), archive(2, self.moved); }
  };
  static void fields(auto& self, auto& archive) {
    archive(5, self.summaries_[0]), archive(6, self.summaries_[1]), archive(7, self.summaries_[2]);
  }
  static constexpr std::size_t modes = 3, severities = 4;

  [[nodiscard]] static std::size_t quota_of(const Rule& rule) noexcept;
  [[nodiscard]] Quota& quota(const Rule& rule) { return quotas_[quota_of(rule)]; }
  [[nodiscard]] std::uint32_t open(std::size_t quota) const;  // of all attempts of the subject
  void move(RuleIndex rule, const Call& call);
  [[nodiscard]] Parents parents(RuleIndex rule, Slot slot, const std::vector<RuleRun>& runs,
                                const Topology& topology) const;
  void explain_children(RuleIndex parent, const Call& call);
  void request(RuleIndex rule, Slot slot, Life& life, const Call& call);
  void release(const Rule& rule, Life& life);
  void admit(std::span<const RuleIndex> ran, const Call& call);
  void fire(RuleIndex rule, Slot slot, Life& life, const Call& call);
  void resolve(RuleIndex rule, Slot slot, Life& life, ResolveReason reason, const Call& call);
  void summarise(const Call& call);
  void summarise(Mode mode, std::uint32_t withheld, const Call& call);
  [[nodiscard]] AlertTransition transition(RuleIndex rule, Slot slot, const Life& life, const Topology& topology) const;
  [[nodiscard]] AlertTransition summary_alert(Mode mode, std::uint32_t withheld, Time since) const;
  [[nodiscard]] std::uint32_t withheld(std::size_t mode) const;

  const Pack* pack_;
  Names names_;
  OfSubject* of_subject_;
  std::array<Quota, severities * modes> quotas_{};  // derived from the lives: not saved
  std::array<Summary, modes> summaries_{};
  std::uint64_t over_limit_ = 0;  // members that met the limit, since construction
};

}  // namespace tocsin::stream
