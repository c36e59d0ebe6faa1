// Nothing is accepted in silence: what is not declared, what another language would write, what would never be known or
// say nothing.
#include <doctest/doctest.h>

#include "dsl/load/text_definitions.h"
#include "tests/dsl/reported.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

TEST_CASE("a declaration in parentheses is one, and one without its table is an error") {
  const Loaded loaded = load_rules(
      "rule(\"q\", { summary = \"s\", shows = \"x\", per = \"gpu\", every = \"10s\", needs = { duty = signal(\"duty\", "
      "{ over = \"30s\" }) "
      "},\n"
      "  evaluate = function(job) return job.duty:mean():above(0.5) end })\n"
      "case(\"c\", { { lasting = \"1m\" } })");
  CHECK(problems_of(loaded, true) == "");
  CHECK(rule(loaded, "q").summary == "s");
  CHECK(loaded.cases.size() == 1);
  CHECK(problems_of(load_rules("rule \"q\"")) ==
        "site.lua:1: rule \"q\" has no table: write rule \"q\" { … }\n    rule \"q\"\n");
  CHECK(has(problems_of(load_rules("\ncase(\"c\")")), "site.lua:2: case \"c\" has no table"));
}

TEST_CASE("a severity is that of a cause that there is, and a runbook has an address") {
  const auto with = [](const std::string& head) {
    return reported("    return keep, { hot = keep }", "causes = { hot = \"it is hot\" }, " + head);
  };
  CHECK(with("severity = { hot = \"critical\", otherwise = \"info\" },") == "");
  CHECK(has(with("severity = { hat = \"critical\" },"),
            "severity names 'hat', which is not in causes (hot?): name a cause, or otherwise"));
  CHECK(
      has(with("severity = { hot = \"crit\" },"), "hot = \"crit\" (critical?): write one of warning, critical, info"));
  CHECK(
      has(with("runbook = \"wiki/hot\","), "runbook = \"wiki/hot\" is not an address: write runbook = \"https://…\""));
}

TEST_CASE("a value in a summary is refused, which is fixed text") {
  CHECK(has(reported("    return keep", "summary = \"GPU {gpu} is slow\", shows = \"x\","),
            "site.lua:2: [r] '{gpu}' in summary, which is fixed text: write what values say into shows, shows = "
            "\"rank {rank}: …\""));
  CHECK(has(reported("    return keep", "summary = \"slow\", shows = \"x\", jobs = { name = {} },"),
            "jobs.name says nothing: write a text"));
}

TEST_CASE("actions are of causes, and name what is there") {
  const auto with = [](const std::string& actions, const std::string& outputs = "{ d = job.duty:mean(), hot = keep }") {
    return reported("    return keep, " + outputs, "causes = { hot = \"it is hot\" }, actions = " + actions + ",");
  };
  CHECK(with("{ hot = \"drain {node}\", otherwise = { \"cool {gpu}: {d}\", \"wait {p.wait}\" } }") == "");
  CHECK(has(with("{ hat = \"drain {node}\" }"),
            "actions names 'hat', which is not in causes (hot?): name a cause, or write otherwise = \"…\""));
  CHECK(has(with("{ \"drain {node}\" }"), "actions lists values without names: write actions = { name = \"…\" }"));
  CHECK(has(with("\"drain\""), "actions is a string: write actions = { name = \"…\" }"));
  CHECK(has(with("{ hot = \"drain {nod}\" }"), "actions.hot names 'nod', which evaluate does not return (node?)"));
  CHECK(has(with("{ hot = \"kill {hot}\" }"), "{hot} is a mask, yes or no"));
  CHECK(has(with("{ hot = \"drain {rank}\" }"),
            "actions.hot names 'rank', but per = 'gpu' has several: return who, a mask per rank"));
  CHECK(has(reported("    return keep:any(\"job\")", "actions = { otherwise = \"drain {node}\" },", "job"),
            "return who, a mask per node"));
  CHECK(reported("    return keep:any(\"job\"), { who = keep, pid = job.clock:last() }",
                 "actions = { otherwise = \"kill -CONT {pid} on {node}, GPU {gpu}\" },", "job") == "");
  CHECK(has(reported("    return keep, { otherwise = keep }",
                     "causes = { otherwise = \"x\" },  actions = { otherwise = \"x\" },"),
            "a cause cannot be called otherwise"));
}

