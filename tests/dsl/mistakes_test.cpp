// What an operator who knows little Lua writes, and what it reads. Golden: a message that changes is read again here.
#include <doctest/doctest.h>

#include "tests/dsl/reported.h"

using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

const std::string decides =
    "decides before the values are known. Between masks write '&', '|', '~'; to choose a column write mask:choose(a, "
    "b)";
const std::string unused = "this mask was made and never used. Between masks write '&', not 'and'";

}  // namespace

TEST_CASE("a sign between a column and a number names the word to write") {
  auto body = "    return keep & (job.duty:mean() > 0.5)";
  CHECK(reported(body) == only("a column holds a value per gpu; '>' cannot compare it. Write :above(0.5)", body));
  body = "    return keep & (0.5 < job.duty:mean())";
  CHECK(reported(body) == only("a column holds a value per gpu; '<' cannot compare it. Write :above(0.5)", body));
  body = "    return keep & (job.duty:mean() <= 0.5)";
  CHECK(reported(body) == only("a column holds a value per gpu; '<=' cannot compare it. Write :at_most(0.5)", body));
  body = "    return keep & (job.duty:mean() < job.duty:max())";
  CHECK(reported(body) == only("a column holds a value per gpu; '<' cannot compare it. Write :below(…)", body));
  body = "    return keep & (job.duty:mean() >= job.duty:max())";
  CHECK(reported(body) == only("a column holds a value per gpu; '>=' cannot compare it. Write :at_least(…)", body));
}

TEST_CASE("and, or, not and if between masks are found, although Lua says nothing") {
  auto body = "    return job.duty:mean():above(0.1) and keep";
  CHECK(reported(body) == only("'if/and/or' " + decides, body) + only(unused, body));
  body = "    return keep or job.duty:mean():below(0.1)";
  CHECK(reported(body) == only("'if/and/or' " + decides, body));
  body = "    return keep & not job.duty:mean():above(0.1)";
  CHECK(reported(body) == only("'not' " + decides, body));
  body = "    if job.duty:mean():above(0.1) then return keep end";
  CHECK(reported(body) == only("'if/and/or' " + decides, body) + only(unused, body));
  CHECK(has(reported("    local x = job.duty:mean():above(0.5) and 1 or 2\n    return keep & job.duty:mean():below(x)"),
            "'if/and/or' " + decides));
  CHECK(has(reported("    local m = job.duty:mean():above(0.1)\n    if m then return m & keep end"),
            "site.lua:9: [r] 'if/and/or' " + decides));
  CHECK(has(reported("    while job.duty:mean():above(0.1) do keep = ~keep end\n    return keep"),
            "'if/and/or' " + decides));
  const auto twice = reported(
      "    local a = job.duty:mean():above(0.1)\n    return keep & a & (job.duty:mean():above(0.1) and "
      "job.duty:max():above(0.9))");
  CHECK(has(twice, decides));
  CHECK(has(twice, unused));
}

TEST_CASE("== on a column is found, although Lua says nothing") {
  auto body = "    return keep & (job.fault:last('code') == 79)";
  CHECK(reported(body) == only("'==' never holds for a column. Write :is(79)", body));
  body = "    if job.fault:last('code') == 79 then return keep end return keep";
  CHECK(reported(body) == only("'==' never holds for a column. Write :is(79)", body));
  body = "    return keep & (job.fault:last('code') ~= 7.5)";
  CHECK(reported(body) == only("'~=' always holds for a column. Write ~x:is(7.5)", body));
  body = "    return keep & (job.fault:last('code') == p.share)";
  CHECK(has(reported(body), only("'==' never holds for a column. Write :is(…)", body)));
  body = "    return keep & (job.duty:mean() == job.duty:max())";
  CHECK(reported(body) == only("'==' never holds for a column. Write a:is(b)", body));
  CHECK(has(reported("    return job.fault:last('code') == 79"), "evaluate must return a mask; it returned a boolean"));
}

TEST_CASE("a mistake far down in a function is found at its line") {
  std::string body = "    local x = 1\n";
  for (int i = 0; i < 200; ++i) body += "    -- nothing\n";
  CHECK(has(reported(body + "    return keep & (job.fault:last('code') == 79)"), "site.lua:209: [r] '==' never holds"));
}

