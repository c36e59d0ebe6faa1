#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dsl/load/tunes.h"
#include "dsl/lua/durations.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;
using namespace std::chrono_literals;

namespace {

const char* slow_rank = R"lua(
rule "slow_rank" {
  family = "D3", severity = "warning", per = "rank", every = "10s", summary = "A rank falls behind",
  needs = {
    duty  = signal "duty" { over = "30s" },
    usual = signal "duty" { over = "15m", lag = "2m", freeze = true },
    clock = signal "clock" { over = "30s" },
  },
  peers = { "stage" }, params = { ratio = 1.12, z = 4 },
  fire = "4 of 6", clear = "for 60s", yields_to = { "hot" },
  shows = "rank {rank}[ on {node}]: {d:.2f} of its usual, {duty:.0%} now, limit {p.ratio}",
  causes = { throttled = "its clock is {clock:.0f} MHz", other = "its clock is fine" },
  evaluate = function(job, p)
    local duty, clock = job.duty:mean(), job.clock:mean()
    local d = duty / job.usual:median()
    local typical = d:median("peers")
    local z = (d - typical) / (1.4826 * d:mad("peers")):clamp(0.02)
    local low = clock:below(0.95 * clock:median("job"))
    return d:above(p.ratio * typical) & z:above(p.z), { d = d, duty = duty, clock = clock, throttled = low, other = ~low }
  end,
}
rule "hot" {
  family = "B3", per = "gpu", every = { "fault", "30s" }, severity = "critical", summary = "A GPU reports a fault", shows = "gpu {gpu}",
  needs = { fault = signal "fault" { over = "1h" }, cap = signal "memory_cap" { over = "attempt" } },
  params = { codes = { 48, 79 } },
  evaluate = function(job, p)
    local bad = job.fault:where { code = p.codes }
    return bad:count():above(0) & job.cap:last():above(0)
  end,
}
rule "quiet" {
  per = "job", every = "end", severity = "none",
  needs = { others = finding "*", slow = finding "slow_rank", loss = signal "loss" { over = "attempt", least = 20 } },
  state = { best = math.huge },
  evaluate = function(job, p, state)
    local m = job.loss:median()
    state.best = least(state.best, m)
    return ~job.others:ever():surely() & ~job.slow:now():any("job") & m:at_most(1.1 * state.best), { best = state.best }
  end,
}
case "a slow rank is named" {
  ranks = 8, per_node = 4,
  { lasting = "20m", duty = noise(0.9, 0.01), clock = 1700, step = steps(2) },
  { lasting = "3m", rank = { [3] = { duty = 0.5 } }, events = { { "fault", gpu = 3, code = 79, at = "10s" } }, ends = "timeout" },
  fires = { { "slow_rank", rank = 3, cause = "throttled", within = "2m" } }, unknown = { { "hot", missing = "memory_cap" } },
}
)lua";

}  // namespace

TEST_CASE("a pack of compiled rules loads, and keeps no Lua") {
  const Loaded loaded = load_rules(slow_rank);
  CHECK(problems_of(loaded, true) == "");
  REQUIRE(loaded.pack);
  CHECK(loaded.pack->scripts == nullptr);
  CHECK(loaded.pack->rules.size() == 3);
  CHECK(loaded.pack->hash.size() == 32);
}

TEST_CASE("a rule's head says what its file says") {
  const Loaded loaded = load_rules(slow_rank);
  const stream::Rule& slow = rule(loaded, "slow_rank");
  CHECK(slow.family == "D3");
  CHECK(slow.per == stream::Level::rank);
  CHECK(slow.every.size() == 1);
  CHECK(slow.every[0].period == 10s);
  CHECK(slow.fire.k == 4);
  CHECK(slow.fire.n == 6);
  CHECK(slow.clear.timed);
  CHECK(slow.clear.span == 60s);
  REQUIRE(slow.shows.size() == 1);
  std::size_t places = 0;
  slow.shows[0].each_place([&](const auto&) { ++places; });
  CHECK(places == 5);
  CHECK(slow.causes.size() == 2);
  CHECK(slow.outputs.size() == 5);
  CHECK(slow.file == "site.lua");
  CHECK(slow.line == 2);
  const stream::Rule& hot = rule(loaded, "hot");
  CHECK(hot.every.size() == 2);
  CHECK(hot.every[0].kind == stream::Trigger::Kind::record);
}

