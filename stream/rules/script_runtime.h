#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/rules/scripts.h"

namespace tocsin::stream {

// What changes while a pack's scripted rules are evaluated: a copy of the pack's graph, to which they append nodes for
// one tick, and the host that runs their functions, made at the first evaluation. A pack of compiled rules needs
// neither. And which rules its findings name. Owned by a shard; the judges of its attempts use it one after the other.
class ScriptRuntime {
 public:
  explicit ScriptRuntime(PackPtr pack);

  // The graph that evaluators run: the copy if there is one, else the pack's own graph.
  [[nodiscard]] const Graph& graph() const noexcept { return copy_ ? *copy_ : *pack_->graph; }
  [[nodiscard]] Graph& scratch();  // the copy; only of a pack with scripted rules
  [[nodiscard]] Result<ScriptedAnswer> evaluate(RuleIndex rule, Scratch& scratch);
  // Removes what was appended above `mark`. True: there was something.
  bool truncate(std::size_t mark);
  // The rules of the pack that a finding of graph() names. What it gives lasts until the next call.
  [[nodiscard]] std::span<const RuleIndex> named_by(const Node& finding);

 private:
  PackPtr pack_;
  std::optional<Graph> copy_;
  std::unique_ptr<ScriptHost> host_;
  static constexpr std::uint32_t not_looked_up = 0xFFFF'FFFF;
  std::vector<std::uint32_t> places_;  // by node of the pack's graph, of a finding: its place in named_
  std::vector<std::vector<RuleIndex>> named_;
  std::vector<RuleIndex> named_by_script_;
};

}  // namespace tocsin::stream