TEST_CASE("a state field decides as little as a column") {
  CHECK(has(
      problems_of(load_rules(
          "rule \"s\" { per = \"job\", every = \"10s\", needs = { loss = signal \"loss\" { over = \"attempt\" } },\n"
          "  state = { best = 0 }, evaluate = function(job, p, state)\n"
          "    if state.best then return job.loss:last():above(1) end end }")),
      "site.lua:3: [s] 'if/and/or' " + decides));
}

TEST_CASE("functions of Lua's library do not take columns") {
  auto body = "    return keep & math.max(job.duty:mean(), 1):above(0.5)";
  CHECK(reported(body) == only("math.max cannot take columns; write greatest(a, b), or :clamp(1)", body));
  CHECK(has(reported("    return keep & math.min(job.duty:mean(), 1):above(0.5)"),
            "write least(a, b), or :clamp(low, high)"));
  CHECK(has(reported("    return keep & math.floor(job.duty:mean()):above(0.5)"), "math.floor cannot take columns"));
  CHECK(has(reported("    local s = 'x' .. job.duty:mean()\n    return keep"),
            "a column is not a text: name it in the second value"));
  CHECK(has(reported("    local s = tostring(job.duty:mean())\n    return keep"), "a column is not a text"));
  CHECK(has(reported("    local n = #job.duty:mean()\n    return keep"), "write :count(\"job\")"));
  CHECK(has(reported("    for _, x in pairs(job.duty:mean()) do end\n    return keep"),
            "a column is not a table: :each()"));
}

TEST_CASE("a reduction names its members, and time comes first") {
  auto body = "    return keep & job.duty:mean():median():above(0.5)";
  CHECK(reported(body, "peers = { \"stage\" },") ==
        only("median across which members? median(\"peers\"), median(\"node\"), median(\"job\")", body));
  CHECK(reported(body) == only("median across which members? median(\"node\"), median(\"job\")", body));
  body = "    return keep & job.duty:median('job'):above(0.5)";
  CHECK(reported(body) ==
        only("median over time takes no group; first over time, then across members: :median():median(\"job\")", body));
  CHECK(has(reported("    return keep & job.duty:mean():median('nod'):above(0.5)"), "no group \"nod\" (node?)"));
  CHECK(has(reported("    return keep & job.duty:mean():median('peers'):above(0.5)"),
            "this rule names no peers: write peers = { \"pipeline_stage\" }"));
  CHECK(has(reported("    return keep:at_least('node')"),
            "at_least wants a number, then a group: at_least(2, \"node\")"));
}

TEST_CASE("a name that is not there brings the nearest one") {
  auto body = "    return keep & job.clok:mean():above(0.5)";
  CHECK(reported(body) == only("'clok' is not in needs (clock?): what a rule reads it lists there", body));
  body = "    return keep & job.duty:mean():above(p.shar)";
  CHECK(reported(body) == only("'shar' is not in params (share?): list it there with its value", body));
  body = "    return keep & job.duty:meen():above(0.5)";
  CHECK(reported(body) == only("no word 'meen' for a window (mean?)", body));
  CHECK(has(reported("    return keep & job.duty:maen():above(0.5)"), "no word 'maen' for a window (mean?)"));
  CHECK(has(reported("    local low = keep\n    return lwo"), "site.lua:9: [r] nothing is called 'lwo' (low?)"));
  CHECK(has(
      problems_of(load_rules(
          "rule \"r\" { per = \"gpu\", every = \"10s\",\n  needs = { duty = signal \"dutty\" { over = \"30s\" } },\n"
          "  evaluate = function(job) return job.duty:mean():above(1) end }")),
      "site.lua:2: no signal 'dutty' in signals.lua (duty?)"));
  CHECK(has(reported("    return keep", "servity = \"info\","),
            "site.lua:2: [r] unknown key 'servity' (severity?)\n    servity = \"info\","));
  CHECK(has(reported("    return keep", "severity = \"warn\","),
            "severity = \"warn\" (warning?): write one of warning, critical, info, none"));
  CHECK(has(reported("    return keep", "yields_to = { \"rr\" },"), "yields_to: no rule 'rr'"));
  CHECK(has(reported("    return keep", "peers = { \"stagee\" },"), "no coordinate 'stagee' in signals.lua (stage?)"));
  CHECK(has(
      reported("    return keep, { typical = job.duty:mean() }", "shows = \"{typicl:.2f}\","),
      "site.lua:2: [r] shows names 'typicl', which evaluate does not return (typical?): add it to the second value"));
}

