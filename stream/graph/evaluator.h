#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// Where the values of the graph's leaves come from, as of the tick that runs. Implemented by the Attempt.
class Leaves {
 public:
  virtual ~Leaves() = default;
  // A reduction of a window (Op w_*): one value per slot of the signal's level. `other` is the column of w_time_to. `out` holds
  // what was written there last, and absences for new members. True: all members but the first are constant, and only the first two
  // values were written.
  virtual bool reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) = 0;
  virtual void finding(const Node& node, std::span<Truth> out) = 0;  // Op f_now, f_ever
  virtual void state(const Node& node, std::span<double> out) = 0;
  virtual void freeze(const Node& node, std::span<double> in_out) = 0;  // replaces held members' values, remembers the others'
  // The number that stands for this text in columns of unit text; absent where no record ever said it.
  [[nodiscard]] virtual double symbol(std::string_view text) const = 0;
};

// Runs the nodes of a graph over the columns of one attempt. A node is computed once a tick, whoever asks; buffers are kept
// between ticks, so that nothing is allocated unless the topology or the graph grows. After a change of the topology `run` begins
// anew, as if at another tick.
// Owned by its Judge.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) = delete;

  void begin_tick();                        // forgets all values
  void forget_above(std::size_t mark);      // nodes from here on were truncated; others may take their ids
  void run(std::span<const NodeId> nodes);  // in the order of evaluation; those that are known are skipped
  void run_with_needs(NodeId node);         // one node, and what it needs where that is not known yet
  [[nodiscard]] const Graph& graph() const noexcept;
  [[nodiscard]] Column column(NodeId id) const;  // after run; empty for what did not run at this tick
  [[nodiscard]] Mask mask(NodeId id) const;
  // The value of a slot of `level` in a node of a level that contains it (or is it); absent, or unknown, where nothing does.
  [[nodiscard]] double number_at(NodeId id, Level level, Slot slot) const;
  [[nodiscard]] Truth truth_at(NodeId id, Level level, Slot slot) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
