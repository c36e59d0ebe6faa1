// Scripted rules: concrete values, budgets, and the same outcomes as the compiled form of the same text.
#include <doctest/doctest.h>

#include <bit>
#include <map>

#include "stream/graph/evaluator.h"
#include "stream/rules/script_runtime.h"
#include "stream/topology/topology.h"
#include "tests/dsl/random_rules.h"
#include "tests/dsl/sample_pack.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;
using stream::Level;
using stream::NodeId;
using stream::Truth;

namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  return z ^ z >> 29;
}

// Eight ranks on two nodes, and values that depend on nothing but what is asked and the tick.
struct World : stream::Leaves {
  stream::Topology topology;
  std::uint64_t tick = 0;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<double>> state_columns;

  World() {
    topology.expect_ranks(8);
    for (std::uint32_t r = 0; r < 8; ++r) {
      const std::string node = r < 4 ? "n0" : "n1";
      topology.place(r, node, std::to_string(r % 4));
      topology.coordinate(Level::rank, r + 1, "stage", r % 2 ? "odd" : "even");
    }
    topology.rack("n0", "left");
    topology.rack("n1", "right");
    for (std::uint32_t g = 0; g < topology.size(Level::gpu); ++g) topology.coordinate(Level::gpu, g, "model", "one");
  }
  double value(std::uint64_t what, std::size_t slot) const {
    const std::uint64_t z = mixed(mixed(what * 1000 + slot) + tick * 7919);
    if (z % 9 == 0) return stream::absent;
    return static_cast<double>(z >> 40) / static_cast<double>(1 << 24);
  }
  bool reduce(const stream::Node& reduction, const stream::WindowSpec& window, stream::Column,
              std::span<double> out) override {
    const auto what = static_cast<std::uint64_t>(reduction.op) * 64 + static_cast<std::uint64_t>(window.signal);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(what, i);
    return false;
  }
  void finding(const stream::Node&, std::span<Truth> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Truth>(mixed(i + tick) % 3);
  }
  std::vector<double>& state_of(stream::RuleIndex rule, const std::string& field, std::size_t size, double initial) {
    auto& column = state_columns[{static_cast<std::uint32_t>(rule), field}];
    column.resize(size, initial);
    return column;
  }
  void state(const stream::Node& node, std::span<double> out) override {
    const auto& column = state_of(*node.attributes.rule, node.attributes.field, out.size(), 1.5);
    std::copy(column.begin(), column.end(), out.begin());
  }
  void freeze(const stream::Node&, std::span<double>) override {}
  double job_age() const override { return static_cast<double>(tick); }
  double symbol(std::string_view text) const override { return static_cast<double>(text.size()) / 10; }
};

struct TestScratch : stream::Scratch {
  stream::Graph& of;
  stream::Evaluator& evaluator;
  World& world;
  TestScratch(stream::Graph& graph_of, stream::Evaluator& evaluator_of, World& world_of)
      : of(graph_of), evaluator(evaluator_of), world(world_of) {}
  stream::Graph& graph() override { return of; }
  void compute(NodeId node) override { evaluator.run_with_needs(node); }
  stream::Column column(NodeId node) const override { return evaluator.column(node); }
  stream::Mask mask(NodeId node) const override { return evaluator.mask(node); }
  const stream::Topology& topology() const override { return world.topology; }
  std::optional<std::string> text(double) const override { return "train"; }
};

// What one evaluation gives, as bits.
struct Reported {
  std::vector<Truth> outcomes;
  std::map<std::string, std::vector<std::uint64_t>> outputs;
  std::vector<std::uint64_t> state;
  friend bool operator==(const Reported&, const Reported&) = default;
};

// One rule of a pack over a few ticks, compiled or as a script.
struct Run {
  Loaded loaded;
  stream::ScriptRuntime scripts;
  World world;
  stream::Evaluator evaluator;

  explicit Run(const std::string& text, bool scripted)
      : loaded(load(pack_of(text), budgets(scripted))), scripts(pack()), evaluator(graph(), world.topology, world) {}
  static Budgets budgets(bool scripted) {
    Budgets result;
    result.all_scripted = scripted;
    return result;
  }
  const stream::PackPtr& pack() const {
    if (!loaded.pack) FAIL(problems_of(loaded));
    return loaded.pack;
  }
  const stream::Graph& graph() const { return scripts.graph(); }