TEST_CASE("what another language would write gets the word to write") {
  CHECK(has(reported("    return keep && keep"), "site.lua:8: '&&' is of another language: between masks write '&'"));
  CHECK(has(reported("    return keep || keep"), "'||' is of another language: between masks write '|'"));
  CHECK(has(reported("    return !keep"), "'!' is of another language: before a mask write '~'"));
  CHECK(has(reported("    return keep & (job.duty:mean() != 3)"),
            "'!=' is of another language: of a column write ~x:is(…)"));
  CHECK(has(reported("    local n = 1\n    n += 1\n    return keep"),
            "site.lua:9: '+=' is of another language: write x = x + …"));
  CHECK(has(reported("    return keep & job.duty:avg():above(0.1)"), "no word 'avg' for a window: write :mean()"));
  CHECK(has(reported("    local own = job.duty:mean()\n    return keep & own:above(own[0])"),
            "site.lua:9: [r] a column has no numbered entries: it holds a value per gpu"));
  CHECK(
      has(reported("    return keep", "expr = \"up == 0\","), "unknown key 'expr': write evaluate = function(job, p)"));
  CHECK(has(reported("    return keep", "annotations = { },"),
            "unknown key 'annotations': write summary, shows, causes and actions"));
  CHECK(
      has(problems_of(load_rules("rule \"q\" { needs = { d = signal \"duty\" { over = \"5m\", offset = \"5m\" } } }")),
          "unknown key 'offset': write lag = \"5m\""));
  CHECK(has(reported("    return keep & (job.duty:mean() / 0):above(1)"),
            "this divides by 0, and what it makes is never known"));
}

TEST_CASE("the words of the newest value take a time, and the job's own word no need's place") {
  CHECK(has(reported("    return keep & job.duty:within(\"200ms\")"), "'within' wants a column or a number"));
  CHECK(
      has(reported("    return keep & job.duty:within(job.clock:last())"), "within takes a time, and this is in MHz"));
  CHECK(has(reported("    return keep & job.duty:older_than()"), "older_than wants a column or a number, not nil"));
  CHECK(has(reported("    return keep & job.duty:seen(\"node\")"), "seen"));
  CHECK(has(reported("    return keep & job:age(\"10s\"):above(1)"), "job:age()"));
  CHECK(has(reported("    return keep & job.age():above(1)"), "job:age()"));
  CHECK(has(reported("    return keep & job.mem:last():greatest_known(1):above(1)"),
            "'greatest_known' is a function: write greatest_known(a, b)"));
  CHECK(has(
      problems_of(load_rules("rule \"f\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" { over = "
                             "\"30s\", freeze = true } },\n  evaluate = function(job) return job.duty:seen() end }")),
      "seen of a need with freeze: what is held is a number. Write :count():above(0)"));
  CHECK(has(
      problems_of(load_rules("rule \"e\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" { over = "
                             "\"earlier\" } },\n  evaluate = function(job) return job.duty:within(\"1m\") end }")),
      "within of 'duty' over \"earlier\""));
  CHECK(has(problems_of(load_rules(
                "rule \"c\" { scope = \"cluster\", per = \"gpu\", every = \"10s\", needs = { fault = "
                "signal \"fault\" { over = \"1h\" } },\n"
                "  evaluate = function(cluster) return cluster.fault:seen() & cluster:age():above(1) end }")),
            "age() is the age of a job's attempt, and the cluster has none"));
}

TEST_CASE("a text that was meant as a number gets the number to write") {
  const auto with = [](const std::string& text) {
    return reported("    return keep & job.mem:last():above(\"" + text + "\")");
  };
  CHECK(has(with("80GiB"), "bytes are a number: write 80 * 2^30"));
  CHECK(has(with("512 MB"), "bytes are a number: write 512 * 2^20"));
  CHECK(has(with("1.5"), "write 1.5 without quotes"));
  CHECK(has(with("30%"), "a share of one is a number: write 0.3"));
  CHECK(has(with("200ms"), "write \"0.2s\""));
  CHECK(has(with("30 s"), "write \"30s\" (s, m, h, d)"));
}

TEST_CASE("a window that has to be full has a length") {
  const auto with = [](const std::string& span) {
    return problems_of(load_rules("rule \"f\" { per = \"job\", every = \"10s\", needs = { loss = signal \"loss\" { " +
                                  span + " } },\n  evaluate = function(job) return job.loss:max():above(1) end }"));
  };
  CHECK(with("over = \"2m\", full = true") == "");
  CHECK(with("over = 8, full = true") == "");
  CHECK(has(with("over = \"attempt\", full = true"), "they have no length to fill"));
  CHECK(has(with("over = 8, least = 4, full = true"), "full = true waits for all 8 points: leave least out"));
}

TEST_CASE("bytes that a person cannot see are refused") {
  CHECK(has(problems_of(load_rules("\xEF\xBB\xBFlocal x = 1")),
            "site.lua:1: the file begins with a byte-order mark, which cannot be seen"));
  CHECK(has(problems_of(load_rules("local x = 1\nlocal y = \"\xFF\"")),
            "site.lua:2: a byte that is not UTF-8: save the file as UTF-8"));
  CHECK(has(problems_of(load_rules("local x = \"\xED\xA0\x80\"")), "a byte that is not UTF-8"));
  CHECK(has(problems_of(load_rules("rule “r” { }")), "the quotes “ are those of a text for people: write \" or '"));
  CHECK(problems_of(load_rules("local x = \"é “ 水 😀\" -- ü")) == "");
}

TEST_CASE("what signals.lua does not declare is refused in cases, and so is a second case of one name") {
  const auto with = [](const std::string& text) {
    return problems_of(load_rules(rule_text("    return keep") + text));
  };
  CHECK(has(with("case \"c\" { { lasting = \"1m\", phase = \"trian\" } }"),
            "phase = \"trian\" is not one of its values (train?): train, eval, save"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\", events = { { \"fault\", gpu = 0, cod = 7 } } } }"),
            "'fault' has no field 'cod' (code?): it has code, place"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\", fault = 3 } }"),
            "'fault' is an event, and has no value: write events = { { \"fault\", at = \"10s\" } }"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\" } }\ncase \"c\" { { lasting = \"1m\" } }"),
            "a second case 'c': the first is at site.lua:11"));
}

