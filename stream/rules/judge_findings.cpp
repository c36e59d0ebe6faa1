// What a rule reads of other rules: their answers.
#include <algorithm>
#include <limits>

#include "stream/rules/judge.h"

namespace tocsin::stream {

Leaves::Reading Judge::reading_of_finding(const Node& node) {
  Reading reading;
  const auto id = static_cast<std::size_t>(&node - &graph()[NodeId{0}]);
  if (node.op != Op::f_now || id >= pack_->graph->size() || id > std::numeric_limits<std::uint16_t>::max())
    return reading;
  reading.zeros_of = Reading::of_finding;
  reading.signal = static_cast<std::uint16_t>(id);
  reading.from = moment_.tick;
  return reading;
}

void Judge::finding(const Node& node, std::span<Truth> out) {
  const bool ever = node.op == Op::f_ever;
  const auto named = scripts_->named_by(node);
  const auto answer = [&](const RuleRun& run, std::span<const Truth> answers, Slot slot) {
    if (ever) return run.ever(slot);
    return slot < answers.size() ? answers[slot] : Truth::unknown;
  };
  if (node.type.level != Level::job) {  // it names one rule
    std::fill(out.begin(), out.end(), Truth::unknown);
    if (named.empty()) return;
    const RuleRun& one = runs_[static_cast<std::size_t>(named.front())];
    const auto answers = one.answers(moment_.tick);
    if (ever) std::generate(out.begin(), out.end(), [&, slot = Slot{0}]() mutable { return one.ever(slot++); });
    else std::copy_n(answers.begin(), std::min(answers.size(), out.size()), out.begin());
    return;
  }
  Truth all = Truth::no;
  for (const RuleIndex index : named) {
    const RuleRun& run = runs_[static_cast<std::size_t>(index)];
    const auto answers = run.answers(moment_.tick);
    const Level per = run.rule().per;
    Truth any = Truth::no;
    bool members = false;
    for (Slot slot = 0; slot < facts_.topology.size(per); ++slot) {
      if (!facts_.topology.exists(per, slot) || (per == Level::rank && slot == reserved_slot)) continue;
      members = true;
      any = any | answer(run, answers, slot);
    }
    all = all | (members ? any : Truth::unknown);
  }
  std::fill(out.begin(), out.end(), all);
}

}  // namespace tocsin::stream
