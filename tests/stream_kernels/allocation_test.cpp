#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "stream/graph/evaluator.h"

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

TEST_CASE("values that nobody takes any more lend their memory to others") {
  SignalTable signals;
  SignalDefinition load;
  load.name = "load";
  REQUIRE(signals.add(load));
  Topology topology;
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    topology.place(rank, "n" + std::to_string(rank / 8), std::to_string(rank % 8));
  Graph graph{signals};
  const NodeId x = *graph.apply(Op::w_mean, std::array{graph.window({})});
  std::vector<NodeId> sums{x};
  for (int i = 0; i < 100; ++i) sums.push_back(*graph.apply(Op::add, std::array{sums.back(), x}));
  Ones leaves;
  Evaluator evaluator{graph, topology, leaves};
  const auto nodes = graph.reach(std::array{sums.back()});
  evaluator.run({});  // makes its tables
  const auto before = allocations_so_far;
  evaluator.begin_tick();
  evaluator.run(nodes);
  CHECK(allocations_so_far - before < 20);
  for (const std::size_t i : {50u, 100u, 99u, 1u}) {  // read after they were lent
    const Column column = evaluator.column(sums[i]);
    REQUIRE(column.size() == topology.size(Level::rank));
    CHECK(std::ranges::all_of(column, [&](double value) { return value == static_cast<double>(i) + 1; }));
  }
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