TEST_CASE("a unit that is none, and a family that the verdict does not know, are refused") {
  const auto unit = [](const std::string& written) {
    return problems_of(
        load({{"signals.lua", "signals { x = { kind = \"gauge\", owner = \"rank\", unit = \"" + written + "\" } }"}}));
  };
  CHECK(has(unit("secnds"), "no unit \"secnds\" (seconds?): write none, ratio, count"));
  const auto warned = load({{"signals.lua", "signals { x = { kind = \"gauge\", owner = \"rank\", unit = \"GB\" } }"}});
  CHECK(has(problems_of(warned, true),
            "warning: unit \"GB\" is neither shown in alerts nor comparable with bytes: write \"bytes\", and convert "
            "values that come in GB by an alias, aliases = { name = "));
  CHECK(has(unit("bytes/secnds"), "no unit \"secnds\" (seconds?)"));
  for (const char* known : {"none", "bytes/seconds", "count/seconds", "ms", "KiB", "MHz", "celsius"})
    CHECK(unit(known) == "");
  PackFiles files = pack_of(rule_text("    return keep"));
  files["verdict.lua"] = "verdict { families = { D1 = \"few\", D2 = \"slow\" } }";
  CHECK(has(
      problems_of(load(files)),
      "site.lua:1: [r] family = \"D3\" is not in verdict.lua (D1?): write one of its families, or add this one there"));
  files["verdict.lua"] = "verdict { families = { B3 = \"a hot GPU\", D3 = \"a slow rank\" } }";
  auto small = files;
  small["site.lua"].replace(small["site.lua"].find("\"D3\""), 4, "\"d3\"");
  CHECK(has(problems_of(load(small)), "family = \"d3\" is not in verdict.lua (D3?)"));
  files["verdict.lua"] = "verdict { families = { D3 = \"a slow rank\" } }";
  CHECK(problems_of(load(files)) == "");
  CHECK(load(files).pack->verdict.words("D3") == "a slow rank");
}

TEST_CASE("a pack of before that lists what is past as pauses still loads") {
  PackFiles files = pack_of(rule_text("    return keep"));
  files["verdict.lua"] = "verdict { families = { D3 = \"a slow rank\" }, pauses = { \"D3\" } }";
  CHECK(problems_of(load(files)) == "");
  CHECK(load(files).pack->verdict.passes == std::vector<std::string>{"D3"});
}

TEST_CASE("a rule that would say nothing, and a need that is never known, are warnings") {
  CHECK(has(problems_of(load_rules(rule_text("    return keep")), true),
            "warning: [r] summary is missing: its alert would not say what is wrong"));
  CHECK(has(problems_of(load_rules(rule_text("    return keep")), true),
            "warning: [r] shows is missing: its alert would not say what was seen"));
  const auto least = [](const std::string& signal, const std::string& written) {
    return problems_of(
        load_rules("rule \"r\" { per = \"gpu\", every = \"10s\", needs = { n = signal \"" + signal + "\" { " + written +
                   " } },\n  evaluate = function(job) return job.n:count():above(0.5) end }"),
        true);
  };
  CHECK(has(least("duty", "over = \"30s\", least = 31"),
            "least = 31 is never reached: 'duty' has a value each 1 s, so 30 s holds at most 30; the need would be "
            "unknown for ever"));
  CHECK_FALSE(has(least("duty", "over = \"30s\", least = 30"), "is never reached"));
  CHECK(has(least("loss", "over = 8, least = 9"), "least = 9 is never reached: over = 8 holds at most 8"));
}