TEST_CASE("a rule settles as late as the latest signal of any rule that it reaches") {
  const Loaded loaded = load_rules(slow_rank);
  CHECK(rule(loaded, "hot").settle == 20s);
  CHECK(rule(loaded, "slow_rank").settle == 20s);  // through yields_to
  CHECK(rule(loaded, "quiet").settle == 20s);      // through findings
  const auto& graph = *loaded.pack->graph;
  for (const auto& [name, node] : rule(loaded, "slow_rank").needs) CHECK(graph[node].attributes.window->settle == 20s);
}

TEST_CASE("a finding settles with the first rule that reads it, and a finding that nobody reads when its signals do") {
  const auto settles = [](const std::string& readers) {
    const auto of = [](const std::string& name, const std::string& severity, const std::string& needs,
                       const std::string& answer) {
      return "rule \"" + name + "\" { per = \"job\", every = \"10s\", severity = \"" + severity + "\", needs = { " +
             needs + " },\n  evaluate = function(job) return " + answer + " end }\n";
    };
    return load_rules(
        of("early", "none", "fault = signal \"fault\" { over = \"1h\" }", "job.fault:seen():any(\"job\")") +
        of("seen", "none", "early = finding \"early\"", "job.early:now()") + readers);
  };
  const std::string late = R"(rule "late" { per = "job", every = "10s", severity = "critical",
    needs = { seen = finding "seen", duty = signal "duty" { over = "1m" } },
    evaluate = function(job) return job.seen:now() & job.duty:mean():max("job"):above(0.5) end })";
  const std::string soon = R"(rule "soon" { per = "job", every = "10s", severity = "critical",
    needs = { early = finding "early" }, evaluate = function(job) return job.early:now() end })";
  CHECK(rule(settles(""), "seen").settle == 1s);
  CHECK(rule(settles(late), "seen").settle == 5s);
  CHECK(rule(settles(late), "early").settle == 5s);
  CHECK(rule(settles(late + soon), "seen").settle == 5s);
  CHECK(rule(settles(late + soon), "early").settle == 1s);
  CHECK(rule(settles(late + soon), "soon").settle == 1s);
}

TEST_CASE("of a need that is only filtered the window itself is not kept") {
  const Loaded loaded = load_rules(slow_rank);
  const auto& graph = *loaded.pack->graph;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto& window = graph[static_cast<stream::NodeId>(i)].attributes.window;
    if (window && loaded.pack->signals[window->signal].name == "fault") CHECK_FALSE(window->filters.empty());
  }
}

TEST_CASE("a signal is complete after five seconds, and an event after one, unless it says otherwise") {
  const auto settle = [](const std::string& signal, const std::string& answer) {
    const Loaded loaded =
        load_rules("rule \"x\" { per = \"gpu\", every = \"10s\", needs = { n = signal \"" + signal +
                   "\" { over = \"1m\" } },\n  evaluate = function(job) return job.n:" + answer + ":above(1) end }");
    return rule(loaded, "x").settle;
  };
  CHECK(settle("duty", "mean()") == 5s);
  CHECK(settle("fault", "count()") == 1s);
}

