// What a tick costs the evaluator: the operations of a straggler rule over 1,024 ranks, the windows' reductions given
// for nothing.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <string>

#include "stream/graph/evaluator.h"

using namespace tocsin::stream;

namespace {

class Given : public Leaves {
 public:
  bool reduce(const Node&, const WindowSpec&, Column, std::span<double> out) override {
    std::mt19937_64 random{3};
    while (given_.size() < out.size()) given_.push_back(0.5 + static_cast<double>(random() >> 11) * 0x1p-53);
    std::copy_n(given_.begin(), out.size(), out.begin());
    return false;
  }
  void finding(const Node&, std::span<Truth>) override {}
  void state(const Node&, std::span<double>) override {}
  void freeze(const Node&, std::span<double>) override {}
  double symbol(std::string_view) const override { return absent; }
  double job_age() const override { return 600; }

 private:
  std::vector<double> given_;
};

struct Job {
  explicit Job(std::uint32_t ranks, bool interleaved) {
    SignalDefinition sm;
    sm.name = "sm";
    (void)signals.add(sm);
    signals.add_coordinate("stage", Level::rank);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      topology.place(rank, "n" + std::to_string(rank / 8), std::to_string(rank % 8));
      topology.coordinate(Level::rank, rank + 1, "stage", std::to_string(interleaved ? rank % 8 : rank * 8 / ranks));
    }
    peers = graph.peers({"stage"});
  }
  NodeId node(Op op, std::initializer_list<NodeId> arguments, std::optional<Group> group = {}, double number = 0) {
    Attributes attributes;
    attributes.group = group;
    attributes.peers = peers;
    attributes.number = number;
    return *graph.apply(op, std::vector<NodeId>(arguments), attributes);
  }
  NodeId window(int lag) {
    WindowSpec spec;
    spec.over = std::chrono::seconds{30};
    spec.lag = std::chrono::seconds{lag};
    return graph.window(spec);
  }
  NodeId number(double x) { return graph.constant(x); }

  SignalTable signals;
  Graph graph{signals};
  Topology topology;
  PeersId peers{};
  Given leaves;
};

// d:above(ratio * typical) & z:above(4), as the rule "straggler" has them.
std::vector<NodeId> straggler(Job& job, Group group) {
  const NodeId d =
      job.node(Op::divide, {job.node(Op::w_mean, {job.window(0)}), job.node(Op::w_mean, {job.window(120)})});
  const NodeId typical = job.node(Op::g_median, {d}, group);
  const NodeId width = job.node(
      Op::clamp_low, {job.node(Op::multiply, {job.number(1.4826), job.node(Op::g_mad, {d}, group)}), job.number(0.02)});
  const NodeId z = job.node(Op::divide, {job.node(Op::subtract, {d, typical}), width});
  const NodeId slow = job.node(Op::above, {d, job.node(Op::multiply, {job.number(1.12), typical})});
  const NodeId answer = job.node(Op::conjunction, {slow, job.node(Op::above, {z, job.number(4)})});
  return job.graph.reach(std::array{answer});
}

void tick(benchmark::State& state, Group group, bool interleaved) {
  Job job{static_cast<std::uint32_t>(state.range(0)), interleaved};
  const auto nodes = straggler(job, group);
  Evaluator evaluator{job.graph, job.topology, job.leaves};
  for (auto _ : state) {
    evaluator.begin_tick();
    evaluator.forget();
    evaluator.run(nodes);
  }
}

}  // namespace

BENCHMARK_CAPTURE(tick, straggler_over_the_job, Group::job, false)->Arg(1024)->Arg(16'384);
BENCHMARK_CAPTURE(tick, straggler_of_eight_stages, Group::peers, false)->Arg(1024)->Arg(16'384);
BENCHMARK_CAPTURE(tick, straggler_of_interleaved_stages, Group::peers, true)->Arg(1024)->Arg(16'384);
BENCHMARK_CAPTURE(tick, straggler_within_nodes, Group::node, false)->Arg(1024)->Arg(16'384);
BENCHMARK_MAIN();
