#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/topology/topology.h"
#include "stream/values/result.h"

namespace tocsin::stream {

// The concrete evaluation of a scripted rule: the same operations, applied at once.
class Scratch {
 public:
  virtual ~Scratch() = default;
  [[nodiscard]] virtual Graph& graph() = 0;  // append with apply(); truncated after the evaluation
  virtual void compute(NodeId node) = 0;     // and its arguments
  [[nodiscard]] virtual Column column(NodeId node) const = 0;
  [[nodiscard]] virtual Mask mask(NodeId node) const = 0;
  [[nodiscard]] virtual const Topology& topology() const = 0;
  [[nodiscard]] virtual std::optional<std::string> text(double symbol) const = 0;
};

// The answer of a scripted evaluation: nodes of the scratch graph.
struct ScriptedAnswer {
  NodeId answer{};
  std::vector<Output> outputs;
  std::optional<NodeId> who;
  std::vector<std::pair<std::string, NodeId>> causes;
  std::vector<std::pair<std::size_t, NodeId>> state;  // field index, node
};

// Runs scripted rules. Implemented by dsl/.
// Owned by a ScriptRuntime; used by the thread of its shard.
class ScriptHost {
 public:
  virtual ~ScriptHost() = default;
  // An error quarantines the rule: its message names the exhausted budget or the failure, with file and line.
  virtual Result<ScriptedAnswer> evaluate(RuleIndex rule, Scratch& scratch) = 0;
};

// Makes the hosts of a pack's scripted rules, one per shard. Owned by its Pack; constant, so that several threads can
// use it.
class ScriptSource {
 public:
  virtual ~ScriptSource() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<ScriptHost>> make(const Pack& pack) const = 0;
};

}  // namespace tocsin::stream
