// What a rule that is built on others sees of them, and what its alert says of what it does not know.
#include <algorithm>
#include <array>

#include "tests/stream_engine/live_job.h"
#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using Texts = std::vector<std::string>;

namespace {

// `slow` is complete a minute after `fast`.
const char* signals = R"lua(signals {
  fast = { kind = "gauge", unit = "celsius", owner = "rank", lateness = "1s" },
  slow = { kind = "gauge", unit = "celsius", owner = "rank", lateness = "60s" },
  third = { kind = "gauge", unit = "celsius", owner = "rank", lateness = "1s" },
})lua";

std::string rule(const std::string& name, const std::string& needs, const std::string& answer,
                 const std::string& outputs = "") {
  return "rule \"" + name + "\" { per = \"rank\", every = \"10s\", summary = \"" + name + "\", needs = { " + needs +
         " },\n  evaluate = function(job) return " + answer + (outputs.empty() ? "" : ", { " + outputs + " }") +
         " end }\n";
}
const std::string base =
    rule("base", "fast = signal \"fast\" { over = \"10s\" }", "job.fast:last():above(90)", "at = job.fast:last()");

using Outcomes = std::map<stream::Time, std::vector<stream::Truth>>;  // by tick
std::map<std::string, Outcomes> observed(LiveJob& job) {
  std::map<std::string, Outcomes> all;
  job.shard().observe([&](const stream::RuleEvaluation& e) {
    all[e.rule.name][e.tick] = {e.outcomes.begin(), e.outcomes.end()};
  });
  // Above 90 in the second and fourth of each five minutes; rank 1 a little later.
  job.feed(600, [&](std::uint32_t r) {
    const auto minute = static_cast<int>((job.now - 7.0 * r) / 60) % 5;
    return LiveJob::Values{{"fast", minute % 2 == 1 ? 100 + job.now : 50}, {"slow", 1.0}};
  });
  job.shard().observe({});
  return all;
}

double evidence(const stream::AlertTransition& alert, const std::string& name) {
  for (const auto& [known, value] : alert.evidence)
    if (known == name) return value;
  return -1;
}

}  // namespace

TEST_CASE(
    "a finding is the answer at the tick of the rule that asks, although the rule it asks has long run later ticks") {
  LiveJob job{{{"signals.lua", signals},
               {"rules.lua", base + rule("built", "base = finding \"base\", slow = signal \"slow\" { over = \"10s\" }",
                                         "job.base:now() & job.slow:last():above(0)")}},
              2};
  const auto all = observed(job);
  std::size_t compared = 0, yes = 0;
  for (const auto& [tick, outcomes] : all.at("built")) {
    if (tick < LiveJob::at(30)) continue;  // before the windows hold anything
    const auto& of_base = all.at("base").at(tick);
    for (std::size_t slot = 1; slot < outcomes.size(); ++slot) {
      CHECK(outcomes[slot] == of_base[slot]);
      ++compared;
      yes += outcomes[slot] == stream::Truth::yes;
    }
  }
  CHECK(compared > 80);
  CHECK(yes > 20);
}

TEST_CASE("a rule runs after the rule that it asks, whatever their names") {
  LiveJob job{
      {{"signals.lua", signals}, {"rules.lua", base + rule("asks", "base = finding \"base\"", "job.base:now()")}}, 2};
  const auto all = observed(job);
  std::size_t yes = 0;
  for (const auto& [tick, outcomes] : all.at("asks")) {
    CHECK(outcomes == all.at("base").at(tick));
    yes += static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), stream::Truth::yes));
  }
  CHECK(yes > 20);
}

TEST_CASE("an alert says who it is about, how much, and which causes are known") {
  const std::string text =
      "rule \"many\" { per = \"job\", every = \"10s\", summary = \"many\", shows = \"{who}: {share:.0%}\", causes = { "
      "hot = \"it is hot\", "
      "slow = \"it is "
      "slow\", cold = \"it is cold\" },\n"
      "  needs = { fast = signal \"fast\" { over = \"10s\" }, slow = signal \"slow\" { over = \"10s\" } },\n  evaluate "
      "= function(job)\n"
      "    local high = job.fast:last():above(90)\n"
      "    return high:any(\"job\"), { who = high, share = high:count(\"job\") / job.fast:last():count(\"job\"), hot = "
      "high:any(\"job\"),\n"
      "      slow = job.slow:last():above(0):any(\"job\"), cold = job.fast:last():below(0):any(\"job\") }\n  end }";
  const auto alert = [&](unsigned hot) {
    LiveJob job{{{"signals.lua", signals}, {"rules.lua", text}}, 20};
    job.feed(20, [&](std::uint32_t r) { return LiveJob::Values{{"fast", r < hot ? 95.0 : 50.0}}; });
    job.feed(100, [&](std::uint32_t r) { return LiveJob::Values{{"fast", r < hot ? 95.0 : 50.0}}; });
    REQUIRE(job.published.size() == 1);
    return job.published[0];
  };
  CHECK(alert(2).shows == "rank 0, rank 1: 10%");
  const auto many = alert(10);
  CHECK(many.shows == "rank 0, rank 1, rank 2, rank 3, rank 4, rank 5, rank 6, rank 7 and 2 more: 50%");
  CHECK(many.who.size() == 10);
  CHECK(many.implies == std::vector<std::pair<std::string, std::string>>{{"hot", "it is hot"}});
  CHECK(many.cannot_decide == Texts{"whether it is slow (missing: slow)"});
}

