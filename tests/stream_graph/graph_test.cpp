#include <doctest/doctest.h>

#include <algorithm>

#include "stream/graph/graph.h"

using namespace tocsin::stream;
using namespace std::chrono_literals;

namespace {

struct Sketch {
  SignalTable signals;
  Graph graph{signals};

  Sketch() {
    add("sm", SignalKind::gauge, "ratio", Level::gpu);
    add("step_time", SignalKind::gauge, "seconds", Level::rank);
    add("memory", SignalKind::gauge, "bytes", Level::node);
    add("loss", SignalKind::gauge, "none", Level::job);
    add("sent", SignalKind::counter, "bytes", Level::gpu);
    add("step", SignalKind::step, "count", Level::rank);
    add("any", SignalKind::liveness, "none", Level::rank);
    SignalDefinition phase = definition("phase", SignalKind::state, "text", Level::job);
    phase.values = {"train", "eval"};
    CHECK(signals.add(phase));
    SignalDefinition xid = definition("xid", SignalKind::event, "none", Level::gpu);
    xid.fields = {{"code", "none"}, {"pci", "text"}};
    CHECK(signals.add(xid));
    signals.add_coordinate("pipeline_stage", Level::rank);
    signals.add_coordinate("gpu_model", Level::gpu);
  }
  static SignalDefinition definition(const char* name, SignalKind kind, const char* unit, Level owner) {
    SignalDefinition definition;
    definition.name = name, definition.kind = kind, definition.unit = unit, definition.owner = owner;
    return definition;
  }
  void add(const char* name, SignalKind kind, const char* unit, Level owner) {
    CHECK(signals.add(definition(name, kind, unit, owner)));
  }
  NodeId window(const char* name) {
    WindowSpec spec;
    spec.signal = *signals.find(name);
    spec.over = 30s;
    return graph.window(spec);
  }
  NodeId make(Op op, std::vector<NodeId> arguments, Attributes attributes = {}) {
    auto made = graph.apply(op, arguments, std::move(attributes));
    if (!made) FAIL(made.error().message);
    return *made;
  }
  std::string refusal(Op op, std::vector<NodeId> arguments, Attributes attributes = {}) {
    auto made = graph.apply(op, arguments, std::move(attributes));
    return made ? graph.describe(*made) : made.error().message;
  }
  NodeId mean(const char* name) { return make(Op::w_mean, {window(name)}); }
  const Type& type(NodeId id) { return graph[id].type; }
};

Attributes over(Group group) {
  Attributes attributes;
  attributes.group = group;
  return attributes;
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what two rules share is one node") {
  Sketch s;
  const auto a = s.make(Op::above, {s.mean("sm"), s.graph.constant(0.5)});
  const auto size = s.graph.size();
  CHECK(s.make(Op::above, {s.mean("sm"), s.graph.constant(0.5)}) == a);
  CHECK(s.graph.size() == size);
}

TEST_CASE("masks that mean the same are one node, however they were written") {
  Sketch s;
  const auto a = s.make(Op::above, {s.mean("loss"), s.graph.constant(1)});
  const auto b = s.make(Op::w_seen, {s.window("loss")});
  const auto c = s.make(Op::below, {s.mean("loss"), s.graph.constant(0)});
  const auto all = [&](NodeId x, NodeId y) { return s.make(Op::conjunction, {x, y}); };
  const auto any = [&](NodeId x, NodeId y) { return s.make(Op::disjunction, {x, y}); };
  const auto no = [&](NodeId x) { return s.make(Op::negation, {x}); };
  const auto surely = [&](NodeId x) { return s.make(Op::surely, {x}); };
  const auto maybe = [&](NodeId x) { return s.make(Op::maybe, {x}); };
  CHECK(all(a, all(b, c)) == all(all(c, a), b));
  CHECK(all(a, a) == a);
  CHECK(no(no(a)) == a);
  CHECK(no(all(a, b)) == any(no(a), no(b)));
  CHECK(surely(no(a)) == no(maybe(a)));
  CHECK(surely(all(a, c)) == all(surely(a), surely(c)));
  CHECK(maybe(surely(a)) == surely(a));
  CHECK(surely(b) == b);  // seen() is never unknown
  CHECK(all(a, b) != any(a, b));
  CHECK(s.graph[all(a, all(b, c))].arguments.size() == 3);
}

TEST_CASE("a form of all members' masks is one of their group's answer") {
  Sketch s;
  const auto a = s.make(Op::above, {s.mean("sm"), s.graph.constant(0.5)});
  const auto no = [&](NodeId x) { return s.make(Op::negation, {x}); };
  const auto surely = [&](NodeId x) { return s.make(Op::surely, {x}); };
  const auto any = [&](NodeId x, Group group = Group::job) { return s.make(Op::m_any, {x}, over(group)); };
  const auto all = [&](NodeId x) { return s.make(Op::m_all, {x}, over(Group::job)); };
  CHECK(any(no(a)) == no(all(a)));
  CHECK(all(no(a)) == no(any(a)));
  CHECK(any(surely(a)) == surely(any(a)));
  CHECK(any(surely(a), Group::node) == surely(any(a, Group::node)));
  // The values of no known rank, where they are unknown, belong to no member. As a no they do.
  CHECK(all(surely(a)) != surely(all(a)));
}

TEST_CASE("a constant is one node, whatever it is compared with") {
  Sketch s;
  const auto five = s.graph.constant(5), seconds = s.graph.constant(5, "seconds");
  CHECK(five != seconds);
  CHECK(s.make(Op::above, {s.mean("step_time"), five}) == s.make(Op::above, {s.mean("step_time"), seconds}));
}

TEST_CASE("from how many values on a window is known makes no difference to a word that needs one") {
  Sketch s;
  WindowSpec spec;
  spec.signal = *s.signals.find("sm");
  spec.over = 30s;
  const auto plain = s.graph.window(spec);
  spec.least = 7;
  const auto some = s.graph.window(spec);
  for (const Op op : {Op::w_last, Op::w_first, Op::w_count, Op::w_age, Op::w_seen})
    CHECK(s.make(op, {plain}) == s.make(op, {some}));
  CHECK(s.make(Op::w_mean, {plain}) != s.make(Op::w_mean, {some}));
  Attributes three;
  three.number = 3;
  CHECK(s.make(Op::w_last, {plain}, three) != s.make(Op::w_last, {some}, three));
}

TEST_CASE("a conjunction of more masks than a node takes is several nodes") {
  Sketch s;
  NodeId all = s.make(Op::above, {s.mean("loss"), s.graph.constant(100)});
  for (int i = 0; i < 30; ++i) {
    const auto one = s.make(Op::above, {s.mean("loss"), s.graph.constant(i)});
    all = s.make(Op::conjunction, {all, one});
    CHECK(s.graph[all].arguments.size() <= most_arguments);
  }
  const auto kept = s.graph.keep(std::array{all});
  CHECK(s.graph[kept.at(all)].op == Op::conjunction);
  CHECK(s.graph.size() < 31 + 31 + 2 + 5);  // comparisons, limits, the mean of a window, and the conjunctions
}

TEST_CASE("the coarser argument is spread to the finer level, a value for all is not") {
  Sketch s;
  const auto both = s.make(Op::divide, {s.mean("memory"), s.mean("sm")});
  CHECK(s.type(both).level == Level::gpu);
  const Node& divide = s.graph[both];
  CHECK(s.graph[divide.arguments[0]].op == Op::spread);
  CHECK(s.type(divide.arguments[0]).level == Level::gpu);

  const auto scaled = s.make(Op::multiply, {s.mean("loss"), s.mean("sm")});
  CHECK(s.type(scaled).level == Level::gpu);
  CHECK(s.graph[s.graph[scaled].arguments[0]].op == Op::w_mean);
}

TEST_CASE("constants fold, but not into what is no number") {
  Sketch s;
  const auto six = s.make(Op::multiply, {s.graph.constant(2), s.graph.constant(3, "seconds")});
  CHECK(s.graph[six].op == Op::constant);
  CHECK(s.graph[six].attributes.number == 6);
  CHECK(s.type(six).unit == "seconds");
  CHECK(s.graph[s.make(Op::divide, {s.graph.constant(1), s.graph.constant(0)})].op == Op::divide);
  CHECK(s.graph[s.make(Op::least, {s.graph.constant(2), s.graph.constant(3)})].attributes.number == 2);
  CHECK(s.graph[s.make(Op::greatest, {s.graph.constant(2), s.graph.constant(3)})].attributes.number == 3);
}

TEST_CASE("a reduction over peers gives each member its own group's value") {
  Sketch s;
  Attributes peers = over(Group::peers);
  peers.peers = s.graph.peers({"pipeline_stage"});
  const auto typical = s.make(Op::g_median, {s.mean("sm")}, peers);
  CHECK(s.type(typical).level ==
        Level::rank);  // the coordinate is a rank's: the GPU's value stands beside each rank first
  peers.peers = s.graph.peers({"gpu_model"});
  CHECK(s.type(s.make(Op::g_median, {s.mean("sm")}, peers)).level == Level::gpu);
  CHECK(s.type(s.make(Op::g_median, {s.mean("step_time")}, peers)).level ==
        Level::rank);  // a rank has its GPU's coordinate
  CHECK(has(s.refusal(Op::g_median, {s.mean("sm")}, over(Group::peers)), "names no peers"));
}

TEST_CASE("up goes only through a group, and the group must contain the member") {
  Sketch s;
  CHECK(s.type(s.make(Op::g_max, {s.mean("sm")}, over(Group::node))).level == Level::node);
  CHECK(has(s.refusal(Op::g_max, {s.mean("memory")}, over(Group::gpu)), "cannot be taken up to \"gpu\""));
  CHECK(has(s.refusal(Op::g_median, {s.mean("sm")}), "median across which members?"));
  CHECK(s.make(Op::g_max, {s.mean("loss")}, over(Group::job)) == s.mean("loss"));
  Attributes at;
  at.field = "rank";
  CHECK(s.type(s.make(Op::at, {s.mean("sm")}, at)).level == Level::rank);
  at.field = "job";
  CHECK(has(s.refusal(Op::at, {s.mean("sm")}, at), "up only through a group"));
}

TEST_CASE("units are checked where values meet") {
  Sketch s;
  CHECK(s.refusal(Op::add, {s.mean("step_time"), s.mean("memory")}).starts_with("seconds cannot be added to bytes"));
  CHECK(s.refusal(Op::above, {s.mean("sm"), s.graph.constant(20)}) ==
        "20 is compared with a ratio (0 to 1); did you mean 0.20?");
  CHECK(s.type(s.make(Op::divide, {s.mean("step_time"), s.mean("step_time")})).unit == "none");
  CHECK(s.type(s.make(Op::w_slope, {s.window("memory")})).unit == "bytes/seconds");
  CHECK(s.type(s.make(Op::w_mean, {s.window("sent")})).unit == "bytes/seconds");
  CHECK(s.type(s.make(Op::w_delta, {s.window("sent")})).unit == "bytes");
  CHECK(has(s.refusal(Op::log, {s.mean("step_time")}), "log of seconds"));
  CHECK(s.type(s.make(Op::g_sum, {s.mean("sm")}, over(Group::node))).unit == "none");
  CHECK(s.type(s.make(Op::g_max, {s.mean("sm")}, over(Group::node))).unit == "ratio");
}

TEST_CASE("a word that does not suit the kind of a signal is refused by name") {
  Sketch s;
  CHECK(s.refusal(Op::w_mean, {s.window("any")})
            .starts_with("mean does not apply to 'any', which is of kind liveness: it has age"));
  CHECK(has(s.refusal(Op::w_last, {s.window("sent")}), "is a counter"));
  CHECK(has(s.refusal(Op::w_median, {s.window("step")}), "kind step"));
  CHECK(has(s.refusal(Op::w_last, {s.window("xid")}), "names a field"));
  Attributes quantile;
  quantile.number = 99;
  CHECK(has(s.refusal(Op::w_quantile, {s.window("sm")}, quantile), "did you mean 0.99?"));
}

TEST_CASE("text takes is, and only texts that the state may be") {
  Sketch s;
  const auto phase = s.make(Op::w_last, {s.window("phase")});
  Attributes is;
  is.values = {std::string{"eval"}};
  CHECK(s.type(s.make(Op::is, {phase}, is)).shape == Shape::mask);
  is.values = {std::string{"evil"}};
  CHECK(has(s.refusal(Op::is, {phase}, is), "it may be train, eval"));
  is.values = {7.0};
  CHECK(has(s.refusal(Op::is, {phase}, is), "holds text"));
  CHECK(has(s.refusal(Op::above, {phase, s.graph.constant(1)}), "wants numbers"));
}

TEST_CASE("filters make a window of their own, whatever their order") {
  Sketch s;
  Attributes code, pci;
  code.field = "code", code.values = {79.0, 48.0};
  pci.field = "pci", pci.values = {std::string{"00:1"}};
  const auto a = s.make(Op::w_where, {s.make(Op::w_where, {s.window("xid")}, code)}, pci);
  const auto b = s.make(Op::w_where, {s.make(Op::w_where, {s.window("xid")}, pci)}, code);
  CHECK(a == b);
  CHECK(s.graph[a].op == Op::window);
  CHECK(s.graph[a].attributes.window->filters.size() == 2);
  code.values = {std::string{"79"}};
  CHECK(has(s.refusal(Op::w_where, {s.window("xid")}, code), "without quotes"));
}

TEST_CASE("windows that keep other values, or hold them for another rule, are not one") {
  Sketch s;
  Attributes code;
  code.field = "code", code.values = {79.0};
  const auto with = s.make(Op::w_where, {s.window("xid")}, code),
             without = s.make(Op::w_except, {s.window("xid")}, code);
  CHECK(with != without);
  CHECK(s.graph[with].attributes.window->filters[0].keep);
  CHECK_FALSE(s.graph[without].attributes.window->filters[0].keep);
  WindowSpec spec;
  spec.signal = *s.signals.find("sm");
  spec.over = 30s;
  const auto plain = s.graph.window(spec);
  const auto differs = [&](auto change) {
    WindowSpec other = spec;
    change(other);
    return s.graph.window(other) != plain;
  };
  CHECK(differs([](WindowSpec& w) { w.freeze = RuleIndex{0}; }));
  CHECK(differs([](WindowSpec& w) { w.least = 7; }));
  CHECK(differs([](WindowSpec& w) { w.lag = 5s; }));
  CHECK(differs([](WindowSpec& w) { w.settle = 5s; }));
  CHECK_FALSE(differs([](WindowSpec&) {}));
}

TEST_CASE("freeze holds the value after a reduction that others share") {
  Sketch s;
  WindowSpec spec;
  spec.signal = *s.signals.find("sm");
  spec.over = 30s;
  spec.freeze = RuleIndex{3};
  const auto frozen = s.make(Op::w_mean, {s.graph.window(spec)});
  CHECK(s.graph[frozen].op == Op::freeze);
  CHECK(s.graph[frozen].attributes.rule == RuleIndex{3});
  CHECK(s.graph[frozen].arguments[0] == s.mean("sm"));
}

TEST_CASE("a scripted rule's nodes are taken away again") {
  Sketch s;
  const auto kept = s.mean("sm");
  const auto mark = s.graph.mark();
  s.make(Op::above, {kept, s.graph.constant(0.5)});
  s.graph.truncate(mark);
  CHECK(s.graph.size() == mark);
  CHECK(s.mean("sm") == kept);
  CHECK(s.graph.size() == mark);
}

TEST_CASE("reach gives what roots need, arguments first") {
  Sketch s;
  const auto unneeded = s.mean("memory");
  const auto answer = s.make(Op::above, {s.mean("sm"), s.graph.constant(0.5)});
  const auto ids = s.graph.reach(std::vector{answer});
  CHECK(ids.size() == 3);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(std::find(ids.begin(), ids.end(), unneeded) == ids.end());
  CHECK(s.graph.describe(answer).ends_with("per gpu  mask"));
}

TEST_CASE("a word of the job itself is described without an argument") {
  Sketch s;
  CHECK(s.graph.describe(s.make(Op::job_age, {})) == "%0 = job:age()  per job  seconds");
}

TEST_CASE("the limit of at_least may be a column with a value for each group") {
  Sketch s;
  const auto low = s.make(Op::below, {s.mean("sm"), s.graph.constant(0.5)});
  const auto size = s.make(Op::g_count, {s.mean("sm")}, over(Group::job));
  const auto few = s.make(Op::m_at_most, {low, size}, over(Group::job));
  CHECK(s.graph[few].arguments.size() == 2);
  const auto of_job = s.make(Op::m_at_most, {low, size}, over(Group::node));
  CHECK(s.type(of_job).level == Level::node);
  CHECK(has(s.refusal(Op::m_at_most, {low, s.make(Op::g_count, {s.mean("sm")}, over(Group::node))}, over(Group::job)),
            "the limit of at_most is a value per node"));
  Attributes two = over(Group::job);
  two.number = 2;
  CHECK(s.make(Op::m_at_most, {low, s.graph.constant(2)}, over(Group::job)) == s.make(Op::m_at_most, {low}, two));
}

TEST_CASE("every word of the table is found by its name") {
  for (const Operation& entry : operations()) {
    if (entry.name.empty() || entry.op == Op::negate) continue;
    CAPTURE(entry.name);
    CHECK(find_operation(entry.name, entry.on) == entry.op);
    CHECK_FALSE(entry.documentation.empty());
  }
  CHECK(find_operation("at", Shape::mask) == Op::at);
  CHECK_FALSE(find_operation("", Shape::column));
}
