#include "stream/graph/evaluator.h"

#include <doctest/doctest.h>

#include "stream/graph/kernels.h"
#include "tests/seed.h"
#include "tests/stream_kernels/drawn.h"

using namespace tocsin;
using namespace tocsin::stream;

namespace {

SignalTable signals() {
  SignalTable table;
  for (const Level owner : {Level::job, Level::node, Level::gpu, Level::rank}) {
    SignalDefinition gauge, phase;
    gauge.name = "load_of_" + std::string{name(owner)};
    gauge.owner = owner;
    phase.name = "phase_of_" + std::string{name(owner)};
    phase.kind = SignalKind::state;
    phase.unit = "text";
    phase.owner = owner;
    REQUIRE(table.add(gauge));
    REQUIRE(table.add(phase));
  }
  table.add_coordinate("stage", Level::rank);
  table.add_coordinate("zone", Level::node);
  table.add_coordinate("nobodys", Level::rank);
  return table;
}

// Appends operations at random; what the graph refuses is not there.
class RandomGraph {
 public:
  RandomGraph(Graph& graph, RandomValues& random) : graph_(graph), random_(random) {
    const auto node = [&](NodeId id) { nodes_.push_back(id); };
    for (std::size_t i = 0; i < graph.signals().size(); ++i) {
      WindowSpec spec;
      spec.signal = static_cast<SignalId>(i);
      spec.over = std::chrono::seconds{30};
      if (random.below(3) == 0) spec.freeze = RuleIndex{3};
      windows_.push_back(graph.window(spec));
    }
    for (const double x : {0.0, 1.0, 2.5}) node(graph.constant(x));
    node(*graph.apply(Op::job_age, {}));
    node(graph.state(RuleIndex{1}, "best", Level::rank));
    for (const Level level : {Level::job, Level::node, Level::rank}) {
      const NodeId finding = graph.finding({"other"}, level);
      for (const Op op : {Op::f_now, Op::f_ever}) node(*graph.apply(op, std::array{finding}));
    }
    for (const auto& names :
         std::vector<std::vector<std::string>>{{"stage"}, {"zone"}, {"stage", "zone"}, {"nobodys"}, {}})
      peers_.push_back(graph.peers(names));
  }

  void append(std::size_t count) {
    constexpr std::array ops{Op::w_last,      Op::w_mean,    Op::w_max,        Op::w_time_to,   Op::add,
                             Op::subtract,    Op::multiply,  Op::divide,       Op::negate,      Op::clamp,
                             Op::log,         Op::abs,       Op::fill,         Op::greatest,    Op::least,
                             Op::w_seen,      Op::w_within,  Op::w_older_than, Op::known,       Op::greatest_known,
                             Op::least_known, Op::choose,    Op::above,        Op::below,       Op::at_least,
                             Op::at_most,     Op::is,        Op::conjunction,  Op::disjunction, Op::negation,
                             Op::surely,      Op::maybe,     Op::g_median,     Op::g_mad,       Op::g_mean,
                             Op::g_min,       Op::g_max,     Op::g_sum,        Op::g_quantile,  Op::g_count,
                             Op::g_spread,    Op::g_mode,    Op::same,         Op::m_any,       Op::m_all,
                             Op::m_at_least,  Op::m_at_most, Op::m_count,      Op::at};
    for (std::size_t made = 0, tries = 0; made < count && tries < count * 60; ++tries) {
      const Op op = ops[random_.below(ops.size())];
      std::vector<NodeId> arguments;
      const std::size_t most = 1 + random_.below(3);
      for (std::size_t i = 0; i < most; ++i)
        arguments.push_back(operation(op).on == Shape::window && i == 0 ? windows_[random_.below(windows_.size())]
                                                                        : nodes_[random_.below(nodes_.size())]);
      Attributes attributes;
      if (op == Op::g_quantile) attributes.number = random_.uniform();
      if (op == Op::m_at_least || op == Op::m_at_most) attributes.number = static_cast<double>(random_.below(6));
      if (op == Op::is)
        attributes.values =
            graph_[arguments[0]].type.text() ? std::vector<Scalar>{"a", "never"} : std::vector<Scalar>{1.0, -2.0};
      if (op == Op::at) attributes.field = std::array{"job", "rack", "node", "gpu", "rank"}[random_.below(5)];
      if (operation(op).takes == Takes::group || operation(op).takes == Takes::number_group) {
        attributes.group = static_cast<Group>(random_.below(5));
        attributes.peers = peers_[random_.below(peers_.size())];
      }
      if (const auto id = graph_.apply(op, arguments, attributes)) {
        nodes_.push_back(*id);
        ++made;
      }
    }
  }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  void forget(std::size_t mark) {
    std::erase_if(nodes_, [&](NodeId id) { return static_cast<std::size_t>(id) >= mark; });
  }

