#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/values/units.h"

namespace tocsin::stream {

// Parts of messages.
[[nodiscard]] Error refuse(std::string message);
[[nodiscard]] std::string quoted(std::string_view text);    // "node"
[[nodiscard]] std::string in_ticks(std::string_view text);  // 'above'
[[nodiscard]] std::string shown(double value);
[[nodiscard]] std::string shown(const Scalar& value);

// One application of an operation: checks the arguments and builds the node. Lives for one call.
struct Graph::Application {
  Graph& graph;
  Op op;
  std::vector<NodeId> arguments;
  Attributes attributes;

  using Made = Result<NodeId>;
  const Operation& entry() const { return operation(op); }
  const Node& at(std::size_t i) const { return graph[arguments[i]]; }
  const Type& type(std::size_t i) const { return at(i).type; }

  std::string written() const { return in_ticks(entry().name.empty() ? operation(Op::clamp).name : entry().name); }

  // The argument, checked for its shape; a number where a number is required.
  Result<void> want(std::size_t i, Shape shape, bool numbers = true) const;
  Made make(Type type_of, Attributes with = {}) const;
  NodeId spread(NodeId id, Level level) const;

  // Brings all arguments to the finest level among them. A constant needs no spreading.
  Level meet();
  Result<std::string> common(std::string_view what) const;

  // ---- windows

  Made window();

  std::string unit_over_time(const std::string& unit, const SignalDefinition& signal) const;

  // A frozen need's value is held after the reduction, so rules without freeze can share the reduction.
  Made reduced(WindowSpec spec, Type type_of, Attributes kept);
  Made mask_of_window(WindowSpec spec);
  Result<std::string> field_of(const SignalDefinition& signal, const std::string& field) const;
  Made filtered(WindowSpec spec, const SignalDefinition& signal);
  Result<void> check_number(const SignalDefinition& signal) const;
  Result<void> check_quantile() const;

  // ---- member by member

  Made columns(std::string_view what);

  // The result over constants alone. A result that is not finite is left to the kernels, which know what is unknown.
  std::optional<double> fold() const;
  Made comparing();
  Made make_mask();

  // The texts that a state can have, found through the nodes that hold or spread it.
  const std::vector<std::string>* closed_values(NodeId id) const;
  Made is_any();
  Made same();
  // Conjunctions and disjunctions are flat, and ~, surely and maybe are forms of their arguments: what means the same
  // is one node, however it was written.
  Made masks();
  void add_term(NodeId mask, MaskForm form, Op joining, std::vector<std::pair<NodeId, MaskForm>>& terms) const;
  Made choice();

  // ---- across members

  Made grouped();

  std::optional<Made> read_outside() const;

  // n of at_least(n, group): a number, or a column with one value for each group.
  Result<void> limit(Level to, Attributes& kept);

  // For a group that is the value's own level: one value each already.
  Made alone() const;
  Result<Level> group_level();
  Made at_level();
  Made run();
};

}  // namespace tocsin::stream
