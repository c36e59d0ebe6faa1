#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "stream/graph/evaluator.h"
#include "stream/windows/rows.h"

using namespace tocsin::stream;

extern std::size_t allocations_so_far;  // of counted_allocations.cpp

namespace {

class Ones : public Leaves {
 public:
  bool reduce(const Node&, const WindowSpec&, Column, std::span<double> out) override {
    return std::fill(out.begin(), out.end(), 1.0), false;
  }
  void finding(const Node&, std::span<Truth> out) override { std::fill(out.begin(), out.end(), Truth::unknown); }
  void state(const Node&, std::span<double> out) override { std::fill(out.begin(), out.end(), 0.0); }
  void freeze(const Node&, std::span<double>) override {}
  double job_age() const override { return 1.0; }
  double symbol(std::string_view) const override { return absent; }
};

}  // namespace

TEST_CASE("a tick allocates nothing once its graph has run") {
  SignalTable signals;
  SignalDefinition load;
  load.name = "load";
  REQUIRE(signals.add(load));
  signals.add_coordinate("stage", Level::rank);
  Topology topology;
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    topology.place(rank, "n" + std::to_string(rank / 8), std::to_string(rank % 8));
    topology.coordinate(Level::rank, rank + 1, "stage", std::to_string(rank % 4));
  }
  Graph graph{signals};
  const PeersId peers = graph.peers({"stage"});
  std::vector<NodeId> roots;
  const auto add = [&](Op op, std::vector<NodeId> arguments, std::optional<Group> group = {}) {
    Attributes attributes;
    attributes.group = group;
    attributes.peers = peers;
    attributes.number = 0.5;
    roots.push_back(*graph.apply(op, arguments, attributes));
    return roots.back();
  };
  const NodeId x = add(Op::w_mean, {graph.window({})});
  for (const Group group : {Group::peers, Group::node, Group::job}) {
    const NodeId typical = add(Op::g_median, {x}, group);
    const NodeId wide = add(Op::clamp, {add(Op::g_mad, {x}, group), graph.constant(0.02), graph.constant(1.0)});
    const NodeId slow = add(Op::above, {x, add(Op::add, {typical, wide})});
    add(Op::m_any, {slow}, group);
    add(Op::m_count, {slow}, group);
    add(Op::at_least, {add(Op::g_spread, {x}, group), typical});
  }
  Ones leaves;
  Evaluator evaluator{graph, topology, leaves};
  const auto nodes = graph.reach(roots);
  const auto tick = [&] {
    evaluator.begin_tick();
    evaluator.run(nodes);
  };
  tick();
  const auto before = allocations_so_far;
  for (int i = 0; i < 10; ++i) tick();
  CHECK(allocations_so_far == before);
}

TEST_CASE("a node is computed again only if an argument has changed, or what its leaf reads") {
  SignalTable signals;
  SignalDefinition load;
  load.name = "load";
  REQUIRE(signals.add(load));
  Topology topology;
  topology.place(0, "n0", "0");
  Graph graph{signals};
  const NodeId x = *graph.apply(Op::w_mean, std::array{graph.window({})});
  const NodeId high = *graph.apply(Op::above, std::array{x, graph.constant(10)});
  const NodeId answer = *graph.apply(Op::conjunction, std::array{high, *graph.apply(Op::known, std::array{x})});
  class Given final : public Ones {
   public:
    double value = 1;
    bool changed = false;
    int reduced = 0;
    bool reduce(const Node&, const WindowSpec&, Column, std::span<double> out) override {
      return ++reduced, std::fill(out.begin(), out.end(), value), false;
    }
    bool same(const Reading&) override { return !changed; }
  } leaves;
  Evaluator evaluator{graph, topology, leaves};
  const auto nodes = graph.reach(std::array{answer});
  const auto tick = [&](double value, bool changed) {
    leaves.value = value, leaves.changed = changed;
    evaluator.begin_tick();
    evaluator.run(nodes);
    return evaluator.computed();
  };
  const std::uint64_t all = tick(1, true);
  CHECK(all == 4);
  CHECK(tick(2, false) == all);      // the leaf is not read
  CHECK(tick(2, true) == all + 3);   // the mask keeps its value, and so does what is made of it
  CHECK(tick(2, true) == all + 4);   // the leaf alone
  CHECK(tick(11, true) == all + 8);  // all
  CHECK(leaves.reduced == 4);
  evaluator.forget();
  CHECK(tick(11, false) == all + 12);
  CHECK(evaluator.truth_at(answer, Level::rank, 1) == Truth::yes);
}

TEST_CASE(
    "evaluations of a script, each of which appends nodes and takes them away, allocate nothing once they have run") {
  SignalTable signals;
  SignalDefinition load;
  load.name = "load";
  REQUIRE(signals.add(load));
  Topology topology;
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    topology.place(rank, "n" + std::to_string(rank / 8), std::to_string(rank % 8));
  Graph graph{signals};
  const NodeId x = *graph.apply(Op::w_mean, std::array{graph.window({})});
  Ones leaves;
  Evaluator evaluator{graph, topology, leaves};
  std::size_t allocated = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::size_t mark = graph.mark();
    NodeId sum = x;
    for (int n = 0; n < 4; ++n) sum = *graph.apply(Op::add, std::array{sum, x});
    const auto nodes = graph.reach(std::array{*graph.apply(Op::above, std::array{sum, x})});
    const auto before = allocations_so_far;
    evaluator.begin_tick();
    evaluator.run(nodes);
    if (i > 10) allocated += allocations_so_far - before;
    graph.truncate(mark);
    evaluator.forget_above(mark);
  }
  CHECK(allocated == 0);
}

TEST_CASE(
    "members that are learned one by one have room in an open row that grows in proportion, and their values stay") {
  Rows<float> rows{{std::chrono::seconds{1}}, std::chrono::seconds{2}, std::chrono::seconds{60}, false};
  const Time time = at_nanoseconds(1'500'000'000);
  constexpr Slot members = 4'096;
  const auto before = allocations_so_far;
  for (Slot slot = 0; slot < members; ++slot)
    REQUIRE(rows.write(slot, time, time, static_cast<float>(slot), slot + std::size_t{1}));
  CHECK(allocations_so_far - before < 60);
  REQUIRE(rows.close_next(at_nanoseconds(4'000'000'000)));
  const auto values = rows.closed()[0].values;
  REQUIRE(values.size() == members);
  for (Slot slot = 0; slot < members; ++slot) REQUIRE(values[slot] == static_cast<float>(slot));
}