TEST_CASE("an alert carries the evidence of a finding only where that is of the same moment") {
  // `lasting` says yes a minute later as well, of another window.
  const std::string lasting =
      rule("lasting", "fast = signal \"fast\" { over = \"3m\" }", "job.fast:max():above(90)", "at = job.fast:max()");
  LiveJob job{{{"signals.lua", signals},
               {"rules.lua", base + lasting + rule("same", "base = finding \"base\"", "job.base:now()") +
                                 rule("later", "base = finding \"lasting\", slow = signal \"slow\" { over = \"10s\" }",
                                      "job.base:now() & job.slow:last():above(0)")}},
              2};
  (void)observed(job);
  std::map<std::pair<stream::Time, std::uint32_t>, double> of_base;
  for (const auto& t : job.published)
    if (t.rule == "base" && t.state == stream::AlertState::firing) of_base[{t.at, *t.member.rank}] = evidence(t, "at");
  std::size_t same = 0, later = 0;
  for (const auto& t : job.published) {
    if (t.state != stream::AlertState::firing) continue;
    same += t.rule == "same", later += t.rule == "later";
    if (t.rule == "same") CHECK(evidence(t, "base.at") == of_base.at({t.at, *t.member.rank}));
    if (t.rule == "later") CHECK(t.evidence.empty());
  }
  CHECK(same >= 4);
  CHECK(later >= 2);
}

TEST_CASE("an alert names the signals without which its rule decided, and what it took their absence for") {
  const auto doubts = [](const std::string& answer) {
    LiveJob job{{{"signals.lua", signals},
                 {"rules.lua", rule("r",
                                    "fast = signal \"fast\" { over = \"10s\" }, slow = signal \"slow\" { over = "
                                    "\"10s\" }, third = signal \"third\" { over = \"10s\" }",
                                    answer)}},
                1};
    job.feed(120, [](std::uint32_t) { return LiveJob::Values{{"fast", 95.0}}; });
    REQUIRE(job.published.size() == 1);
    return job.published[0].cannot_decide;
  };
  const std::string hot = "job.fast:last():above(90)", cold = "job.slow:last():below(0)";
  CHECK(doubts(hot + " & " + cold + ":maybe()") == Texts{"slow is missing: assumed yes"});
  CHECK(doubts(hot + " & ~" + cold + ":surely()") == Texts{"slow is missing: assumed no"});
  CHECK(doubts(hot + " & job.slow:last():fill(-1):below(0)") == Texts{"slow is missing: a default is used"});
  const std::string other = "job.third:last():below(0)";
  CHECK(
      doubts(hot + " & ~" + cold + ":surely() & ~" + other + ":surely() & ~(" + cold + " & " + other + "):surely()") ==
      Texts{"slow, third are missing: assumed no"});  // a signal is in one sentence, whatever asks for it
  CHECK(doubts(hot + " | " + cold).empty());
}

TEST_CASE("an alert of a job has no doubt about a mask of its ranks that another one decides for each of them") {
  const auto doubts = [](bool second_rank) {
    LiveJob job{
        {{"signals.lua", signals},
         {"rules.lua",
          "rule \"r\" { per = \"job\", every = \"10s\", summary = \"r\", shows = \"x\",\n"
          "  needs = { fast = signal \"fast\" { over = \"10s\" }, slow = signal \"slow\" { over = \"10s\" } },\n"
          "  evaluate = function(job)\n"
          "    return (job.fast:last():above(90) | job.slow:last():above(0)):maybe():any(\"job\")\n  end }"}},
        2};
    job.feed(120, [&](std::uint32_t r) {
      return r == 0 || second_rank ? LiveJob::Values{{"fast", 95.0}} : LiveJob::Values{};
    });
    REQUIRE(job.published.size() == 1);
    return job.published[0].cannot_decide;
  };
  CHECK(doubts(true).empty());
  CHECK(doubts(false) == Texts{"fast, slow are missing: assumed yes"});
}

