// The verdict: which families are in, out or undecidable, and why.
#include <doctest/doctest.h>

#include "stream/rules/verdict.h"
#include "tests/stream_engine/lifecycle_bench.h"

using namespace tocsin::tests;

namespace {

Verdict verdict_of(const Bench& bench, const std::string& end_reason = {}) {
  return conclude(bench.pack, bench.runs, end_reason, [](RuleIndex) { return std::vector<std::string>{}; });
}

Standing standing(const Verdict& verdict, const std::string& family) {
  for (const auto& line : verdict.families)
    if (line.family == family) return line.standing;
  FAIL("no family " << family);
  return Standing::undecidable;
}

}  // namespace

TEST_CASE(
    "a family whose rules were known in 90 % of their evaluations and never yes is out, with less it is undecidable") {
  for (const int known : {90, 89, 50, 0}) {
    CAPTURE(known);
    Bench bench;
    bench.rule("slow").family = "D3";
    bench.begin();
    for (int i = 0; i < 100; ++i) bench.at(10 * i, {{i < known ? N : U}});
    const Verdict verdict = verdict_of(bench);
    CHECK(standing(verdict, "D3") == (known >= 90 ? Standing::out : Standing::undecidable));
    if (known >= 90) CHECK(verdict.cannot_decide.empty());
    else
      CHECK(verdict.cannot_decide ==
            Story{"D3 (slow could decide in " + std::to_string(known) + " % of its evaluations)"});
    CHECK(verdict.family.empty());
  }
}

TEST_CASE("the share is of all members' evaluations, of those that exist") {
  Bench bench;
  bench.rule("slow", Level::rank).family = "D3";
  bench.begin(10);
  for (int i = 0; i < 10; ++i) bench.at(10 * i, {{U, N, N, N, N, N, N, N, N, N}});
  CHECK(standing(verdict_of(bench), "D3") == Standing::out);
}

TEST_CASE("a yes that did not last long enough is a doubt") {
  Bench bench;
  bench.rule("slow").family = "D3";
  bench.pack.rules[0].fire = {false, 2, 2, {}};
  bench.begin();
  for (int i = 0; i < 100; ++i) bench.at(10 * i, {{i == 50 ? Y : N}});
  CHECK(bench.published.empty());
  const Verdict verdict = verdict_of(bench);
  CHECK(standing(verdict, "D3") == Standing::undecidable);
  CHECK(verdict.cannot_decide == Story{"D3 (slow held, but not for long enough)"});
}

TEST_CASE("a yes of the reserved member, of which no alert is, is no doubt") {
  Bench bench;
  bench.rule("slow", Level::rank).family = "D3";
  bench.begin(2);
  bench.runs[0].record(tick(10), std::vector<Truth>{Y, N, N}, bench.topology);
  CHECK(standing(verdict_of(bench), "D3") == Standing::out);
}

TEST_CASE("a family is in if a rule of it fired, explained and withheld ones as well") {
  Bench bench;
  bench.rule("parent", Level::rank).family = "F1";
  bench.child("child", Level::rank).family = "C2";
  bench.rule("late", Level::rank).family = "D3";
  bench.pack.alert_limit = 1;
  bench.pack.verdict.precedence = {"F1", "C2", "D3"};
  bench.begin(2);
  bench.at(10, {{Y, N}, {Y, N}, {N, Y}});
  REQUIRE(bench.story() == Story{"10 parent firing rank 0", "10 alert_limit firing"});
  const Verdict verdict = verdict_of(bench);
  for (const char* family : {"F1", "C2", "D3"}) CHECK(standing(verdict, family) == Standing::in);
  CHECK(verdict.family == "F1");
  CHECK(verdict.shows == Story{"F1: parent", "C2: child", "D3: late"});
}

TEST_CASE("rules in shadow have no part in the verdict") {
  Bench bench;
  bench.rule("tried").family = "D3";
  bench.pack.rules[0].mode = Mode::shadow;
  bench.begin();
  bench.at(10, {{Y}});
  CHECK(verdict_of(bench).families.empty());
}

TEST_CASE("a family that only informs is listed where it fired, and never named") {
  Bench bench;
  bench.rule("informs").family = "D1";
  bench.pack.rules[0].severity = Severity::info;
  bench.begin();
  bench.at(10, {{Y}});
  const Verdict verdict = verdict_of(bench);
  CHECK(standing(verdict, "D1") != Standing::in);
  CHECK(verdict.family.empty());
}