TEST_CASE("a rule that would never run, or never know, is refused") {
  const auto with = [](const std::string& every, const std::string& answer) {
    return problems_of(
        load_rules("rule \"r\" { per = \"gpu\", every = " + every +
                   ", needs = { duty = signal \"duty\" { over = \"30s\" } },\n"
                   "  params = { none = 0 / 0, wait = \"30 s\" },\n  evaluate = function(job, p) return job.duty:" +
                   answer + " end }"));
  };
  CHECK(
      has(with("{}", "mean():above(0.5)"), "every lists nothing, so the rule would never run: write every = \"10s\""));
  CHECK(has(with("{ period = \"10s\" }", "mean():above(0.5)"), "every lists nothing"));
  CHECK(has(with("\"10s\"", "mean():above(0 / 0)"),
            "'above' compares with NaN, which is not a number, so it would never be known"));
  CHECK(has(with("\"10s\"", "mean():below(p.none)"), "'below' compares with NaN"));
  CHECK(has(with("\"10s\"", "mean():is(0.5, 0 / 0)"), "is(NaN): nothing is equal to NaN"));
  CHECK(has(with("\"10s\"", "age():above(p.wait)"), "not the text \"30 s\": write \"30s\" (s, m, h, d)"));
}

TEST_CASE("a name stands on one line") {
  CHECK(has(problems_of(load_rules("rule \"a\\nb\" { }")), "rule wants a name on one line"));
  CHECK(has(problems_of(load_rules("case \"a\\27[2J\" { }")), "case wants a name on one line"));
}

TEST_CASE("a name that means two signals, or one twice, is refused with both signals and both places") {
  const auto with = [](const std::string& signals) {
    return problems_of(load({{"signals.lua", "signals {\n" + signals + "\n}"}}));
  };
  CHECK(has(
      with("  a = { kind = \"gauge\", aliases = { \"load\" } },\n  b = { kind = \"gauge\", aliases = { \"load\" } },"),
      "signals.lua:3: 'load' names two signals, 'a' (signals.lua:2) and 'b': read 'a', or give this one another name"));
  CHECK(has(with("  a = { kind = \"gauge\", aliases = { \"b\" } },\n  b = { kind = \"gauge\" },"),
            "signals.lua:3: 'b' names two signals, 'a' (signals.lua:2) and 'b'"));
  CHECK(has(with("  a = { kind = \"gauge\" },\n  b = { kind = \"gauge\", aliases = { \"a\" } },"),
            "signals.lua:3: 'a' names two signals, 'a' (signals.lua:2) and 'b'"));
  PackFiles files = pack_of(
      "rule \"r\" { per = \"rank\", every = \"10s\", needs = { n = signal \"b\" { over = \"30s\" } },\n"
      "  evaluate = function(job) return job.n:mean():above(1) end }");
  files["signals.lua"] =
      "signals { a = { kind = \"gauge\", aliases = { \"q\" } },\n b = { kind = \"gauge\", aliases = { \"q\" } } }";
  CHECK(has(problems_of(load(files)), "signals.lua:2: 'q' names two signals"));
  CHECK(has(with("  a = { kind = \"gauge\", aliases = { \"load\", \"load\" } },"),
            "signals.lua:2: 'load' names 'a' twice: remove one"));
  CHECK(has(with("  a = { kind = \"gauge\", aliases = { \"a\" } },"), "signals.lua:2: 'a' names 'a' twice"));
}

TEST_CASE("the verdict's lists name families that are there") {
  PackFiles files = pack_of(rule_text("    return keep"));
  const auto with = [&](const std::string& lists) {
    files["verdict.lua"] = "verdict {\n  families = { D3 = \"a slow rank\", A1 = \"a failure\" },\n" + lists + " }";
    return problems_of(load(files));
  };
  CHECK(with("  precedence = { \"A1\", \"D3\" }, passes = { \"D3\" }, explains = { A1 = { \"D3\" } }") == "");
  CHECK(has(with("  precedence = { \"A2\", \"D3\" }"),
            "verdict.lua:3: precedence names the family 'A2', which is not in families (A1?): write one of them"));
  CHECK(has(with("  passes = { \"D4\" }"), "verdict.lua:3: passes names the family 'D4'"));
  CHECK(has(with("  explains = { A1 = { \"D9\" } }"), "verdict.lua:3: explains names the family 'D9'"));
  CHECK(has(with("  explains = { Z1 = { \"D3\" } }"), "explains names the family 'Z1'"));
}

