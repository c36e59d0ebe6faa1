// What a rule reads of other rules: their answers.
#include <algorithm>
#include <utility>

#include "stream/rules/judge.h"

namespace tocsin::stream {

const Judge::Named& Judge::named_by(const Node& finding) {
  const auto id = static_cast<std::size_t>(&finding - &graph()[NodeId{0}]);
  const bool lasting = id < pack_->graph->size();  // no script appended it
  found_.resize(pack_->graph->size(), not_looked_up);
  if (lasting && found_[id] != not_looked_up) return named_[found_[id]];
  Named runs;
  for (const std::string& name : finding.attributes.findings) {
    const auto run = std::ranges::lower_bound(  // the pack's rules are sorted by name
        runs_, name, {}, [](const RuleRun& r) -> const std::string& { return r.rule().name; });
    if (run != runs_.end() && run->rule().name == name) runs.push_back(&*run);
  }
  if (!lasting) return named_by_script_ = std::move(runs);
  found_[id] = static_cast<std::uint16_t>(named_.size());
  return named_.emplace_back(std::move(runs));
}

Leaves::Reading Judge::reading_of_finding(const Node& node) {
  Reading reading;
  const auto id = static_cast<std::size_t>(&node - &graph()[NodeId{0}]);
  if (node.op != Op::f_now || id >= pack_->graph->size()) return reading;
  (void)named_by(node);
  reading.content = Reading::of_finding;
  reading.signal = static_cast<std::uint32_t>(id);
  reading.from = moment_.tick;
  return reading;
}

void Judge::finding(const Node& node, std::span<Truth> out) {
  const bool ever = node.op == Op::f_ever;
  const Named& named = named_by(node);
  const auto answer = [&](const RuleRun& run, std::span<const Truth> answers, Slot slot) {
    if (ever) return run.ever(slot);
    return slot < answers.size() ? answers[slot] : Truth::unknown;
  };
  if (node.type.level != Level::job) {  // it names one rule
    std::fill(out.begin(), out.end(), Truth::unknown);
    if (named.empty()) return;
    const auto answers = named.front()->answers(moment_.tick);
    if (ever)
      std::generate(out.begin(), out.end(), [&, slot = Slot{0}]() mutable { return named.front()->ever(slot++); });
    else std::copy_n(answers.begin(), std::min(answers.size(), out.size()), out.begin());
    return;
  }
  Truth all = Truth::no;
  for (const RuleRun* run : named) {
    const auto answers = run->answers(moment_.tick);
    const Level per = run->rule().per;
    Truth any = Truth::no;
    bool members = false;
    for (Slot slot = 0; slot < facts_.topology.size(per); ++slot) {
      if (!facts_.topology.exists(per, slot) || (per == Level::rank && slot == reserved_slot)) continue;
      members = true;
      any = any | answer(*run, answers, slot);
    }
    all = all | (members ? any : Truth::unknown);
  }
  std::fill(out.begin(), out.end(), all);
}

}  // namespace tocsin::stream
