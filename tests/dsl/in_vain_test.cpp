// What is written and means nothing: names that are not there, files that are not read, and how a long list of mistakes
// is shown.
#include <doctest/doctest.h>

#include "tests/dsl/reported.h"

using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

TEST_CASE("a case that names what is not there is reported") {
  const auto with = [](const std::string& text) {
    return problems_of(load_rules(rule_text("    return keep") + text));
  };
  CHECK(has(with("case \"c\" { { lasting = \"1m\", dutty = 1 } }"),
            "[case 'c'] no signal 'dutty' in signals.lua (duty?)"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\" }, fires = { { \"q\" } } }"), "[case 'c'] no rule 'q'"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\" }, fires = { { rank = 3 } } }"),
            "fires names no rule; the rule above is 'r'"));
  CHECK(has(with("case \"c\" { { lasting = \"1m\" }, fires = { { \"r\", cause = \"x\" } } }"), "'r' has no cause 'x'"));
  CHECK(has(with("case \"c\" { { duty = 1 } }"), "a segment says how long it is"));
  CHECK(has(with("case \"c\" { ranks = 4, { lasting = \"1m\", rank = { [4] = { duty = 1 } } } }"),
            "rank 4: it has 4, counted from 0"));
}

TEST_CASE("what many places have in common is listed once, and a long list is cut and counted") {
  const auto problem = [](int line, const std::string& message, bool warning = false) {
    return Problem{"a.lua", line, "text " + std::to_string(line), "", message, warning};
  };
  CHECK(list({}) == "");
  CHECK(list({problem(9, "odd", true), problem(3, "no x"), problem(3, "no x"), problem(5, "no x")}) ==
        "a.lua:9: warning: odd\n    text 9\n"
        "a.lua:3: no x\n    text 3\n    and 1 more place: a.lua:5\n");
  std::vector<Problem> many;
  for (int line = 1; line <= 8; ++line) many.push_back(problem(line, "no x"));
  CHECK(list(many) ==
        "a.lua:1: no x\n    text 1\n    and 7 more places: a.lua:2, a.lua:3, a.lua:4, a.lua:5, a.lua:6, …\n");
  for (int line = 1; line <= 21; ++line) many.push_back(problem(line, "no y" + std::to_string(line)));
  many.push_back(problem(99, "no y21"));
  const std::string cut = list(many);
  CHECK(has(cut, "a.lua:19: no y19\n    text 19\n… and 2 more messages of 3 places: "));
  CHECK(cut.find("no y20") == std::string::npos);
}

TEST_CASE("what a file that is not read would declare is not missed elsewhere") {
  const std::string rules = rule_text("    return keep", "yields_to = { \"q\" }, summary = \"s\", shows = \"s\",") +
                            "case \"c\" { { lasting = \"1m\", duty = 1 } }";
  const Loaded torn_signals = load({{"signals.lua", "signals {\n  duty = = 1\n}"}, {"site.lua", rules}});
  REQUIRE(torn_signals.problems.size() == 2);  // and the rule that is named nowhere
  CHECK(has(describe(torn_signals.problems[0]), "signals.lua:2: "));
  CHECK(has(describe(torn_signals.problems[1]), "no rule 'q'"));
  PackFiles torn_rules = pack_of(rules);
  torn_rules["torn.lua"] = "rule \"q\" {";
  const Loaded loaded = load(torn_rules);
  CHECK(!loaded.pack);
  CHECK(problems_of(loaded).find("no rule 'q'") == std::string::npos);
  CHECK(has(problems_of(loaded), "torn.lua:1: "));
}

TEST_CASE("what is listed and never read is a warning") {
  const Loaded loaded = load_rules(rule_text("    return keep"));
  CHECK(loaded.pack);
  CHECK(has(problems_of(loaded, true), "warning: [r] params.share is never read: take it out"));
  CHECK(has(problems_of(loaded, true), "warning: [r] need 'duty' is never read"));
}

TEST_CASE("every names a need, not its signal") {
  std::string text = rule_text("    return keep");
  text.replace(text.find("every = \"10s\""), 13, "every = \"memory\"");
  CHECK(has(problems_of(load_rules(text)),
            "every = \"memory\" is neither a time, as \"10s\", nor one of end, clock, duty, fault, mem"));
}

TEST_CASE("a tune of what is not there is reported") {
  const auto with = [](const std::string& text) {
    return problems_of(load_rules(rule_text("    return keep") + text));
  };
  CHECK(has(with("tune \"rr\" { }"), "tune: no rule 'rr'"));
  CHECK(has(with("tune \"r\" { params = { shar = 1 } }"), "tune 'r': 'shar' is not in params (share?): it has share"));
  CHECK(has(with("tune \"r\" { params = { share = \"much\" } }"),
            "tune 'r': params.share is of another kind in the rule"));
  CHECK(has(with("tune \"r\" { per = \"job\" }"), "tune 'r': 'per' cannot be tuned"));
  CHECK(has(with("tune \"r\" { enabled = false }"),
            "'enabled' cannot be tuned: mode = \"shadow\" keeps the rule from posting"));
  CHECK(has(with("tune \"r\" { \"shadow\" }"), "a value without a name, which nothing reads"));
  CHECK(has(with("tune \"r\" { params = { share = 0/0 } }"), "params.share is NaN, which nothing compares with"));
  CHECK(has(with("tune \"dutty\" { lateness = \"9s\" }"), "tune: no rule or signal 'dutty' (duty?)"));
  CHECK(has(with("\ntune \"r\" { mode = \"shadow\" }\ntune \"r\" { fire = \"2 of 3\" }"),
            "a second tune 'r': the first is at "));
}