TEST_CASE("a key that a table has twice is refused, and a variable that is assigned twice is not") {
  CHECK(has(problems_of(load_rules(rule_text("    return keep", "every = \"10s\",\n  every = \"20s\","))),
            "'every' stands in this table twice, first in line "));
  CHECK(has(reported("    return keep, { d = keep,\n      d = ~keep }"),
            "site.lua:9: 'd' stands in this table twice, first in line 8, and only the last would count: remove one"));
  CHECK(reported("    local t = { a = 1, b = { a = 2 } }\n    t.a = 3\n    t.a = 4\n    t.b.a, t.b.a = 1, 2\n"
                 "    return keep, { d = keep, e = { 1, 2 } and keep }") == "");
  // A file with more constants than an instruction can number names keys in registers.
  std::string many = "local t = {";
  for (int i = 0; i < 400; ++i) many += " x" + std::to_string(i) + " = " + std::to_string(i) + ".5,";
  CHECK(problems_of(load_rules(many + " }")) == "");
  CHECK(has(problems_of(load_rules(many + " x399 = 1 }")), "'x399' stands in this table twice"));
  PackFiles files = pack_of(rule_text("    return keep"));
  files["patterns/own.lua"] = "pattern \"p\" { scan = \"abc\",\n event = \"fault\", scan = \"abd\" }";
  const TextDefinitions text = read_text_definitions(files);
  REQUIRE(text.problems.size() == 1);
  CHECK(text.problems[0].line == 2);
}

TEST_CASE("a name or a text with NUL or without UTF-8 is refused") {
  CHECK(has(problems_of(load_rules("\nrule \"a\\0b\" { }")), "site.lua:2: a text with NUL, which neither an alert"));
  CHECK(has(problems_of(load_rules("rule \"a\\xff\" { }")), "site.lua:1: a text that is not UTF-8"));
  CHECK(has(problems_of(load_rules("case \"a\\xc3\" { }")), "a text that is not UTF-8"));
  CHECK(has(problems_of(load({{"signals.lua", "signals { [\"a\\0b\"] = { kind = \"gauge\" } }"}})), "a text with NUL"));
  CHECK(has(reported("    return keep", "summary = \"a\\0b\","), "a text with NUL"));
  CHECK(problems_of(load_rules("case \"größer\" { { lasting = \"1m\" } }")) == "");
}

TEST_CASE("a rule cannot have the name of the alert about too many alerts") {
  std::string rule = rule_text("    return keep");
  rule.replace(rule.find("\"r\""), 3, "\"alert_limit\"");
  CHECK(has(problems_of(load_rules(rule)), "the engine's own alerts about their limit are called 'alert_limit'"));
}

TEST_CASE("a window that is shorter than a row of its signal is refused") {
  const auto over = [](const std::string& signal, const std::string& written) {
    PackFiles files =
        pack_of("rule \"r\" { per = \"gpu\", every = \"10s\",\n  needs = { n = signal \"" + signal + "\" { over = \"" +
                written + "\" } },\n  evaluate = function(job) return job.n:count():above(0.5) end }");
    files["tunes.lua"] = "tune \"duty\" { row = \"10s\" }";
    return problems_of(load(files));
  };
  CHECK(has(over("duty", "5s"),
            "site.lua:2: [r] 'duty' has a value each 10 s, and over = \"5s\" is too short to hold one: write over = "
            "\"10s\" or longer"));
  CHECK(over("duty", "10s") == "");
  CHECK(over("fault", "0.5s") == "");
}

TEST_CASE("state without its argument, and fire of a rule at the end, are errors that say what to write") {
  CHECK(has(reported("    state.x = 1\n    return keep"), "write evaluate = function(job, p, state)"));
  const char* once =
      "rule \"r\" { per = \"gpu\", every = \"end\", fire = \"for 5m\", severity = \"none\",\n"
      "  needs = { duty = signal \"duty\" { over = \"30s\" } },\n"
      "  evaluate = function(job) return job.duty:mean():above(0.5) end }\n";
  CHECK(has(problems_of(load_rules(once)), "a rule that runs once, at the end, would never fire"));
}