TEST_CASE("a span says what to write") {
  const auto over = [](const std::string& written) {
    return problems_of(load_rules("rule \"r\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" " +
                                  written + " },\n  evaluate = function(job) return job.duty:mean():above(0.5) end }"));
  };
  CHECK(has(over("{ over = \"10 min\" }"), "over = \"10 min\": write \"10m\" (s, m, h, d)"));
  CHECK(has(over("{ over = \"300ms\" }"), "write \"10m\" (s, m, h, d)"));
  CHECK(over("{ over = \"earlier\" }").empty());
  CHECK(has(over("{ over = \"earlier\", lag = \"5m\" }"),
            "lag and over = \"earlier\": the attempts before this one end where they end"));
  CHECK(has(over("{ over = 5 }"), "'duty' is sampled on a grid and does not count points: write over = \"30s\""));
  for (const char* points : {"0", "5.5", "65537"})
    CHECK(has(over("{ over = " + std::string{points} + " }"), ": write a whole number from 1 to 65536"));
  CHECK(has(over("{ over = \"1m\", lag = 5 }"), "lag and over: both a time, or both a number of points"));
  CHECK(has(over("{ ovr = \"1m\" }"), "unknown key 'ovr' (over?)"));
  CHECK(has(over("{ }"), "signal \"duty\" needs over"));
  CHECK(has(over(""), "need 'duty' has no span: write signal \"…\" { over = \"30s\" }"));
}

