#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/values/value.h"

namespace tocsin::oracle {

using Number = std::optional<double>;  // none: unknown; a NaN was measured
using Answer = std::optional<bool>;    // Kleene's logic: none is unknown
using Column = std::vector<Number>;
using Mask = std::vector<Answer>;
using Place = std::optional<std::size_t>;  // a slot, or none

[[nodiscard]] Answer both(Answer a, Answer b);
[[nodiscard]] Answer either(Answer a, Answer b);
[[nodiscard]] Answer opposite(Answer a);

// The engine's own forms of the two.
[[nodiscard]] Number number_of(double value);
[[nodiscard]] Answer answer_of(stream::Truth truth);
[[nodiscard]] bool same(const Number& a, double b);  // zeros of both signs are one, and so is every measured NaN

// Who there is, and what lies in what. Slots are the engine's.
class Members {
 public:
  virtual ~Members() = default;
  [[nodiscard]] virtual std::size_t size(stream::Level level) const = 0;
  // The slot of `coarse` that a member of `fine` lies in; none, too, where the slot is no member.
  [[nodiscard]] virtual Place in(stream::Level fine, std::size_t slot, stream::Level coarse) const = 0;
  [[nodiscard]] virtual std::string coordinate(stream::Level level, std::size_t slot,
                                               const std::string& name) const = 0;  // "": has none
  [[nodiscard]] virtual bool reserved_used() const { return false; }
};

// What the graph's leaves are at the tick: a value for every slot of the node's level.
class Leaves {
 public:
  virtual ~Leaves() = default;
  [[nodiscard]] virtual Column window(stream::NodeId id, const stream::Node& node, const Column& goal) = 0;
  [[nodiscard]] virtual Mask finding(const stream::Node& node) = 0;
  [[nodiscard]] virtual Column state(const stream::Node& node) = 0;
  [[nodiscard]] virtual Column freeze(const stream::Node& node, Column values) = 0;
  [[nodiscard]] virtual double job_age() const = 0;
  [[nodiscard]] virtual Number symbol(const std::string& text) const = 0;
};

// Computes the nodes of a graph at one tick, member by member, with nothing of the engine but the graph's form.
class GraphOracle {
 public:
  GraphOracle(const stream::Graph& graph, const Members& members, Leaves& leaves)
      : graph_(graph), members_(members), leaves_(leaves) {}
  [[nodiscard]] const Column& column(stream::NodeId id) { return value(id).numbers; }
  [[nodiscard]] const Mask& mask(stream::NodeId id) { return value(id).answers; }
  // As a rule of this level reads a node of it or of a coarser one.
  [[nodiscard]] Number number_at(stream::NodeId id, stream::Level level, std::size_t slot);
  [[nodiscard]] Answer answer_at(stream::NodeId id, stream::Level level, std::size_t slot);

 private:
  struct Value {
    stream::Level level;
    Column numbers;
    Mask answers;
  };

  const Value& value(stream::NodeId id);
  [[nodiscard]] Value compute(stream::NodeId id);
  [[nodiscard]] static bool answer_of_window(const stream::Node& node, Number x, Number limit);
  [[nodiscard]] Number argument(const stream::Node& node, std::size_t i, std::size_t slot);
  [[nodiscard]] Answer condition(const stream::Node& node, std::size_t i, std::size_t slot);
  [[nodiscard]] Number number_of_member(const stream::Node& node, std::size_t slot);
  [[nodiscard]] Answer answer_of_member(const stream::Node& node, std::size_t slot);
  [[nodiscard]] std::vector<std::size_t> group(const stream::Node& node, std::size_t slot);
  [[nodiscard]] Number fold(const stream::Node& node, std::size_t slot);
  [[nodiscard]] Answer fold_answers(const stream::Node& node, std::size_t slot);

  const stream::Graph& graph_;
  const Members& members_;
  Leaves& leaves_;
  std::map<stream::NodeId, Value> values_;
};

}  // namespace tocsin::oracle
