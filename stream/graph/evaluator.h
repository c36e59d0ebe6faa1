#pragma once

#include <memory>
#include <span>

#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/value.h"

namespace tocsin::stream {

// Gives the values of the graph's leaves at the current tick. Implemented by the Attempt.
class Leaves {
 public:
  virtual ~Leaves() = default;
  // A reduction of a window (Op w_*): one value per slot of the signal's level; of a mask, that of column_of(). `other`
  // is the column of w_time_to.
  // `out` holds what was written there last, and absences for new members. Returns true if all members but the first
  // are constant and only the first two values are written.
  virtual bool reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) = 0;
  virtual void finding(const Node& node, std::span<Truth> out) = 0;  // Op f_now, f_ever
  virtual void state(const Node& node, std::span<double> out) = 0;
  virtual void freeze(const Node& node,
                      std::span<double> in_out) = 0;  // replaces the values of held members, remembers the others
  [[nodiscard]] virtual double job_age() const = 0;   // Op job_age, in seconds
  // The number that stands for this text in columns of unit text; absent if no record contains the text.
  [[nodiscard]] virtual double symbol(std::string_view text) const = 0;
};

// Runs the nodes of a graph over the columns of one attempt. A node runs at most once a tick. Once all nodes that take
// its values have run, its memory is another's, and its values are computed again for whoever asks. Buffers stay
// between ticks, so nothing is allocated unless the topology or the graph grows. After a change of the topology `run`
// computes everything again, as at another tick. Owned by its Judge.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) = delete;

  void begin_tick();  // forgets all values
  void forget_above(
      std::size_t mark);  // drops the nodes from here on: they were truncated, and others may get their ids
  void run(std::span<const NodeId> nodes);  // in the order of evaluation; skips those that are known
  void run_with_needs(NodeId node);         // one node, and its arguments that are not known yet
  [[nodiscard]] const Graph& graph() const noexcept;
  [[nodiscard]] Column column(NodeId id) const;  // after run; empty for a node that did not run at this tick
  [[nodiscard]] Mask mask(NodeId id) const;
  // The value of a slot of `level` in a node of the same or a containing level; absent, or unknown, where nothing
  // contains it.
  [[nodiscard]] double number_at(NodeId id, Level level, Slot slot) const;
  [[nodiscard]] Truth truth_at(NodeId id, Level level, Slot slot) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::stream