 private:
  Graph& graph_;
  RandomValues& random_;
  std::vector<NodeId> nodes_, windows_;
  std::vector<PeersId> peers_;
};

bool agree(const Evaluator& evaluator, oracle::GraphOracle& oracle, const Graph& graph, NodeId id) {
  if (graph[id].type.shape == Shape::mask)
    return std::ranges::equal(evaluator.mask(id), oracle.mask(id),
                              [](Truth t, const oracle::Answer& a) { return oracle::answer_of(t) == a; });
  return std::ranges::equal(evaluator.column(id), oracle.column(id),
                            [](double x, const oracle::Number& n) { return oracle::same(n, x); });
}

}  // namespace

TEST_CASE("a graph gives what computing it member by member gives, while topology and graph change") {
  const SignalTable table = signals();
  std::map<Op, int> met;
  int in_place = 0;
  if (!choose_kernels("avx2")) MESSAGE("this machine has no AVX2: only the baseline is computed with");
  const auto seeds = tocsin::test::seeds(60, 1);
  for (const std::uint32_t seed : seeds) {
    CAPTURE(seed);
    if (seed % 2) (void)choose_kernels("baseline");
    RandomValues random{seed};
    World world;
    Graph graph{table};
    RandomGraph rules{graph, random};
    rules.append(60);
    std::vector<NodeId> read;  // by others than nodes; a mask that one node alone reads may be computed there
    std::ranges::copy_if(rules.nodes(), std::back_inserter(read), [&](NodeId) { return random.below(8) == 0; });
    graph.compute_in_place(read);
    for (const NodeId id : rules.nodes()) in_place += graph.step(id).in_place;
    DrawnLeaves leaves;
    Evaluator evaluator{graph, world.topology, leaves};
    for (leaves.tick = 1; leaves.tick <= 6; ++leaves.tick) {
      if (leaves.tick % 2) world.grow(random);
      evaluator.begin_tick();
      const auto mark = graph.mark();
      for (int script = 0; script < 2; ++script) {  // other nodes under the same ids
        rules.append(20);
        // A few rules, and then all; they are read below, in any order.
        std::vector<NodeId> roots, all = graph.reach(rules.nodes());
        for (const NodeId id : rules.nodes())
          if (random.below(5) == 0) roots.push_back(id);
        if (random.below(2) == 0) evaluator.run(graph.reach(roots));
        else evaluator.run(FewNodes{graph.reach(roots)});
        if (random.below(2) == 0 && !roots.empty()) evaluator.run_with_needs(roots[random.below(roots.size())]);
        evaluator.run(all);
        for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
        DrawnForOracle drawn{world, leaves};
        oracle::GraphOracle oracle{graph, world, drawn};
        for (const NodeId id : all) {
          if (graph[id].type.shape != Shape::column && graph[id].type.shape != Shape::mask) continue;
          ++met[graph[id].op];
          CHECK_MESSAGE(agree(evaluator, oracle, graph, id), "tick ", leaves.tick, ": ", graph.describe(id));
        }
        graph.truncate(mark);
        rules.forget(mark);
        evaluator.forget_above(mark);
      }
    }
    (void)choose_kernels("avx2");
  }
  if (seeds.size() == 1) return;
  CHECK(met.size() >= 49);
  CHECK(in_place > 30);
  for (const auto& [op, times] : met) CHECK_MESSAGE(times > 20, std::string{operation(op).name});
}

namespace {

// A mask, and what it says of each rank as it was written: joined, negated and decided one step at a time.
struct Written {
  NodeId node{};
  std::vector<Truth> ranks;
};

Truth stepped(Op op, Truth a, Truth b) {
  switch (op) {
    case Op::conjunction: return a & b;
    case Op::disjunction: return a | b;
    case Op::negation: return ~a;
    case Op::surely: return truth(a == Truth::yes);
    default: return truth(a != Truth::no);
  }
}

}  // namespace

