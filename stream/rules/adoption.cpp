// A reload: what a judge takes over from the judge of the pack before, by rule and meaning.
#include <algorithm>

#include "stream/rules/judge.h"

namespace tocsin::stream {

void Judge::adopt(Judge& old, Time from) {
  scheduler_.adopt(old.scheduler_, from);
  end_reason_ = old.end_reason_;
  over_ = old.over_;
  const auto publish_it = [this](const AlertTransition& t) { publish(t); };
  for (std::size_t i = 0; i < old.runs_.size(); ++i) {
    RuleRun& before = old.runs_[i];
    const Rule& rule = before.rule();
    const auto same = std::find_if(runs_.begin(), runs_.end(),
                                   [&](const RuleRun& run) { return run.rule().name == rule.name && run.rule().per == rule.per; });
    // An alert keeps the severity and mode under which it fired: with others it fires anew.
    if (same == runs_.end() || same->rule().severity != rule.severity || same->rule().mode != rule.mode)
      old.lifecycle_.withdraw(static_cast<RuleIndex>(i), from, old.runs_, facts_.topology, publish_it);
    if (same == runs_.end()) continue;
    same->adopt(before);
  }
  lifecycle_.adopt(old.lifecycle_, from, runs_, facts_.topology, publish_it);
  expiry_ = lifecycle_.next_expiry(runs_);
}

}  // namespace tocsin::stream
