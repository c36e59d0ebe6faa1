// Cases that are not met: each says what was expected, and what was reported instead.
#include <doctest/doctest.h>

#include "dsl/cases/case_runner.h"
#include "dsl/load/text_definitions.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

const char* rules = R"lua(
rule "hot" { per = "gpu", every = "10s", needs = { duty = signal "duty" { over = "30s" } },
  evaluate = function(job) return job.duty:mean():above(0.5) end }
rule "slow" { per = "job", every = "10s", needs = { took = signal "step_time" { over = "30s" } },
  evaluate = function(job) local slow = job.took:mean():above(0.5) return slow:any("job"), { who = slow } end }
rule "was_hot" { per = "gpu", every = "end", needs = { duty = signal "duty" { over = "attempt" } },
  evaluate = function(job) return job.duty:last():above(0.95) end }
)lua";

// What a case of four ranks says that is not met; empty: it is.
std::string faults(const std::string& segments, const std::string& expected) {
  const Loaded loaded = load_rules(std::string{rules} + "case \"c\" { ranks = 4, " + segments + ", " + expected + " }");
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  REQUIRE(loaded.cases.size() == 1);
  const CaseResult result = run_case(loaded.cases[0], {loaded.pack, nullptr});
  CHECK(result.passed == result.messages.empty());
  std::string all;
  for (const std::string& message : result.messages) all += message + "\n";
  return all;
}
bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

const std::string one_hot = "{ lasting = \"1m\", duty = 0.1 }, { lasting = \"2m\", gpu = { [3] = { duty = 0.9 } } }";

}  // namespace

TEST_CASE("a case is met by the alert that it names, in its time, of its member") {
  CHECK(faults(one_hot, "fires = { { \"hot\", gpu = 3, within = \"40s\" } }") == "");
  CHECK(has(faults(one_hot, "fires = { { \"hot\", gpu = 3, within = \"1s\" } }"),
            "expected hot, GPU 3 in time; reported instead: hot on GPU"));
  CHECK(has(faults(one_hot, "fires = { { \"hot\", gpu = 2 } }"), "expected hot, GPU 2; reported instead: hot on GPU"));
  CHECK(has(faults("{ lasting = \"2m\", duty = 0.1 }", "fires = { { \"hot\" } }"), "expected hot; it never fired"));
}

TEST_CASE("a case of a rule that runs at the end says that its job has to end") {
  const std::string fires = "fires = { { \"hot\" }, { \"was_hot\" } }";
  CHECK(has(faults("{ lasting = \"2m\", duty = 0.99 }", fires),
            "expected was_hot; it never fired, for it runs at the job's end: write ends = \"completed\""));
  CHECK(faults("{ lasting = \"2m\", duty = 0.99, ends = \"completed\" }", fires) == "");
  CHECK(has(faults("{ lasting = \"2m\", duty = 0.9, ends = \"completed\" }", fires),
            "expected was_hot; it never fired\n"));
}

TEST_CASE("an alert that a case does not name is a fault of it") {
  CHECK(has(faults(one_hot, "fires = {}"), "fired unexpectedly: hot on GPU"));
  CHECK(has(faults(one_hot, "fires = { { \"hot\", gpu = 2 } }"), "fired unexpectedly: hot on GPU"));
}

TEST_CASE("a case names all members that an alert names, and no other") {
  const std::string two =
      "{ lasting = \"2m\", step_time = 0.1, rank = { [2] = { step_time = 0.9 }, [3] = { step_time = 0.9 } } }";
  CHECK(faults(two, "fires = { { \"slow\", who = { 2, 3 } } }") == "");
  CHECK(has(faults(two, "fires = { { \"slow\", who = { 3 } } }"), "expected slow, who {3}; reported instead: "));
  CHECK(has(faults(two, "fires = { { \"slow\", who = { 1, 2, 3 } } }"), "who {2, 3}"));
}