  std::vector<std::uint64_t> bits(NodeId id, Level level) {
    std::vector<std::uint64_t> result;
    const auto& type = graph()[id].type;
    for (stream::Slot slot = level == Level::rank ? 1 : 0; slot < world.topology.size(level); ++slot)
      result.push_back(type.shape == stream::Shape::mask
                           ? static_cast<std::uint64_t>(evaluator.truth_at(id, level, slot))
                           : std::bit_cast<std::uint64_t>(evaluator.number_at(id, level, slot)));
    return result;
  }

  Reported tick(const stream::Rule& rule) {
    ++world.tick;
    evaluator.begin_tick();
    const auto index = static_cast<stream::RuleIndex>(&rule - loaded.pack->rules.data());
    NodeId answer = rule.answer;
    auto outputs = rule.outputs;
    auto who = rule.who;
    std::vector<std::pair<std::size_t, NodeId>> writes;
    const std::size_t mark = graph().mark();
    if (rule.scripted) {
      TestScratch scratch{scripts.scratch(), evaluator, world};
      auto given = scripts.evaluate(index, scratch);
      if (!given) FAIL(given.error().message);
      answer = given->answer;
      outputs = given->outputs;
      who = given->who;
      writes = given->state;
    } else {
      evaluator.run(rule.hot);
      evaluator.run(rule.cold);
      for (std::size_t i = 0; i < rule.state.size(); ++i)
        if (rule.state[i].write) writes.emplace_back(i, *rule.state[i].write);
    }
    Reported reported;
    for (const auto bit : bits(answer, rule.per)) reported.outcomes.push_back(static_cast<Truth>(bit));
    for (const auto& output : outputs) reported.outputs[output.name] = bits(output.node, rule.per);
    if (who) reported.outputs["who"] = bits(*who, Level::rank);
    for (const auto& [field, node] : writes) {
      auto& column =
          world.state_of(index, rule.state[field].name, world.topology.size(rule.per), rule.state[field].initial);
      for (stream::Slot slot = 0; slot < column.size(); ++slot)
        if (const double x = evaluator.number_at(node, rule.per, slot); stream::is_number(x)) column[slot] = x;
      for (const double x : column) reported.state.push_back(std::bit_cast<std::uint64_t>(x));
    }
    if (rule.scripted) {
      scripts.truncate(mark);
      evaluator.forget_above(mark);
    }
    return reported;
  }
};

// One tick of a scripted rule: its error, or how many members are yes.
std::string outcome_of(const std::string& body, const std::string& head = "", const std::string& per = "job",
                       Budgets budgets = {}) {
  Loaded loaded = load(pack_of(rule_text(body, head, per)), budgets);
  if (!loaded.pack) return problems_of(loaded);
  World world;
  stream::ScriptRuntime scripts{loaded.pack};
  stream::Evaluator evaluator{scripts.graph(), world.topology, world};
  evaluator.begin_tick();
  TestScratch scratch{scripts.scratch(), evaluator, world};
  const stream::Rule& one = loaded.pack->rules[0];
  REQUIRE(one.scripted);
  const auto given = scripts.evaluate(static_cast<stream::RuleIndex>(0), scratch);
  if (!given) return given.error().message;
  std::size_t yes = 0;
  for (stream::Slot slot = 0; slot < world.topology.size(one.per); ++slot)
    yes += evaluator.truth_at(given->answer, one.per, slot) == Truth::yes;
  return std::to_string(yes) + " yes";
}
bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

}  // namespace

TEST_CASE("the same text, compiled or as a script, says the same") {
  for (const std::uint32_t seed : tocsin::test::seeds(150, 1)) {
    CAPTURE(seed);
    const std::string text = random_rule(seed, "r");
    CAPTURE(text);
    Run compiled{text, false}, scripted{text, true};
    const stream::Rule &a = rule(compiled.loaded, "r"), &b = rule(scripted.loaded, "r");
    REQUIRE_FALSE(a.scripted);
    REQUIRE(b.scripted);
    for (int i = 0; i < 4; ++i) {
      const Reported x = compiled.tick(a), y = scripted.tick(b);
      REQUIRE(x == y);
    }
  }
}