TEST_CASE("durations and persistences are those that are written") {
  CHECK(duration_named("90s") == 90s);
  CHECK(duration_named("1.5m") == 90s);
  CHECK(duration_named("2h") == 2h);
  CHECK(duration_named("3d") == 72h);
  CHECK(duration_named("26000d"));
  CHECK_FALSE(duration_named("27000d"));  // beyond 70 years
  for (const char* none : {"", "s", "10", "10 s", "-1s", "1e3s", "10ms"}) CHECK_FALSE(duration_named(none));
  const auto four = persistence_named("4 of 6"), last = persistence_named("1000 of 1000");
  REQUIRE((four && last));
  CHECK((four->k == 4 && four->n == 6));
  const auto both = persistence_named("3 of 4 for 10s");
  REQUIRE(both);
  CHECK((both->k == 3 && both->n == 4 && both->timed && both->span == 10s));
  for (const char* none :
       {"5 of 4", "0 of 4", "1 of 1001", "for", "4 of", "of 4", "for 10s 3 of 4", "3 of 4for 10s", "3 of 4 for"})
    CHECK_FALSE(persistence_named(none));
}

TEST_CASE("a pack is the rules of its directory, without what is hidden") {
  const auto directory = std::filesystem::temp_directory_path() / "tocsin-test-hidden-pack";
  std::filesystem::remove_all(directory);
  for (const char* file : {"a.lua", "within/b.lua", ".git/c.lua", ".d.lua", "within/.old/e.lua", "notes.txt"}) {
    std::filesystem::create_directories((directory / file).parent_path());
    std::ofstream{directory / file} << "-- nothing\n";
  }
  const auto files = read_pack(directory);
  std::filesystem::remove_all(directory);
  REQUIRE(files);
  CHECK(*files == PackFiles{{"a.lua", "-- nothing\n"}, {"within/b.lua", "-- nothing\n"}});
}

TEST_CASE("a file of a pack that is a link is the file that it leads to, and one that leads nowhere is a mistake") {
  const auto directory = std::filesystem::temp_directory_path() / "tocsin-test-linked-pack";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory / "rules");
  std::ofstream{directory / "a.lua"} << "-- nothing\n";
  std::filesystem::create_symlink(directory / "a.lua", directory / "rules/a.lua");
  std::filesystem::create_symlink("nowhere", directory / "rules/.#a.lua");  // an editor's lock
  const auto files = read_pack(directory / "rules");
  std::filesystem::create_symlink("nowhere.lua", directory / "rules/b.lua");
  const auto torn = read_pack(directory / "rules");
  std::filesystem::remove_all(directory);
  REQUIRE(files);
  CHECK(*files == PackFiles{{"a.lua", "-- nothing\n"}});
  REQUIRE_FALSE(torn);
  CHECK(torn.error().message.ends_with("rules/b.lua is a link that cannot be followed: check where it leads"));
}

TEST_CASE("a directory of a pack that is a link is the directory that it leads to, once") {
  const auto directory = std::filesystem::temp_directory_path() / "tocsin-test-linked-directory";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory / "site/deep");
  std::filesystem::create_directories(directory / "rules");
  std::ofstream{directory / "site/deep/a.lua"} << "-- nothing\n";
  std::filesystem::create_directory_symlink("../site", directory / "rules/site");
  std::filesystem::create_directory_symlink("../site", directory / "rules/.hidden");
  const auto files = read_pack(directory / "rules");
  std::filesystem::create_directory_symlink("../../rules", directory / "site/deep/back");
  const auto round = read_pack(directory / "rules");
  std::filesystem::remove_all(directory);
  REQUIRE(files);
  CHECK(*files == PackFiles{{"site/deep/a.lua", "-- nothing\n"}});
  REQUIRE_FALSE(round);
  CHECK(round.error().message.ends_with(
      "rules/site/deep/back leads to a directory that is among the rules already: remove the link"));
}

TEST_CASE("rules run after those that they are built on") {
  const Loaded loaded = load_rules(slow_rank);
  CHECK(rule(loaded, "quiet").depth == 1);
  CHECK(rule(loaded, "slow_rank").yield_depth == 1);
  CHECK(rule(loaded, "quiet").findings.size() == 2);  // "*" is hot and slow_rank
}