TEST_CASE("a case that expects an alert to clear, or a rule not to know, says where they do not") {
  const std::string cleared = one_hot + ", { lasting = \"2m\", gpu = { [3] = { duty = 0.1 } } }",
                    fires = "fires = { { \"hot\", gpu = 3 } }";
  CHECK(faults(cleared, fires + ", resolves = { { \"hot\", gpu = 3 } }") == "");
  CHECK(has(faults(one_hot, fires + ", resolves = { { \"hot\", gpu = 3 } }"),
            "expected hot, GPU 3 to clear; it did not"));
  const std::string nothing = "{ lasting = \"1m\", clock = 1700 }";
  CHECK(faults(nothing, "unknown = { { \"hot\", missing = \"duty\" } }") == "");
  CHECK(has(faults(nothing, "unknown = { { \"hot\", missing = \"clock\" } }"), "does not miss clock; it misses duty"));
  CHECK(has(faults(one_hot, fires + ", unknown = { { \"hot\" } }"),
            "expected hot to be unknown at the end; it was known"));
}

TEST_CASE("a case that fails shows the values of the rule at the tick that failed, of the member that was expected") {
  const auto shown = [](const std::string& body) {
    const Loaded loaded = load_rules(std::string{rules} + "case \"c\" { ranks = 4, " + body + " }");
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
    const CaseResult result = run_case(
        loaded.cases[0], {loaded.pack, nullptr}, [](const stream::RuleEvaluation& evaluation, stream::Slot slot) {
          return "slot " + std::to_string(slot) + "\nof " + std::string{evaluation.rule.name} + "\n";
        });
    return result.messages.empty() ? "" : result.messages.front();
  };
  CHECK(has(shown(one_hot + ", fires = { { \"hot\", gpu = 2, within = \"1m\" }, { \"hot\", gpu = 3 } }"),
            "\n  hot for GPU 2 on n0 says no after 54 s (yes at 0 of 6 ticks)\n  slot 2\n  of hot"));
  CHECK(has(shown(one_hot), "fired unexpectedly: hot on GPU 3 on n0 after 24 s: "));
  CHECK(has(shown(one_hot), "\n  hot for GPU 3 on n0 says yes after 24 s (yes at 1 of 3 ticks)\n  slot 3"));
  CHECK(has(shown(one_hot + ", fires = { { \"hot\" } }, resolves = { { \"hot\", gpu = 3 } }"),
            "to clear; it did not\n  hot for GPU 3 on n0 says yes after 114 s"));
  CHECK(shown(one_hot + ", fires = { { \"hot\" } }") == "");
  const std::string two_hot =
      "{ lasting = \"1m\", duty = 0.1 }, { lasting = \"2m\", gpu = { [2] = { duty = 0.9 }, [3] = { duty = 0.9 } } }";
  CHECK(has(shown(two_hot + ", fires = { { \"hot\", gpu = 3, within = \"1s\" }, { \"hot\", gpu = 2 } }"),
            "reported instead: hot on GPU 3 on n0"));
  CHECK(has(shown("{ lasting = \"2m\", gpu = { [3] = { duty = 0.9 } } }, { lasting = \"1m\", duty = 0.1 }"),
            "\n  hot for GPU 3 on n0 says yes before the last segment\n"));
}

TEST_CASE("lines of a case become events and samples by the pack's patterns and parsers, with their rank and time") {
  PackFiles files = pack_of(
      "rule \"diverged\" { per = \"job\", every = \"10s\", needs = { loss = signal \"loss\" { over = 16, least = 1 } "
      "},\n"
      "  evaluate = function(job) return job.loss:last():above(9) end }\n"
      "rule \"fault\" { per = \"rank\", every = \"10s\", needs = { took = signal \"load_time\" { over = 4, least = 1 } "
      "},\n"
      "  evaluate = function(job) return job.took:last():above(5) end }\n"
      "case \"c\" { ranks = 4, { lasting = \"1m\", lines = { \"first\" } }, { lasting = \"1m\",\n"
      "  lines = { { \"objective 12.5\", at = \"20s\" }, { [[a note\nloaded in 7.5 s]], rank = 3, at = \"40s\" } } },\n"
      "  fires = { { \"diverged\", within = \"40s\" }, { \"fault\", rank = 3, within = \"1m\" } } }");
  files["progress/ours.lua"] =
      "parser \"ours\" { line = [[^objective (?P<loss>NUM)]], samples = { loss = \"loss\" } }\n"
      "parser \"load\" { line = [[^loaded in (?P<s>NUM) s]], samples = { load_time = \"s\" } }\n";
  const Loaded loaded = load(files);
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  const text::Compiled texts = compile_text(files);
  REQUIRE(texts.extraction);
  const CaseResult result = run_case(loaded.cases[0], {loaded.pack, texts.extraction});
  CHECK((result.messages.empty() ? "" : result.messages.front()) == "");
  CHECK(run_case(loaded.cases[0], {loaded.pack, nullptr}).messages.size() == 2);
}