TEST_CASE("masks that are joined, negated and decided in any order say what each step says") {
  const SignalTable table = signals();
  for (const std::uint32_t seed : tocsin::test::seeds(200, 1)) {
    CAPTURE(seed);
    RandomValues random{seed};
    World world;
    world.grow(random);
    Graph graph{table};
    DrawnLeaves leaves;
    Evaluator evaluator{graph, world.topology, leaves};
    const std::size_t n = world.topology.size(Level::rank);
    std::vector<Written> masks;
    std::vector<NodeId> nodes;
    for (const Level level : {Level::job, Level::rank, Level::job, Level::rank}) {
      const NodeId finding = graph.finding({"rule " + std::to_string(masks.size())}, level);
      masks.push_back({*graph.apply(Op::f_now, std::array{finding}), {}});
    }
    const auto compute = [&] {
      nodes.clear();
      for (const Written& mask : masks) nodes.push_back(mask.node);
      evaluator.begin_tick();
      evaluator.run(graph.reach(nodes));
    };
    compute();
    for (Written& mask : masks)
      for (Slot slot = 0; slot < n; ++slot) {
        const bool job = graph[mask.node].type.level == Level::job;
        mask.ranks.push_back(job ? evaluator.mask(mask.node)[0] : evaluator.mask(mask.node)[slot]);
      }
    for (int i = 0; i < 40; ++i) {
      const Op op = std::array{Op::conjunction, Op::disjunction, Op::conjunction, Op::disjunction,
                               Op::negation,    Op::surely,      Op::maybe}[random.below(7)];
      const Written a = masks[random.below(masks.size())], b = masks[random.below(masks.size())];
      const bool two = op == Op::conjunction || op == Op::disjunction;
      Written made{*graph.apply(op, two ? std::vector{a.node, b.node} : std::vector{a.node}), {}};
      for (Slot slot = 0; slot < n; ++slot) made.ranks.push_back(stepped(op, a.ranks[slot], b.ranks[slot]));
      masks.push_back(std::move(made));
    }
    compute();
    for (const Written& mask : masks)
      for (Slot slot = 0; slot < n; ++slot) {
        const bool job = graph[mask.node].type.level == Level::job;
        CHECK_MESSAGE(evaluator.mask(mask.node)[job ? 0 : slot] == mask.ranks[slot], graph.describe(mask.node));
      }
  }
}

TEST_CASE("a node runs once a tick, and has no value at the next before it runs again") {
  const SignalTable table = signals();
  World world;
  RandomValues random{3};
  world.grow(random);
  Graph graph{table};
  WindowSpec spec;
  spec.signal = *table.find("load_of_rank");
  const NodeId load = *graph.apply(Op::w_mean, std::array{graph.window(spec)});
  class Counting : public DrawnLeaves {
   public:
    int reductions = 0;
    bool reduce(const Node& node, const WindowSpec& window, Column other, std::span<double> out) override {
      ++reductions;
      return DrawnLeaves::reduce(node, window, other, out);
    }
    bool same(const Reading&) override { return false; }
  } leaves;
  Evaluator evaluator{graph, world.topology, leaves};
  evaluator.begin_tick();
  const auto nodes = graph.reach(std::array{load});
  evaluator.run(nodes);
  evaluator.run(nodes);
  CHECK(leaves.reductions == 1);
  CHECK(evaluator.column(load).size() == world.topology.size(Level::rank));
  evaluator.begin_tick();
  CHECK(evaluator.column(load).empty());
  CHECK(is_absent(evaluator.number_at(load, Level::rank, 1)));
  evaluator.run(nodes);
  CHECK(leaves.reductions == 2);
}

TEST_CASE("a text that becomes known changes a mask that is computed where it is read") {
  const SignalTable table = signals();
  World world;
  RandomValues random{3};
  world.grow(random);
  class Phases : public DrawnLeaves {
   public:
    bool known = false;
    bool reduce(const Node&, const WindowSpec&, Column, std::span<double> out) override {
      std::ranges::fill(out, 7.0);
      return false;
    }
    bool same(const Reading&) override { return true; }
    double symbol(std::string_view) const override { return known ? 7.0 : absent; }
    std::uint64_t texts() const override { return known; }
  } leaves;
  Graph graph{table};
  WindowSpec spec;
  spec.signal = *table.find("phase_of_rank");
  Attributes late, job;
  late.values = {"late"}, job.group = Group::job;
  const NodeId is_late =
      *graph.apply(Op::is, std::array{*graph.apply(Op::w_last, std::array{graph.window(spec)})}, late);
  const NodeId any = *graph.apply(Op::m_any, std::array{is_late}, job);
  graph.compute_in_place(std::array{any});
  REQUIRE(graph.step(is_late).in_place);
  Evaluator evaluator{graph, world.topology, leaves};
  for (const bool known : {false, true}) {
    leaves.known = known;
    evaluator.begin_tick();
    evaluator.run(graph.reach(std::array{any}));
    CHECK(evaluator.mask(any)[0] == truth(known));
    CHECK(evaluator.mask(is_late).back() == truth(known));
  }
}

