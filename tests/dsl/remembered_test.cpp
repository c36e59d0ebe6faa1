// What an alert tells: of what its rule remembers between ticks, and of the findings that it is built on.
#include <doctest/doctest.h>

#include "tests/dsl/judged.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl::test;
using schemas::EntryBuilder;

namespace {

// One rank whose steps take half a second, and two seconds from the third minute on.
std::vector<Message> slower_from_the_third_minute() {
  std::vector<Message> log;
  for (int s = 0; s < 240; ++s) {
    const stream::Time time = stream::at_nanoseconds((1'700'000'000LL + s) * 1'000'000'000);
    Message& message = log.emplace_back(Message{time, {}});
    const EntryBuilder::Value values[] = {{"step_time", s < 120 ? 0.5 : 2.0, {}, false}};
    message.entry.about("job");
    message.entry.sample(time, EntryBuilder::rank(0), values);
  }
  return log;
}

// The first alert of the rule `r` with this evaluate.
stream::AlertTransition first_alert(const std::string& needs, const std::string& evaluate, const std::string& head) {
  const auto loaded =
      dsl::load(pack_of("rule \"r\" { per = \"rank\", every = \"10s\", fire = \"6 of 6\", " + head + " needs = { " +
                        needs + " },\n  evaluate = function(job, p, state)\n" + evaluate + "\n  end }"));
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  auto log = slower_from_the_third_minute();
  const Judged reported = judge(log, loaded.pack, false);
  REQUIRE(reported.alerts.size() == 1);
  return reported.alerts[0];
}

double evidence(const stream::AlertTransition& alert, const std::string& name) {
  for (const auto& [known, value] : alert.evidence)
    if (known == name) return value;
  FAIL("no evidence " << name);
  return 0;
}

}  // namespace

TEST_CASE("a frozen value that only a text shows is that from before the alert began to be pending") {
  const auto alert = first_alert(
      "now = signal \"step_time\" { over = \"10s\" }, usual = signal \"step_time\" { over = \"40s\", freeze = true }",
      "    return job.now:median():above(1), { usual = job.usual:median() }", "");
  CHECK(evidence(alert, "usual") == 0.5);
}

TEST_CASE("a state field that only a text shows is what stood there before the evaluation") {
  const auto alert =
      first_alert("steps = signal \"step_time\" { over = \"attempt\" }, now = signal \"step_time\" { over = \"10s\" }",
                  "    local before = state.steps\n    state.steps = job.steps:count()\n"
                  "    return job.now:median():above(1), { before = before, steps = job.steps:count() }",
                  "state = { steps = 0 },");
  CHECK(evidence(alert, "steps") - evidence(alert, "before") == 10);  // of the ten seconds between
}

TEST_CASE("an alert tells the evidence of the finding that it is built on, of scripts as well") {
  for (const bool scripted : {false, true}) {
    CAPTURE(scripted);
    dsl::Budgets budgets;
    budgets.all_scripted = scripted;
    const auto loaded = dsl::load(
        pack_of("rule \"slow\" { per = \"rank\", every = \"10s\", yields_to = { \"r\" },\n"
                "  needs = { now = signal \"step_time\" { over = \"10s\" } },\n"
                "  evaluate = function(job) return job.now:median():above(1), { usual = job.now:median() } end }\n"
                "rule \"r\" { per = \"rank\", every = \"10s\", needs = { slow = finding \"slow\" },\n"
                "  evaluate = function(job) return job.slow:now() end }"),
        budgets);
    REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
    auto log = slower_from_the_third_minute();
    const Judged reported = judge(log, loaded.pack, false);
    REQUIRE(!reported.alerts.empty());
    CHECK(reported.alerts[0].rule == "r");
    CHECK(evidence(reported.alerts[0], "slow.usual") == 2);
  }
}