TEST_CASE("a rule for some jobs is tested by the labels of the case") {
  const auto outcome = [](const std::string& segments) {
    const Loaded loaded = load_rules(
        "rule \"r\" { per = \"gpu\", every = \"10s\", jobs = { partition = \"prod-*\" },\n"
        "  needs = { duty = signal \"duty\" { over = \"30s\" } }, evaluate = function(job) return "
        "job.duty:mean():above(0.5) end }\n"
        "case \"c\" { " +
        segments + ", fires = { { \"r\", gpu = 0 } } }");
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
    const auto messages = run_case(loaded.cases[0], {loaded.pack, nullptr}).messages;
    return messages.empty() ? "" : messages.front();
  };
  CHECK(outcome("{ lasting = \"1m\", duty = 0.9, labels = { partition = \"prod-a\" } }") == "");
  CHECK(outcome("{ lasting = \"1m\", duty = 0.9 }, { lasting = \"1m\", labels = { partition = \"prod-a\" } }") == "");
  CHECK(outcome("{ lasting = \"1m\", labels = { partition = \"prod-a\" } }, { lasting = \"1m\", new_attempt = true, "
                "duty = 0.9 }") == "");
  CHECK(has(outcome("{ lasting = \"1m\", duty = 0.9, labels = { partition = \"test\" } }"),
            "it never ran, for its jobs asks for another partition: write labels = { partition = \"prod-*\" } in the "
            "first segment"));
}

TEST_CASE("collectors sample from a segment on as often as it says") {
  const std::string sampled = "{ lasting = \"2m\", duty = 0.9, sampled = \"1m\" }";
  CHECK(has(faults(sampled, "fires = { { \"hot\" } }"), "it never fired"));  // half of 30 s is not covered
  CHECK(faults(sampled + ", { lasting = \"2m\", sampled = \"1s\" }", "fires = { { \"hot\", within = \"40s\" } }") ==
        "");
}

TEST_CASE("words that are never unknown decide where a value has come, and where it has not") {
  const auto outcome = [](const std::string& condition) {
    const Loaded loaded = load_rules(
        "rule \"r\" { per = \"gpu\", every = \"10s\", needs = { duty = signal \"duty\" { over = \"30s\" },\n"
        "  fault = signal \"fault\" { over = \"attempt\" } }, evaluate = function(job) return " +
        condition +
        " end }\n"
        "case \"c\" { ranks = 2, { lasting = \"1m\", gpu = { [0] = { duty = 0.5 } },\n"
        "  events = { { \"fault\", gpu = 0, at = \"5s\", code = 79, place = \"east\" } } },\n"
        "  fires = { { \"r\", gpu = 0 } } }");
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
    std::string all;
    for (const std::string& message : run_case(loaded.cases[0], {loaded.pack, nullptr}).messages) all += message + "\n";
    return all;
  };
  for (const char* condition :
       {"job.duty:seen()", "job.fault:seen()", "job.fault:where { code = 79 }:seen()", "job.duty:within(\"20s\")",
        "job.fault:older_than(\"20s\")", "job.fault:within(\"10h\")", "job.duty:last():known()",
        "job.fault:last(\"place\"):known()", "job.duty:seen() & job:age():above(\"20s\")",
        "~job.fault:older_than(\"10h\") & job.fault:seen()",
        "least_known(job.duty:mean(), job.fault:last(\"code\")):is(0.5)",
        "greatest_known(job.fault:last(\"code\"), job.duty:mean()):above(1)"})
    CHECK(std::string{condition} + ": " + outcome(condition) == std::string{condition} + ": ");
}
