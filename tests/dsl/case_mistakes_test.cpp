// Cases that would pass without a test of anything: each slip is named when they are loaded.
#include <doctest/doctest.h>

#include "dsl/cases/case_runner.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

const char* rules = R"lua(
rule "hot" { per = "gpu", every = "10s", needs = { duty = signal "duty" { over = "30s" } },
  evaluate = function(job) return job.duty:mean():above(0.5) end }
rule "slow" { per = "rank", every = "10s", needs = { took = signal "step_time" { over = "30s" } },
  evaluate = function(job) return job.took:mean():above(0.5) end }
rule "quietly_slow" { per = "rank", severity = "none", every = "10s", needs = { took = signal "step_time" { over = "30s" } },
  evaluate = function(job) return job.took:mean():above(0.5) end }
)lua";

Loaded with(const std::string& body) {
  return load_rules(std::string{rules} + "case \"c\" { ranks = 8, per_node = 4, " + body + " }");
}
std::string refused(const std::string& segment) { return problems_of(with("{ lasting = \"1m\", " + segment + " }")); }
std::string faults(const std::string& body) {
  const Loaded loaded = with(body);
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  std::string all;
  for (const std::string& message : run_case(loaded.cases.at(0), {loaded.pack, nullptr}).messages)
    all += message + "\n";
  return all;
}
bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

}  // namespace

TEST_CASE("a value that its signal cannot have is refused: a text for a number, a number for a text") {
  CHECK(refused(
            "duty = 0.9, phase = \"eval\", memory = noise(1, 0.1), reasons = 4, loss = ramp(3, 2), step = steps(1)") ==
        "");
  CHECK(refused("duty = silent, phase = silent, step = 5, loss = nan") == "");
  CHECK(has(refused("duty = \"0.9\""), "'duty' holds numbers, and \"0.9\" is a text: write a number without quotes"));
  CHECK(has(refused("phase = 1"), "'phase' holds texts, and this is a number: write one of train, eval, save"));
  CHECK(has(refused("phase = noise(1, 2)"), "'phase' holds texts, and this is a number"));
  CHECK(has(refused("phase = \"evil\""), "phase = \"evil\" is not one of its values (eval?)"));
}

TEST_CASE("a key of the whole case in a segment is an error that says so") {
  CHECK(has(refused("resolves = { { \"hot\" } }"), "resolves belongs to the whole case"));
  CHECK(has(refused("fires = { { \"hot\" } }"), "fires belongs to the whole case"));
}

TEST_CASE("lines are texts with a rank or a node, and labels are texts") {
  CHECK(refused("lines = { \"a\", { [[b\nc]], rank = 7, at = \"10s\" }, { \"d\", node = 1 } }, labels = { user = "
                "\"ada\" }") == "");
  CHECK(has(refused("lines = \"a\""),
            "lines is a string: write lines = { { \"loss is not finite\", rank = 3, at = \"10s\" } }"));
  for (const char* none : {"lines = { 3 }", "lines = { \"\" }", "lines = { { rank = 3 } }", "lines = { true }"})
    CHECK(has(refused(none), "lines lists texts: lines = { { \"loss is not finite\""));
  CHECK(has(refused("lines = { { \"a\", gpu = 3 } }"), "unknown key 'gpu'"));
  CHECK(has(refused("lines = { { \"a\", rank = 8 } }"), "rank 8: it has 8, counted from 0"));
  CHECK(has(refused("lines = { { \"a\", at = \"1m\" } }"), "a line at = \"60s\" is behind the end of its segment"));
  CHECK(has(refused("labels = { user = true }"), "labels.user is a boolean: write a text"));
  CHECK(has(refused("sampled = \"0.5s\""), "sampled is whole seconds, at most 10m"));
}

TEST_CASE("steps are of step alone, and step has no noise and no ramp, at which it would stand still") {
  CHECK(has(refused("duty = steps(1)"), "steps(…) makes step, and 'duty' is another signal: write ramp(from, to)"));
  CHECK(has(refused("step = ramp(0, 100)"), "step is made by steps(seconds, from)"));
  CHECK(has(refused("rank = { [1] = { step = noise(3, 1) } }"), "step is made by steps(seconds, from)"));
}