TEST_CASE("masks are joined where they are read also of a level without members") {
  const SignalTable table = signals();
  const World world;
  DrawnLeaves leaves;
  Graph graph{table};
  WindowSpec spec;
  spec.signal = *table.find("load_of_gpu");
  Attributes job;
  job.group = Group::job;
  const NodeId load = *graph.apply(Op::w_mean, std::array{graph.window(spec)});
  const NodeId known = *graph.apply(Op::known, std::array{load}),
               high = *graph.apply(Op::above, std::array{load, load});
  const NodeId both = *graph.apply(Op::conjunction, std::array{known, high});
  const NodeId any = *graph.apply(Op::m_any, std::array{both}, job);
  graph.compute_in_place(std::array{any});
  REQUIRE(graph.step(both).in_place);
  REQUIRE(graph.step(known).in_place);
  Evaluator evaluator{graph, world.topology, leaves};
  evaluator.begin_tick();
  evaluator.run(graph.reach(std::array{any}));
  CHECK(evaluator.mask(both).empty());
  CHECK(evaluator.mask(any)[0] == Truth::unknown);
}

TEST_CASE("each group has its own limit of members, where the limits of all but the first are one value") {
  const SignalTable table = signals();
  Topology topology;
  for (std::uint32_t rank = 0; rank < 8; ++rank) topology.place(rank, "n" + std::to_string(rank / 2), "");
  Graph graph{table};
  WindowSpec nodes, ranks;
  nodes.signal = *table.find("load_of_node"), ranks.signal = *table.find("load_of_rank");
  const NodeId limit = *graph.apply(Op::w_last, std::array{graph.window(nodes)});
  const NodeId high = *graph.apply(
      Op::above, std::array{*graph.apply(Op::w_last, std::array{graph.window(ranks)}), graph.constant(0.5)});
  Attributes group;
  group.group = Group::node;
  const NodeId enough = *graph.apply(Op::m_at_least, std::array{high, limit}, group);
  class Given : public DrawnLeaves {
    bool reduce(const Node& node, const WindowSpec&, Column, std::span<double> out) override {
      if (node.type.level == Level::rank) return std::fill(out.begin(), out.end(), 1.0), false;
      std::fill(out.begin() + 2, out.end(), 12345.0);  // nobody may look there
      return out[0] = 3, out[1] = 2, true;
    }
  } leaves;
  Evaluator evaluator{graph, topology, leaves};
  evaluator.run(graph.reach(std::array{enough}));
  CHECK(std::ranges::equal(evaluator.mask(enough), std::array{Truth::no, Truth::yes, Truth::yes, Truth::yes}));
}

TEST_CASE("a member is shown the value of what contains it") {
  const SignalTable table = signals();
  Topology topology;
  topology.place(0, "n1", "0");
  topology.place(1, "n2", "1");
  Graph graph{table};
  WindowSpec spec;
  spec.signal = *table.find("load_of_node");
  const NodeId load = *graph.apply(Op::w_last, std::array{graph.window(spec)});
  const NodeId high = *graph.apply(Op::above, std::array{load, graph.constant(1.0)});
  class Given : public DrawnLeaves {
    bool reduce(const Node&, const WindowSpec&, Column, std::span<double> out) override {
      return out[0] = 0.5, out[1] = 1.5, false;
    }
  } leaves;
  Evaluator evaluator{graph, topology, leaves};
  evaluator.run(graph.reach(std::array{high}));
  CHECK(evaluator.number_at(load, Level::rank, 2) == 1.5);
  CHECK(evaluator.truth_at(high, Level::rank, 1) == Truth::no);
  CHECK(evaluator.truth_at(high, Level::gpu, 1) == Truth::yes);
  CHECK(evaluator.truth_at(high, Level::rank, reserved_slot) == Truth::unknown);
  CHECK(is_absent(evaluator.number_at(load, Level::rank, 99)));
  CHECK(is_absent(evaluator.number_at(load, Level::job, 0)));
}