TEST_CASE("a script takes its nodes away, and says the same at each evaluation") {
  Run run{rule_text("    local n = 0\n    for r, x in job.duty:mean():each() do if x and x > 0.1 then n = n + 1 end "
                    "end\n    if n "
                    ">= 1 then return keep:maybe() end\n    return ~keep:maybe()",
                    "", "gpu"),
          false};
  const stream::Rule& one = rule(run.loaded, "r");
  const std::size_t size = run.graph().size();
  std::vector<Reported> first;
  for (int i = 0; i < 3; ++i) first.push_back(run.tick(one));
  CHECK(run.graph().size() == size);
  run.world.tick = 0;
  for (int i = 0; i < 3; ++i) CHECK(run.tick(one) == first[static_cast<std::size_t>(i)]);
}

TEST_CASE("number, yes and each hand concrete values to Lua, unknown as nil") {
  const std::string some = "    local m = job.duty:mean():count(\"job\"):number()\n";
  CHECK(outcome_of(some + "    if m >= 1 and m <= 8 then return job.duty:mean():fill(1):max(\"job\"):at_least(0) end "
                          "return keep:any(\"job\")") == "1 yes");
  CHECK(outcome_of("    local n = 0 for r, x in job.duty:mean():at(\"rank\"):each() do n = n + 1 if r + 1 ~= n then "
                   "return keep end end\n"
                   "    if n == 8 then return keep:any(\"job\"):maybe() | ~keep:any(\"job\") end return keep") ==
        "1 yes");
  CHECK(outcome_of("    local names = '' for name, x in job.mem:last():each() do names = names .. name end\n"
                   "    if names == 'n0n1' then return keep:any(\"job\"):maybe() | ~keep:any(\"job\"):maybe() end "
                   "return keep") == "1 yes");
  CHECK(outcome_of("    local v = (keep & ~keep):any(\"job\"):yes()\n    if v == true then return keep end return "
                   "~(keep:any(\"job\"):surely() & ~keep:any(\"job\"):surely())") == "1 yes");
  CHECK(has(outcome_of("    local x = job.duty:mean():number() return keep"),
            "number() is for one value, and this is a value per gpu"));
}

TEST_CASE("a script that does not end is an error with its line, and its neighbour goes on") {
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    while true do end\n    return keep"),
            "site.lua:9: it spent its budget of 1000000 instructions"));
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    local s = 'x' while true do s = s .. s end"),
            "it spent its budget of 1000000 instructions"));
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    local y = job.duty:mean() for i = 1, 1e9 do y = y + "
                       "i end return keep"),
            "it "));
  Budgets few;
  few.elements = 50;
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    return keep:any(\"job\")", "", "job", few),
            "it spent its budget of 50 elements"));
}

TEST_CASE("a script's answer is checked at each evaluation") {
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    return keep"),
            "per = 'job', but evaluate returned a value per gpu"));
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()"), "this path returned nothing"));
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    return keep:any(\"job\")", "shows = \"{gone}\","),
            "name 'gone', which evaluate did not return"));
  CHECK(has(outcome_of("    local x = keep:any(\"job\"):yes()\n    return keep:any(\"job\") & (job.duty:mean() > 1)"),
            "cannot compare it"));
}

TEST_CASE("a script spends its whole budget anew at each evaluation") {
  Loaded loaded =
      load_rules(rule_text("    local x = keep:any(\"job\"):yes()\n    for i = 1, 200000 do end\n    return keep"));
  REQUIRE(loaded.pack);
  World world;
  stream::ScriptRuntime scripts{loaded.pack};
  stream::Evaluator evaluator{scripts.graph(), world.topology, world};
  for (int i = 0; i < 20; ++i) {
    evaluator.begin_tick();
    TestScratch scratch{scripts.scratch(), evaluator, world};
    const auto given = scripts.evaluate(static_cast<stream::RuleIndex>(0), scratch);
    CHECK(given);
  }
}

TEST_CASE("random rules load without a problem") {
  for (const std::uint32_t seed : tocsin::test::seeds(150, 1000)) {
    CAPTURE(seed);
    CHECK(problems_of(load_rules(random_rule(seed, "r"))) == "");
  }
}
