#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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
  // Returns true if all members but the first are constant and only the first two values are written; else it writes
  // all.
  virtual bool reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) = 0;
  // What the values of a reduction or finding follow from besides the other column: of the tick at which they were
  // written.
  struct Reading {
    static constexpr std::uint16_t no_zeros = 0xFFFF, of_finding = 0xFFFE;
    Time from = never;
    std::uint32_t lasting = 0;             // time alone changes nothing so long, in units of 2^20 ns; at most 52 days
    std::uint32_t content = 0, zeros = 0;  // versions, as far as they fit: of the signal, and of the column of zeros
    std::uint16_t signal = 0;              // of a finding, the number of its node
    std::uint16_t zeros_of = no_zeros;     // the number of that column

    // It is of this tick, and time alone changes nothing at the ticks before `until`.
    void lasts(Time tick, Time until) noexcept {
      from = tick;
      const std::uint64_t units = until > tick ? since(until) >> unit_bits : 0;
      lasting = static_cast<std::uint32_t>(std::min<std::uint64_t>(units, std::numeric_limits<std::uint32_t>::max()));
    }
    [[nodiscard]] bool lasts_to(Time tick) const noexcept { return since(tick) < std::uint64_t{lasting} << unit_bits; }

   private:
    static constexpr int unit_bits = 20;
    [[nodiscard]] std::uint64_t since(Time time) const noexcept {
      return static_cast<std::uint64_t>(nanoseconds(time)) - static_cast<std::uint64_t>(nanoseconds(from));
    }
  };
  virtual Reading reading(const Node&, const WindowSpec&) { return {}; }
  virtual Reading reading_of_finding(const Node&) { return {}; }
  // Whether reduce() or finding() would write the same at this tick.
  virtual bool same(const Reading&) { return false; }
  virtual void finding(const Node& node, std::span<Truth> out) = 0;  // Op f_now, f_ever
  virtual void state(const Node& node, std::span<double> out) = 0;
  virtual void freeze(const Node& node,
                      std::span<double> in_out) = 0;  // replaces the values of held members, remembers the others
  [[nodiscard]] virtual double job_age() const = 0;   // Op job_age, in seconds
  // The number that stands for this text in columns of unit text; absent if no record contains the text.
  [[nodiscard]] virtual double symbol(std::string_view text) const = 0;
  [[nodiscard]] virtual std::uint64_t texts() const { return 0; }  // how many have such a number
};

// Runs the nodes of a graph over the columns of one attempt. A node is computed if an argument has changed since it ran
// last, or what its leaf reads; otherwise it keeps its values. Buffers stay between ticks, so nothing is allocated
// unless the topology or the graph grows. After a change of the topology `run` computes everything again, as at another
// tick. Owned by its Judge.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Topology& topology, Leaves& leaves);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) = delete;

  // Bring into the cache what a run reads first; the second, once the first has come.
  void prefetch() const noexcept;
  void prefetch_nodes() const noexcept;
  void begin_tick();
  void forget();  // computes everything again at the next run
  void forget_above(
      std::size_t mark);  // drops the nodes from here on: they were truncated, and others may get their ids
  void take_room();       // for all nodes, and not only those that the graph numbers first
  void run(std::span<const NodeId> nodes);  // in the order of evaluation; skips those that are known. Takes that room
  void run(const FewNodes& nodes);          // the same for nodes that have room
  void run_with_needs(NodeId node);         // one node, and its arguments that are not known yet
  [[nodiscard]] const Graph& graph() const noexcept;
  [[nodiscard]] std::uint64_t computed() const noexcept;  // how many nodes so far
  // After run; empty for a node that did not run at this tick. What a mask of a window compares, or a mask that is
  // computed in place, lasts until the next call.
  [[nodiscard]] Column column(NodeId id) const;
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