TEST_CASE("words about time are refused over the attempts before, and name words that are not") {
  for (const char* word : {"age()", "rate()", "slope()", "delta()", "cusum()", "theil_sen()", "interval()"}) {
    const std::string refused = problems_of(load_rules(
        "rule \"r\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" { over = \"earlier\" } },\n"
        "  evaluate = function(job) return job.duty:" +
        std::string{word} + ":above(0.5) end }"));
    INFO(word);
    CHECK(has(refused, "site.lua:2: [r] "));
    CHECK(has(refused,
              "between the attempts before lies time of which nothing is known; write :last(), :max(), :median() or "
              ":count()"));
  }
}

TEST_CASE("a need that is refused is not missed by evaluate as well") {
  const auto needs = [](const std::string& need) {
    return problems_of(load_rules("rule \"r\" { per = \"gpu\", every = \"10s\", needs = { duty = " + need +
                                  " },\n  evaluate = function(job) return job.duty:mean():above(0.5) end }"));
  };
  CHECK(has(needs("signal \"duty\""), "need 'duty' has no span"));
  CHECK(needs("signal \"duty\"").find("not in needs") == std::string::npos);
  CHECK(has(needs("\"duty\""), "need 'duty' is a string: write signal"));
  CHECK(needs("\"duty\"").find("not in needs") == std::string::npos);
}

TEST_CASE("a signal that no rule could read is refused") {
  const auto with = [](const std::string& signal) {
    return problems_of(load(
        {{"signals.lua", "signals { x = { kind = \"gauge\", unit = \"none\", owner = \"rank\", " + signal + " } }"}}));
  };
  CHECK(with("lateness = \"10m\", aliases = { \"y\", z = 0.5 }") == "");
  CHECK(has(with("lateness = \"601s\""), "lateness is at most 10m"));
  CHECK(has(with("aliases = { y = 0 }"), "y: a factor is a number other than 0"));
  CHECK(has(with("row = \"11m\""), "row is between 0.01s and 10m"));
}

TEST_CASE("a tune of a signal keeps to the limits of its definition") {
  const auto tuned = [](const std::string& of) {
    return problems_of(load_rules(rule_text("    return keep") + "tune \"sent\" { " + of + " }"));
  };
  CHECK(tuned("row = \"10m\", lateness = \"10m\"") == "");
  CHECK(has(tuned("row = \"0s\""), "site.lua:11: row is between 0.01s and 10m"));
  CHECK(has(tuned("row = \"1h\""), "row is between 0.01s and 10m"));
  CHECK(has(tuned("lateness = \"20d\""), "lateness is at most 10m"));
}

TEST_CASE("a short window far back, which never holds as many values as make it known, is warned of") {
  const auto warned = [](const std::string& window, const std::string& word = "mean()") {
    return problems_of(
        load_rules("rule \"r\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" { " + window +
                   " } },\n summary = \"s\", shows = \"s\", evaluate = function(job) return job.duty:" + word +
                   ":above(0.5) end }"),
        true);
  };
  const std::string far = "need 'duty' reaches back more than 5 minutes and is read in whole panes of 10 s: ";
  CHECK(has(warned("over = \"20s\", lag = \"10m\""),
            far + "of these 20 s it may hold no more than 10 values, and it is known from 16 on. Write over = \"30s\" "
                  "or more, or least = 10"));
  CHECK(has(warned("over = \"15s\", lag = \"10m\""), far + "of these 15 s it may hold no more than 0 values"));
  CHECK(has(warned("over = \"6m\", least = 360"), "it may hold no more than 350 values"));
  CHECK(warned("over = \"20s\", lag = \"10m\", least = 10") == "");
  CHECK(warned("over = \"20s\", lag = \"10m\"", "last()") == "");
  CHECK(warned("over = \"30s\", lag = \"10m\"") == "");
  CHECK(warned("over = \"20s\", lag = \"4m\"") == "");
  CHECK(warned("over = \"6m\"") == "");
}

TEST_CASE("what Lua expects is named with the usual slip") {
  CHECK(has(reported("    return keep", "clear = \"2 of 3\" fire = \"2 of 3\","),
            "between the fields of a table stands a comma"));
  CHECK(has(reported("    return keep & job.duty:mean:above(0.5)"), "brackets follow a word, x:mean()"));
  CHECK(has(problems_of(load_rules("rule { }")), "rule wants a name: rule \"…\""));
  CHECK(has(reported("    return keep", "yields_to = { \"elsewhere\" },"),
            "yields_to: no rule 'elsewhere' in this directory: add its file, or"));
}

TEST_CASE("a word of Lua as a key is reported by name") {
  CHECK(reported("    return keep", "for = \"60s\",") ==
        "site.lua:2: 'for' is a word of Lua: write fire = \"for 60s\"\n    for = \"60s\",\n");
  CHECK(has(reported("    return keep", "end = \"60s\","), "'end' is a word of Lua and cannot name a key"));
  CHECK(has(reported("    return keep", "fire = \"5 of 3\","), "of n evaluations at least 1 and at most n"));
  CHECK(has(reported("    return keep", "fire = \"often\","),
            "write \"4 of 6\" (evaluations), \"for 60s\", or both: \"4 of 6 for 60s\""));
}

TEST_CASE("variables are local") {
  auto body = "    total = 1 return keep";
  CHECK(reported(body) == only("assign to a local: write 'local total = 1'", body));
  body = "    total = job.duty:mean() return keep";
  CHECK(reported(body) == only("assign to a local: write 'local total = …'", body));
  CHECK(has(problems_of(load_rules("function share(x) return x end")),
            "site.lua:1: assign to a local: write 'local function share(…)'"));
}

TEST_CASE("a limit that cannot be reached is reported") {
  const auto text = [](const std::string& body, const std::string& head) {
    std::string whole = rule_text(body, head);
    whole.replace(whole.find("share = 0.2"), 11, "share = 20");
    whole.replace(whole.find("fault = signal"), 0,
                  "a = signal \"load_time\" { over = \"1m\" }, b = signal \"step_time\" { over = \"1m\" }, ");
    return problems_of(load_rules(whole));
  };
  CHECK(has(text("    return keep & job.duty:mean():above(p.share)", ""),
            "site.lua:8: [r] share = 20 is compared with a ratio (0 to 1); did you mean 0.20?"));
  CHECK(has(text("    local w = (job.a:mean() / job.b:mean()):at(\"rank\") return keep:at(\"rank\") & "
                 "w:above(p.share), { w = w }",
                 "per_ = 1,"),
            "unknown key"));
  std::string per_rank =
      "    local w = (job.a:mean() / job.b:mean()):max(\"job\")\n    return keep & w:above(p.share), { w = w }";
  CHECK(has(text(per_rank, "shows = \"{w:.0%}\","),
            "shows: {w} is shown as a percentage and compared with share = 20; did you mean 0.20?"));
}

TEST_CASE("what evaluate returns is checked against per") {
  CHECK(has(reported("    local m = keep"),
            "evaluate must return a mask; this path returned nothing: end it with 'return mask'"));
  CHECK(has(reported("    return job.duty:mean()"),
            "evaluate must return a mask; it returned a column: make a mask of it, :above(…)"));
  CHECK(has(reported("    return keep", "", "node"),
            "per = 'node', but evaluate returned a value per gpu: use :any(\"node\") or :all(\"node\")"));
  CHECK(has(reported("    return keep, { who = keep }"), "who is a value per gpu: it must be finer than per = 'gpu'"));
  CHECK(has(reported("    return keep:any(\"node\"), { d = job.duty:mean() }", "shows = \"{d}\",", "node"),
            "shows: {d} is a value per gpu, but per = 'node': take it up through a group, :max(\"node\")"));
  CHECK(has(reported("    return keep, { hot = job.duty:mean() }", "causes = { hot = \"…\" },"),
            "cause 'hot' is not a mask"));
  CHECK(has(reported("    return keep", "causes = { hot = \"…\" },"),
            "causes names 'hot', which evaluate does not return"));
  CHECK(has(reported("    return keep, { m = keep }", "shows = \"{m}\","), "{m} is a mask, yes or no"));
  CHECK(has(reported("    return keep, { d = job.duty:mean() }", "shows = \"{d:.2x}\","),
            "{d:.2x}: write {d:.2f}, {d:.0%}, {d:d} or {d}"));
}

TEST_CASE("shapes and units are kept apart") {
  CHECK(has(reported("    return keep & (job.duty:age() + job.mem:last()):above(1)"),
            "seconds cannot be added to bytes"));
  auto body = "    return keep & keep:above(1)";
  CHECK(reported(body) == only("'above' is a word for a column; this is a mask (per gpu)", body));
  CHECK(has(reported("    return keep & job.duty:mean()"),
            "'&' takes a mask; this is a column (per gpu): make a mask of it: :above(…)"));
  CHECK(has(reported("    return keep & job.duty:above(1)"),
            "'above' is a word for a column; this is a window (reduce it over time first: :last(), :mean())"));
  CHECK(has(reported("    return keep & job.duty:mean():above()"), "above wants a column or a number, not nil"));
  CHECK(has(reported("    return keep & job.duty.mean():above(1)"), "write ':' before a word and '(' after it"));
  CHECK(has(reported("    return keep & job.fault:where { cod = 7 }:count():above(0)"),
            "'fault' has no field 'cod' (code?)"));
  auto lost = "    local low = job.duty:mean():below(0.1) return keep";
  CHECK(reported(lost) == only(unused, lost));
}

TEST_CASE("what is not of the language says so") {
  CHECK(has(problems_of(load_rules("local f = io.open('x')")), "'io' is not part of the language"));
  CHECK(has(problems_of(load_rules("pcall(error)")), "'pcall' is not part of the language"));
  CHECK(has(problems_of(load_rules("\x1bLua")), "this is compiled Lua, which is not accepted"));
  CHECK(reported("    return keep", "scope = \"job\",").empty());
  CHECK(has(reported("    return keep", "scope = \"jobs\","),
            "scope = \"jobs\": write \"attempt\", \"job\" or \"cluster\", or leave it out"));
  CHECK(has(problems_of(load({{"site.lua", ""}})),
            "signals.lua: the file is missing. It declares the signals that rules may read: name the shipped "
            "rules before this directory (shipped DIR)"));
}

TEST_CASE("circles are load errors that name the circle") {
  const auto rules = [](const std::string& a, const std::string& b) {
    const auto one = [](const std::string& name, const std::string& extra, const std::string& yields) {
      return "rule \"" + name +
             "\" { per = \"job\", every = \"10s\", needs = { loss = signal \"loss\" { over = \"1m\" }" + extra +
             " }, " + yields + " evaluate = function(job) return job.loss:mean():above(1) end }\n";
    };
    return problems_of(load_rules(one("a", a, "") + one("b", b, "")));
  };
  CHECK(has(rules(", f = finding \"b\"", ", f = finding \"a\""),
            "findings go in a circle: a > b > a: take one of these out"));
  CHECK(has(problems_of(load_rules(rule_text("    return keep", "yields_to = { \"r\" },"))),
            "yields_to goes in a circle: r > r"));
}

TEST_CASE("a rule that only events trigger cannot clear by time") {
  CHECK(has(reported("    return keep", "clear = \"for 60s\","), ""));
  std::string text = rule_text("    return keep", "clear = \"for 60s\",");
  text.replace(text.find("every = \"10s\""), 13, "every = \"fault\"");
  CHECK(has(problems_of(load_rules(text)), "add a time to every, every = { \"fault\", \"30s\" }"));
}

TEST_CASE("an outer variable is not a memory") {
  CHECK(has(problems_of(load_rules("local seen = 0\n" + rule_text("    seen = seen + 1 return keep"))),
            "'seen' is a variable outside of the function"));
  CHECK(has(problems_of(load_rules("local seen = {}\n" + rule_text("    seen[1] = 1 return keep"))),
            "a table of the file is read-only once it is loaded"));
  CHECK(has(problems_of(load_rules("local seen = { inner = {} }\n" + rule_text("    seen.inner.x = 1 return keep"))),
            "read-only once it is loaded"));
  CHECK(has(problems_of(load_rules("local function counter() local n = 0 return function() n = n + 1 return n end "
                                   "end\nlocal next_one = counter()\n" +
                                   rule_text("    local x = next_one() return keep"))),
            "'n' is a variable outside of the function"));
  CHECK(problems_of(load_rules(
            "local codes = { 48, 79 }\nlocal function bad(w) return w:where { code = codes }:count():above(0) end\n" +
            rule_text("    local n = 0 local function add() n = n + #codes end add() for _, c in ipairs(codes) do n = "
                      "n + c end\n"
                      "    return keep & bad(job.fault) & job.duty:mean():above(n / 1000)"))) == "");
}

TEST_CASE("a bracket in a text that cannot be meant says what to write") {
  const auto shows = [](const std::string& text) {
    return reported("    return keep, { d = job.duty:mean() }", "summary = \"s\", shows = \"" + text + "\",");
  };
  CHECK(has(shows("x[ of {d}"),
            "site.lua:2: [r] shows: '[ of {d}' is not closed: write [ of {name}], or '[[' for the bracket itself"));
  CHECK(has(shows("x of {d}]"), "shows: a ']' without its '[': write ']]' for the bracket itself"));
  CHECK(has(shows("x[ of {d}[ {d}]]"), "shows: a '[' within brackets, in '[ of {d}[ {d}]]': brackets do not nest"));
  CHECK(has(shows("a[0] is {d}"),
            "shows: '[0]' has no value that could be unknown: write '[[' and ']]' for the brackets themselves"));
  CHECK(has(reported("    return keep, { d = job.duty:mean() }", "causes = { d = {} },"), "causes.d says nothing"));
}

TEST_CASE("a value that can be unknown outside brackets is warned of, and one that its rule compares is not") {
  const auto warned = [](const std::string& shows, const std::string& body, const std::string& per = "gpu",
                         const std::string& head = "") {
    const std::string text = rule_text(body, "summary = \"s\", shows = " + shows + "," + head, per);
    return problems_of(load_rules(text), true);
  };
  const std::string body =
      "    local d = job.duty:mean()\n    return keep & d:above(p.share), { d = d, c = "
      "job.clock:last(), t = d * 2, f = job.clock:last():fill(0) }";
  const std::string warning =
      "site.lua:2: warning: [r] shows: {c} can be unknown, and its clause is left out then: put what needs it in "
      "brackets, \"…[ of {c}]\", or list a text without it after this one";
  CHECK(has(warned("\"{d} of {c}\"", body), warning));
  CHECK(has(warned("{ \"{d}\", \"{d} of {c}\" }", body), warning));
  for (const char* fine : {"\"{d} and {t}, {f}, {p.share} on GPU {gpu} of {node}\"", "\"{d}[ of {c}][ in {rack}]\"",
                           "{ \"{d} of {c}\", \"{d}\" }"})
    CHECK_FALSE(has(warned(fine, body), "can be unknown"));
  CHECK(has(warned("\"GPU in {rack}\"", body), "{rack} can be unknown"));

  const std::string of_job =
      "    local hot = job.duty:mean():above(p.share)\n    local clock = job.clock:last()\n"
      "    return keep:any(\"job\") & hot:any(\"job\"), { who = hot, n = hot:surely():count("
      "\"job\"), cold = clock:below(900):any(\"job\"), c = clock:min(\"job\") }";
  CHECK_FALSE(has(warned("\"{n}: {who}, GPU {gpu} of {node}\"", of_job, "job"), "can be unknown"));
  CHECK(has(warned("\"{who}\"", "    return keep:any(\"job\"), { who = job.duty:mean():above(p.share) }", "job"),
            "{who} can be unknown"));
  // A cause that is yes says more than the answer.
  CHECK_FALSE(has(warned("\"s\"", of_job, "job", " causes = { cold = \"{c}\" },"), "can be unknown"));
  CHECK(has(warned("\"s\"", of_job, "job", " causes = { cold = \"s\" }, actions = { otherwise = \"{c}\" },"),
            "actions.otherwise: {c} can be unknown, and the action is left out then"));
}