TEST_CASE("a frozen need holds its rule's values; what only texts need is cold") {
  const Loaded loaded = load_rules(slow_rank);
  const auto& graph = *loaded.pack->graph;
  const stream::Rule& slow = rule(loaded, "slow_rank");
  std::size_t frozen = 0;
  for (const auto id : slow.hot) frozen += graph[id].op == stream::Op::freeze;
  CHECK(frozen == 1);
  CHECK_FALSE(slow.cold.empty());
  for (const auto id : slow.cold) CHECK(std::find(slow.hot.begin(), slow.hot.end(), id) == slow.hot.end());
}

TEST_CASE("state read after a write gives what was written") {
  const Loaded loaded = load_rules(slow_rank);
  const stream::Rule& quiet = rule(loaded, "quiet");
  REQUIRE(quiet.state.size() == 1);
  CHECK(quiet.state[0].write == quiet.outputs[0].node);
}

TEST_CASE("two loads of one pack give one graph") {
  const Loaded a = load_rules(slow_rank), b = load_rules(slow_rank);
  REQUIRE(a.pack);
  CHECK(a.pack->hash == b.pack->hash);
  REQUIRE(a.pack->graph->size() == b.pack->graph->size());
  for (std::size_t i = 0; i < a.pack->graph->size(); ++i)
    CHECK(a.pack->graph->describe(static_cast<stream::NodeId>(i)) ==
          b.pack->graph->describe(static_cast<stream::NodeId>(i)));
}

TEST_CASE("cases come out neutral") {
  const Loaded loaded = load_rules(slow_rank);
  REQUIRE(loaded.cases.size() == 1);
  const Case& one = loaded.cases[0];
  CHECK(one.ranks == 8);
  REQUIRE(one.segments.size() == 2);
  CHECK(one.segments[0].all.at("duty").kind == CaseValue::Kind::noise);
  CHECK(one.segments[1].rank.at(3).at("duty").a == 0.5);
  CHECK(one.segments[1].events[0].at == 10s);
  CHECK(one.segments[1].ends == "timeout");
  CHECK(one.fires[0].within == 2min);
  CHECK(one.unknown[0].missing == "memory_cap");
}

TEST_CASE("a site tunes a rule, and a signal's lateness, without copying them") {
  PackFiles files = pack_of(slow_rank);
  files["tunes.lua"] = R"lua(
tune "slow_rank" { params = { ratio = 1.5 }, mode = "shadow", jobs = { partition = "X", name = { "a-*", "!a-2" } }, fire = "for 2m" }
tune "duty" { lateness = "40s" }
)lua";
  const Loaded loaded = load(files);
  CHECK(problems_of(loaded) == "");
  const stream::Rule& slow = rule(loaded, "slow_rank");
  CHECK(std::get<double>(slow.params.at("ratio")) == 1.5);
  CHECK(slow.mode == stream::Mode::shadow);
  CHECK(slow.jobs.at("partition") == std::vector<std::string>{"X"});
  CHECK(slow.fire.span == 2min);
  CHECK(slow.settle == 40s);
  const auto all = tuned(files);
  REQUIRE(all.size() == 2);
  CHECK((all[0].name == "slow_rank" && all[0].file == "tunes.lua" && all[0].line == 2));
  CHECK(all[0].changes[0] == "params.ratio = 1.5 (it was 1.12)");
  CHECK(all[0].changes[1] == "mode = shadow (it was live)");
  CHECK(all[0].changes[2].starts_with("fire = for 120s (it was "));
  CHECK(all[0].changes[3] == "jobs = { name = { \"a-*\", \"!a-2\" }, partition = \"X\" } (it was { })");
  CHECK(all[1].changes == std::vector<std::string>{"lateness = 40s (it was 5s)"});
}

