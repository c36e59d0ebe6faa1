#include "stream/rules/script_runtime.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tocsin::stream {

ScriptRuntime::ScriptRuntime(PackPtr pack) : pack_(std::move(pack)) {
  if (pack_->scripts) copy_.emplace(*pack_->graph);
}

Graph& ScriptRuntime::scratch() {
  assert(copy_);
  return *copy_;
}

Result<ScriptedAnswer> ScriptRuntime::evaluate(RuleIndex rule, Scratch& scratch) {
  if (!pack_->scripts) return Error{Errc::refused, "no host for scripted rules"};
  if (!host_) {
    auto made = pack_->scripts->make(*pack_);
    if (!made) return made.error();
    host_ = std::move(*made);
  }
  return host_->evaluate(rule, scratch);
}

std::span<const RuleIndex> ScriptRuntime::named_by(const Node& finding) {
  const auto id = static_cast<std::size_t>(&finding - &graph()[NodeId{0}]);
  const bool lasting = id < pack_->graph->size();  // no script appended it
  places_.resize(pack_->graph->size(), not_looked_up);
  if (lasting && places_[id] != not_looked_up) return named_[places_[id]];
  std::vector<RuleIndex> rules;
  for (const std::string& name : finding.attributes.findings) {
    const auto rule = std::ranges::lower_bound(pack_->rules, name, {}, &Rule::name);
    if (rule != pack_->rules.end() && rule->name == name)
      rules.push_back(static_cast<RuleIndex>(rule - pack_->rules.begin()));
  }
  if (!lasting) return named_by_script_ = std::move(rules);
  places_[id] = static_cast<std::uint32_t>(named_.size());
  return named_.emplace_back(std::move(rules));
}

bool ScriptRuntime::truncate(std::size_t mark) {
  if (!copy_ || copy_->mark() <= mark) return false;
  copy_->truncate(mark);
  return true;
}

}  // namespace tocsin::stream
