// A reload: what a judge adopts from the judge of the pack before, by rule and meaning. And what ends with a member
// that leaves.
#include <algorithm>
#include <map>
#include <utility>

#include "stream/rules/judge.h"
#include "stream/rules/meaning.h"

namespace tocsin::stream {

void Judge::adopt(Judge& old, Time from) {
  scheduler_.adopt(old.scheduler_, from);
  end_reason_ = old.end_reason_;
  over_ = old.over_;
  const auto publish_it = [this](const AlertTransition& t) { publish(t); };
  for (std::size_t i = 0; i < old.runs_.size(); ++i) {
    RuleRun& before = old.runs_[i];
    const Rule& rule = before.rule();
    const auto same = std::find_if(runs_.begin(), runs_.end(), [&](const RuleRun& run) {
      return run.rule().name == rule.name && run.rule().per == rule.per;
    });
    const bool gone = same == runs_.end() || !selects(same->rule());
    // An alert keeps the severity and mode under which it fired: under others it fires again.
    if (gone || same->rule().severity != rule.severity || same->rule().severities != rule.severities ||
        same->rule().mode != rule.mode)
      old.lifecycle_.withdraw(static_cast<RuleIndex>(i), from, old.runs_, facts_.topology, publish_it);
    if (gone) continue;
    const auto held = std::as_const(before).seldom().held;
    same->adopt(std::move(before));
    answered_ = std::max(answered_, same->unchanged_since());
    adopt_frozen(old, held, *same);
    if (std::as_const(*same).seldom().has_failed() && !unchanged(*old.pack_, rule, *pack_, same->rule()))
      same->seldom().leave_quarantine(), same->seldom().failure.clear();
  }
  lifecycle_.adopt(old.lifecycle_, from, runs_, facts_.topology, publish_it);
  expiry_ = lifecycle_.next_expiry(runs_);
}

// Values that a rule holds while its alert is open: adopted for the same reduction of the same window.
void Judge::adopt_frozen(const Judge& old, const HeldValues& before, RuleRun& now) {
  if (before.empty()) return;
  std::map<std::uint64_t, const std::vector<double>*> values;
  for (const auto& [node, held] : before) values[meaning(*old.pack_, static_cast<NodeId>(node))] = &held;
  const auto index = static_cast<RuleIndex>(&now - runs_.data());
  for (std::size_t id = 0; id < pack_->graph->size(); ++id) {
    const Node& node = (*pack_->graph)[static_cast<NodeId>(id)];
    if (node.op != Op::freeze || node.attributes.rule != index) continue;
    const auto found = values.find(meaning(*pack_, node.arguments[0]));
    if (found != values.end()) now.seldom().held[static_cast<std::uint32_t>(node.arguments[0])] = *found->second;
  }
}

void Judge::retire(Level level, Slot slot, Time at) {
  lifecycle_.retire(level, slot, at, runs_, facts_.topology, [this](const AlertTransition& t) { publish(t); });
  expiry_ = lifecycle_.next_expiry(runs_);
  steady_.disturb(at);
}

}  // namespace tocsin::stream