TEST_CASE("an alert has the highest severity of the causes that are yes when it fires, and resolves with it") {
  const std::string text =
      "rule \"r\" { per = \"rank\", every = \"10s\", summary = \"r\", shows = \"x\", causes = { hot = \"hot\", hotter "
      "= "
      "\"hotter\" },\n"
      "  severity = { hot = \"warning\", hotter = \"critical\", otherwise = \"info\" },\n"
      "  needs = { fast = signal \"fast\" { over = \"10s\" } },\n  evaluate = function(job)\n"
      "    local fast = job.fast:last()\n"
      "    return fast:above(70), { hot = fast:above(80), hotter = fast:above(90) }\n  end }";
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", text}}, 3};
  job.feed(40, [](std::uint32_t r) { return LiveJob::Values{{"fast", 75.0 + 10 * r}}; });
  job.feed(40, [](std::uint32_t) { return LiveJob::Values{{"fast", 50.0}}; });
  REQUIRE(job.published.size() == 6);
  for (const auto& t : job.published) {
    const std::vector<stream::Severity> by_rank{stream::Severity::info, stream::Severity::warning,
                                                stream::Severity::critical};
    CHECK(t.severity == by_rank.at(*t.member.rank));
  }
}

TEST_CASE("a rule for the end reads what another one for the end has just answered, not what one read before") {
  SmallJob job{SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "hot" { per = "job", every = "end", shows = "hot", needs = { heat = signal "heat" { over = "attempt", least = 1 } },
        evaluate = function(job) return job.heat:max():max("job"):above(50) end }
      rule "meanwhile" { per = "job", every = "5s", shows = "meanwhile", needs = { hot = finding "hot" },
        evaluate = function(job) return job.hot:now() end }
      rule "at_last" { per = "job", every = "end", shows = "at last", needs = { hot = finding "hot" },
        evaluate = function(job) return job.hot:now() end })lua")};
  for (double s = 1; s < 36; ++s) {
    EntryBuilder b;  // before the last tick another rank appears: what is read is read anew
    b.sample(SmallJob::at(s), EntryBuilder::rank(s < 35 ? 0 : 1),
             std::array{EntryBuilder::Value{"heat", 90, {}, false}});
    job.consume(b, s);
  }
  EntryBuilder b;
  b.event(SmallJob::at(30.5), EntryBuilder::job(), "end", {}, "scheduler");
  job.consume(b, 35.5);
  job.beats(36, 300);
  REQUIRE(job.answers.contains("at_last"));
  CHECK(job.last("hot", 0) == stream::Truth::yes);
  CHECK(job.last("at_last", 0) == stream::Truth::yes);
}

TEST_CASE("an alert that fires after a long silence says what is not covered any more, also where its rule repeats") {
  const auto pack =
      SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      boom = { kind = "event", unit = "none", owner = "rank", source = "sensor" } })lua",
                     R"lua(rule "hot" { per = "rank", every = "5s", shows = "hot", fire = "for 4m", needs = {
        heat = signal "heat" { over = "10s" }, boom = signal "boom" { over = "20s" } },
        evaluate = function(job) return job.heat:older_than("5s") | job.boom:within("5s") end })lua");
  SmallJob engine{pack}, every{pack, nullptr, {.evaluate_all = true}};
  for (SmallJob* log : {&engine, &every}) {
    log->shard.observe({});
    EntryBuilder b;
    b.sample(SmallJob::at(1), EntryBuilder::rank(0), std::array{EntryBuilder::Value{"heat", 90, {}, false}});
    b.coverage("sensor", {});
    log->consume(b, 1);
    log->beats(2, 400);
    REQUIRE(log->collector.transitions.size() == 1);
    CHECK(log->collector.transitions[0].cannot_decide == std::vector<std::string>{"boom is missing: assumed no"});
  }
}

TEST_CASE("a rule that a reload adds knows what a rule before it answers, though not at ticks before the reload") {
  const auto before = SmallJob::load(signals, base),
             after = SmallJob::load(
                 signals, base + rule("built", "base = finding \"base\", slow = signal \"slow\" { over = \"10s\" }",
                                      "job.base:now() & job.slow:last():above(0)"));
  PacksByHash packs;
  packs.add(before);
  packs.add(after);
  SmallJob job{before, &packs};
  for (double s = 1; s <= 300; ++s) {
    EntryBuilder b;
    b.sample(SmallJob::at(s), EntryBuilder::rank(0),
             std::array{EntryBuilder::Value{"fast", 100, {}, false}, EntryBuilder::Value{"slow", 1, {}, false}});
    job.consume(b, s);
    if (s == 100) job.reload(after.pack->hash, 101, s);
    job.beats(s, s);
  }
  CHECK(job.ever("built", 1, stream::Truth::unknown));  // at ticks of which `base` keeps no answer
  CHECK(job.last("base", 1) == stream::Truth::yes);
  CHECK(job.last("built", 1) == stream::Truth::yes);
}