TEST_CASE(
    "of two families that explain each other the one that began later is a consequence, whatever precedence says") {
  for (const bool hang_first : {true, false}) {
    CAPTURE(hang_first);
    Bench bench;
    bench.rule("hang").family = "C2";
    bench.pack.rules[0].fire = {false, 2, 2, {}};
    bench.rule("killed").family = "A2";
    bench.pack.verdict.precedence = {hang_first ? "A2" : "C2", hang_first ? "C2" : "A2"};
    bench.pack.verdict.explains = {{"C2", {"A2"}}, {"A2", {"C2"}}};
    bench.begin();
    bench.at(10, {{hang_first ? Y : N}, {hang_first ? N : Y}});
    bench.at(20, {{Y}, {Y}}), bench.at(30, {{Y}, {Y}});
    const Verdict verdict = verdict_of(bench);
    CHECK(verdict.family == (hang_first ? "C2" : "A2"));
    const std::string hang = "C2: hang", killed = "A2: killed", later = " (consequence: began later)";
    CHECK(verdict.shows == (hang_first ? Story{hang, killed + later} : Story{killed, hang + later}));
  }
}

TEST_CASE(
    "precedence decides where two families began at once, where none explains the other, and where a rule looks only "
    "at the end") {
  const auto named = [](int second, bool explains, bool at_end) {
    Bench bench;
    bench.rule("hang").family = "C2";
    bench.rule("killed").family = "A2";
    if (at_end) bench.pack.rules[1].every = {{Trigger::Kind::end, {}, {}}};
    bench.pack.verdict.precedence = {"A2", "C2"};
    if (explains) bench.pack.verdict.explains = {{"C2", {"A2"}}};
    bench.begin();
    bench.at(10, {{Y}, {second == 10 ? Y : N}}), bench.at(20, {{Y}, {Y}});
    return verdict_of(bench).family;
  };
  CHECK(named(20, true, false) == "C2");
  CHECK(named(10, true, false) == "A2");
  CHECK(named(20, false, false) == "A2");
  CHECK(named(20, true, true) == "A2");
}

TEST_CASE("a hang that cleared in an attempt that completed is past, and names no family") {
  const auto concluded = [](bool cleared, const std::string& end_reason) {
    Bench bench;
    bench.rule("stalled").family = "C";
    bench.pack.verdict.passes = {"C"};
    bench.begin();
    bench.at(10, {{Y}}), bench.at(20, {{cleared ? N : Y}});
    return verdict_of(bench, end_reason);
  };
  CHECK(concluded(true, "completed").family.empty());
  CHECK(concluded(true, "completed").shows == Story{"C: stalled (cleared before the job completed)"});
  CHECK(concluded(false, "completed").family == "C");
  CHECK(concluded(true, "failed").family == "C");
  CHECK(concluded(true, "").shows == Story{"C: stalled"});
}

TEST_CASE("a family that cleared while another had not at the end is past, where the policy says so") {
  const auto concluded = [](bool listed, bool cleared, bool another) {
    Bench bench;
    bench.rule("memory").family = "B1", bench.rule("disk").family = "A1";
    bench.pack.verdict.precedence = {"B1", "A1"};
    if (listed) bench.pack.verdict.passes = {"B1"};
    bench.begin();
    bench.at(10, {{Y}, {N}}), bench.at(20, {{cleared ? N : Y}, {another ? Y : N}});
    return verdict_of(bench, "failed");
  };
  CHECK(concluded(true, true, true).family == "A1");
  CHECK(concluded(true, true, true).shows.back() == "B1: memory (cleared; another fault lasted to the end)");
  CHECK(concluded(true, false, true).family == "B1");
  CHECK(concluded(true, true, false).family == "B1");
  CHECK(concluded(false, true, true).family == "B1");
}

TEST_CASE("what is past explains nothing: a hang after a killed rank that the job came back from is named") {
  Bench bench;
  bench.rule("killed").family = "A2", bench.rule("hang").family = "C2";
  bench.pack.verdict.precedence = {"A2", "C2"};
  bench.pack.verdict.explains = {{"A2", {"C2"}}};
  bench.begin();
  bench.at(10, {{Y}, {N}});
  CHECK(verdict_of(bench, "failed").family == "A2");
  bench.at(20, {{N}, {Y}});
  CHECK(verdict_of(bench, "failed").family == "A2");
  bench.pack.verdict.passes = {"A2"};
  CHECK(verdict_of(bench, "failed").family == "C2");
  CHECK(verdict_of(bench, "failed").shows.front() == "C2: hang");
}