TEST_CASE("a value stands under the member that owns it") {
  CHECK(refused("rank = { [7] = { step_time = 1, duty = 0.1 } }, gpu = { [7] = { duty = 0.1 } }, node = { [1] = { "
                "memory = 5 } }") == "");
  CHECK(has(refused("rank = { [1] = { memory = 5 } }"),
            "'memory' is a node's, and stands under rank: write node = { [0] = { … } }"));
  CHECK(has(refused("rank = { [3] = { loss = 5 } }"),
            "'loss' is a job's, and stands under rank: write it in the segment itself"));
  CHECK(has(refused("node = { [1] = { duty = 5 } }"),
            "'duty' is a gpu's, and stands under node: write gpu = { [0] = { … } }"));
}

TEST_CASE("a member that the case does not have is refused, of values, of events and of what is expected") {
  CHECK(has(refused("node = { [2] = { memory = 5 } }"), "node 2: it has 2, counted from 0"));
  CHECK(
      has(refused("events = { { \"fault\", gpu = 8, code = 79, at = \"10s\" } }"), "gpu 8: it has 8, counted from 0"));
  CHECK(has(refused("events = { { \"fault\", node = 99, code = 79, at = \"10s\" } }"),
            "node 99: it has 2, counted from 0"));
  CHECK(has(problems_of(with("{ lasting = \"1m\" }, fires = { { \"hot\", gpu = 8 } }")),
            "gpu 8: it has 8, counted from 0"));
  CHECK(has(problems_of(with("{ lasting = \"1m\" }, unknown = { { \"slow\", rank = 8 } }")),
            "rank 8: it has 8, counted from 0"));
}

TEST_CASE("an event happens within its segment, and its fields hold what they are declared to hold") {
  CHECK(refused("events = { { \"fault\", gpu = 7, code = 79, place = \"a\", at = \"59s\" } }") == "");
  CHECK(has(
      refused("events = { { \"fault\", gpu = 7, code = 79, at = \"1m\" } }"),
      "'fault' at = \"60s\" is behind the end of its segment, which lasts 60 s: at counts from the segment's begin"));
  CHECK(has(refused("events = { { \"fault\", gpu = 7, code = \"79\" } }"),
            "field 'code' of 'fault' holds numbers: write one without quotes"));
  CHECK(has(refused("events = { { \"fault\", gpu = 7, place = 3 } }"),
            "field 'place' of 'fault' holds text: write it in quotes"));
}

TEST_CASE("'unknown' is about a rule's own members, and about the one that it names") {
  const std::string known = "{ lasting = \"2m\", step_time = 0.1 }",
                    two = "{ lasting = \"2m\", rank = { [2] = { step_time = 0.1 } } }";
  CHECK(has(faults(known + ", unknown = { { \"slow\" } }"), "expected slow to be unknown at the end; it was known"));
  CHECK(faults(two + ", unknown = { { \"slow\" }, { \"slow\", rank = 3, missing = \"step_time\" } }") == "");
  CHECK(has(faults(two + ", unknown = { { \"slow\", rank = 2 } }"),
            "expected slow, rank 2 to be unknown at the end; it was known"));
}

TEST_CASE("a rule without alerts fires in a case where it says yes of the member that is named, in its time") {
  const std::string one =
      "{ lasting = \"2m\", step_time = 0.1 }, { lasting = \"2m\", rank = { [5] = { step_time = 0.9 } } }";
  const std::string slow = "{ \"slow\", rank = 5 }";
  CHECK(faults(one + ", fires = { " + slow + ", { \"quietly_slow\", rank = 5, within = \"1m\" } }") == "");
  CHECK(has(faults(one + ", fires = { " + slow + ", { \"quietly_slow\", rank = 4 } }"),
            "expected quietly_slow, rank 4; it never fired"));
  CHECK(has(faults(one + ", fires = { " + slow + ", { \"quietly_slow\", within = \"1s\" } }"),
            "expected quietly_slow in time"));
}