TEST_CASE("a site gives a rule a severity for each cause, a runbook and an owner") {
  PackFiles files = pack_of(slow_rank);
  files["tunes.lua"] =
      "tune \"slow_rank\" { severity = { throttled = \"critical\" }, runbook = \"https://r/1\", owner = \"hardware\" }";
  const Loaded loaded = load(files);
  CHECK(problems_of(loaded) == "");
  const stream::Rule& slow = rule(loaded, "slow_rank");
  CHECK(slow.severity == stream::Severity::critical);
  CHECK(slow.severities.at("otherwise") == stream::Severity::warning);
  CHECK(slow.runbook == "https://r/1");
  CHECK(slow.owner == "hardware");
  CHECK(tuned(files)[0].changes ==
        std::vector<std::string>{"severity = { otherwise = warning, throttled = critical } (it was warning)",
                                 "runbook = \"https://r/1\" (it was \"\")", "owner = \"hardware\" (it was \"\")"});
}

TEST_CASE("a directory that is added to a pack may have signals of its own, in its signals.lua") {
  PackFiles files = pack_of(slow_rank);
  files["/etc/rules.d/signals.lua"] = "signals { inlet = { kind = \"gauge\", unit = \"celsius\", owner = \"node\" } }";
  files["/etc/rules.d/tunes.lua"] = "tune \"inlet\" { row = \"10s\" }";
  const Loaded loaded = load(files);
  CHECK(problems_of(loaded) == "");
  const auto id = loaded.pack->signals.find("inlet");
  REQUIRE(id);
  CHECK(loaded.pack->signals[*id].row == 10s);
  files["/etc/rules.d/signals.lua"] = "signals { duty = { kind = \"gauge\" } }";
  CHECK(problems_of(load(files)).find("signal 'duty' is defined twice") != std::string::npos);
}

TEST_CASE("a rule that asks for a concrete value is scripted, and its line is named") {
  const Loaded loaded =
      load_rules(rule_text("    local x = job.duty:mean():max(\"job\"):number()\n    if x and x > 0.5 then return keep "
                           "end\n    return ~keep"));
  CHECK(problems_of(loaded) == "");
  CHECK(rule(loaded, "r").scripted == "number() at line 8");
  CHECK(loaded.pack->scripts != nullptr);
}

TEST_CASE("the text of a pack gives its files back") {
  const PackFiles files = pack_of("-- nothing\n");
  const auto again = pack_files(pack_text(files));
  REQUIRE(again);
  CHECK(*again == files);
  CHECK(pack_hash(pack_text(*again)) == pack_hash(pack_text(files)));
  CHECK_FALSE(pack_files("tocsin-pack 1\n5 9999\nshort"));
  CHECK_FALSE(pack_files("something else"));
}

TEST_CASE("parameters decide at load: an if over them is no mistake") {
  const Loaded loaded =
      load_rules(rule_text("    local low = keep\n    if p.share == 0.2 and p.share < 1 then low = low & "
                           "job.duty:mean():below(p.share) end\n"
                           "    for i = 1, 3 do low = low | job.duty:mean():below(i / 10) end\n    return low & "
                           "job.duty:age():above(p.wait)"));
  CHECK(problems_of(loaded) == "");
}

TEST_CASE("two parameters that are durations have an order, and equals are at most each other") {
  CHECK(problems_of(load_rules(rule_text(
            "    if p.wait <= p.wait and p.wait >= p.wait and not (p.wait < p.wait) then return keep end"))) == "");
}

TEST_CASE("of events of the attempts before only the number, the first and the last are kept") {
  const auto asks = [](const char* word) {
    return problems_of(load_rules(
        "rule \"r\" { per = \"gpu\", every = \"10s\", needs = { fault = signal \"fault\" { over = \"earlier\" } },\n"
        "  evaluate = function(job) return job.fault:" +
        std::string{word} + ":above(1) end }"));
  };
  CHECK(asks("count()").empty());
  CHECK(asks("last(\"code\")").empty());
  for (const char* word : {"distinct(\"code\")", "repeats(\"code\")"})
    CHECK(asks(word).find("site.lua:2: [r] ") != std::string::npos);
}
