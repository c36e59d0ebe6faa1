// What a reload leaves as it was: open alerts, k of n, frozen values, quarantine; and what a rule that changed or went
// leaves behind.
#include "tests/stream_engine/live_job.h"

#include <algorithm>

using namespace tocsin;
using namespace tocsin::tests;
using Story = std::vector<std::string>;

namespace {

const char* signals = R"lua(signals {
  heat = { kind = "gauge", unit = "celsius", owner = "rank" },
  cold = { kind = "gauge", unit = "celsius", owner = "rank" },
})lua";

// Compares with what it was before: over 4 min of rows, or 10 min of panes.
std::string warmer(const std::string& over, const std::string& more = "") {
  return "rule \"warmer\" { per = \"rank\", every = \"10s\", fire = \"2 of 2\", summary = \"warmer than before\",\n"
         "  needs = { now = signal \"heat\" { over = \"10s\" }, usual = signal \"heat\" { over = \"" +
         over + "\", freeze = true } },\n  evaluate = function(job)\n    local usual = job.usual:median()\n" + more +
         "    return job.now:median():above(1.5 * usual), { usual = usual }\n  end }";
}

// A rule of another file, whose nodes come before those of "warmer".
const char* another = R"lua(rule "a_first" { per = "rank", every = "10s", summary = "cold",
  needs = { cold = signal "cold" { over = "30s" } }, evaluate = function(job) return job.cold:median():above(200) end })lua";

std::string failing(const std::string& condition, const std::string& head = "") {
  return "rule \"script\" { per = \"rank\", every = \"10s\", summary = \"hot\", " + head +
         " needs = { heat = signal \"heat\" { over = \"10s\" } },\n  evaluate = function(job)\n    local heat = "
         "job.heat:last()\n"
         "    local most = heat:max(\"job\"):number() or 0\n    if " +
         condition + " then local y = nil + 1 end\n    return heat:above(90)\n  end }";
}

LiveJob::Values heat(double degrees) { return {{"heat", degrees}}; }

}  // namespace

TEST_CASE("a reload keeps the values that a rule froze before its alert, so that it does not learn the fault") {
  for (const std::string over : {"4m", "10m"}) {
    CAPTURE(over);
    LiveJob job{{{"signals.lua", signals}, {"rules.lua", warmer(over)}}};
    job.feed(900, [](auto) { return heat(40); });
    job.feed(580, [](auto r) { return heat(r == 2 ? 80 : 40); });  // most of either window is the fault
    REQUIRE(job.story() == Story{"warmer firing rank 2"});
    const double usual = job.published[0].evidence[0].second;
    CHECK(usual == doctest::Approx(40).epsilon(0.02));
    job.reload({{"signals.lua", signals}, {"a.lua", another}, {"rules.lua", warmer(over)}});
    job.feed(1800, [](auto r) { return heat(r == 2 ? 80 : 40); });
    CHECK(job.story() == Story{"warmer firing rank 2"});
    job.feed(60, [](auto) { return heat(40); });
    CHECK(job.story() == Story{"warmer firing rank 2", "warmer resolved cleared rank 2"});
  }
}

TEST_CASE("a rule that a reload changed keeps what it froze of needs that stayed the same, and no other") {
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", warmer("4m")}}};
  job.feed(600, [](auto) { return heat(40); });
  job.feed(200, [](auto r) { return heat(r == 2 ? 80 : 40); });
  job.reload({{"signals.lua", signals}, {"rules.lua", warmer("4m", "    -- the same window\n")}});
  job.feed(600, [](auto r) { return heat(r == 2 ? 80 : 40); });
  CHECK(job.story() == Story{"warmer firing rank 2"});
  job.reload(
      {{"signals.lua", signals}, {"rules.lua", warmer("3m")}});  // another window: its value of now is all there is
  job.feed(60, [](auto r) { return heat(r == 2 ? 80 : 40); });
  CHECK(job.story() == Story{"warmer firing rank 2", "warmer resolved cleared rank 2"});
}

TEST_CASE("a reload keeps k of n and open alerts by rule") {
  const std::string slow =
      "rule \"hot\" { per = \"rank\", every = \"10s\", fire = \"6 of 6\", clear = \"6 of 6\", summary = \"hot\",\n"
      "  needs = { heat = signal \"heat\" { over = \"10s\" } }, evaluate = function(job) return "
      "job.heat:last():above(90) end }";
  LiveJob plain{{{"signals.lua", signals}, {"rules.lua", slow}}},
      reloaded{{{"signals.lua", signals}, {"rules.lua", slow}}};
  for (LiveJob* job : {&plain, &reloaded}) {
    const auto reload = [&](const char* file) {
      if (job == &reloaded) job->reload({{"signals.lua", signals}, {file, another}, {"rules.lua", slow}});
    };
    job->feed(30, [](auto) { return heat(50); });
    job->feed(35, [](auto r) { return heat(r == 1 ? 95 : 50); });
    reload("a.lua");
    job->feed(60, [](auto r) { return heat(r == 1 ? 95 : 50); });
    job->feed(35, [](auto) { return heat(50); });
    reload("b.lua");
    job->feed(60, [](auto) { return heat(50); });
  }
  REQUIRE(plain.story() == Story{"hot firing rank 1", "hot resolved cleared rank 1"});
  REQUIRE(reloaded.story() == plain.story());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(reloaded.published[i].at == plain.published[i].at);
    CHECK(reloaded.published[i].id == plain.published[i].id);
    CHECK(reloaded.published[i].number == plain.published[i].number);
  }
}

TEST_CASE("a rule that was repaired by a reload is no longer quarantined; one that did not change is") {
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", failing("most > 0")}}};
  job.feed(1000, [](auto) { return heat(95); });
  const auto before = job.shard().counters().quarantined;
  REQUIRE(before > 3);
  SUBCASE("another file changed") {
    job.reload({{"signals.lua", signals}, {"a.lua", another}, {"rules.lua", failing("most > 0")}});
    job.feed(60, [](auto) { return heat(95); });
    CHECK(job.shard().counters().quarantined == before);
    CHECK(job.published.empty());
  }
  SUBCASE("its script changed") {
    job.reload({{"signals.lua", signals}, {"rules.lua", failing("most > 1000")}});
    job.feed(20, [](auto) { return heat(95); });
    CHECK(job.story().size() == 4);
  }
  SUBCASE("its script changed, and still fails: the back-off starts again") {
    job.reload({{"signals.lua", signals}, {"rules.lua", failing("most > 1")}});
    job.feed(70, [](auto) { return heat(95); });
    CHECK(job.shard().counters().quarantined == before + 2);
  }
}

TEST_CASE("a rule whose parameter was tuned is no longer quarantined") {
  const std::string text =
      "rule \"script\" { per = \"rank\", every = \"10s\", summary = \"hot\", params = { most = 0 },\n"
      "  needs = { heat = signal \"heat\" { over = \"10s\" } }, evaluate = function(job, p)\n"
      "    local heat = job.heat:last()\n    local most = heat:max(\"job\"):number() or 0\n"
      "    if most > p.most then local y = nil + 1 end\n    return heat:above(90)\n  end }";
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", text}}};
  job.feed(200, [](auto) { return heat(95); });
  job.reload(
      {{"signals.lua", signals}, {"rules.lua", text}, {"site.lua", "tune \"script\" { params = { most = 1000 } }"}});
  job.feed(20, [](auto) { return heat(95); });
  CHECK(job.story().size() == 4);
}

TEST_CASE("a quarantine doubles with each failure, from one minute") {
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", failing("most > 0")}}};
  job.feed(20, [](auto) { return heat(95); });
  std::vector<int> failures;  // so many within 1, 2, … minutes
  for (int minute = 1; minute <= 16; ++minute) {
    job.feed(60, [](auto) { return heat(95); });
    failures.push_back(static_cast<int>(job.shard().counters().quarantined));
  }
  // After 0, 1, 3, 7 and 15 minutes.
  CHECK(failures == std::vector<int>{2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5});
}

TEST_CASE("a quarantine doubles up to an hour and four minutes, and no further") {
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", failing("most > 0")}}, 1};
  job.feed(20 + 192 * 60, [](auto) { return heat(95); });
  CHECK(job.shard().counters().quarantined == 9);  // after 0, 1, 3, 7, 15, 31, 63, 127 and 191 minutes
}

TEST_CASE("after an evaluation that succeeds the quarantine begins again with one minute") {
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", failing("most > 80")}}};
  job.feed(20 + 7 * 60, [](auto) { return heat(85); });  // fails after 0, 1, 3 and 7 minutes
  REQUIRE(job.shard().counters().quarantined == 4);
  job.feed(9 * 60, [](auto) { return heat(50); });
  job.feed(70, [](auto) { return heat(85); });
  CHECK(job.shard().counters().quarantined == 6);  // at once, and a minute later
}

TEST_CASE("a rule that a reload removed resolves its alerts, and leaves no member withheld") {
  constexpr std::uint32_t ranks = 1'010;
  const std::string hot =
      "rule \"hot\" { per = \"rank\", every = \"10s\", summary = \"hot\", needs = { heat = signal \"heat\" { over = "
      "\"10s\" } },\n"
      "  evaluate = function(job) return job.heat:last():above(90) end }";
  LiveJob job{{{"signals.lua", signals}, {"a.lua", another}, {"rules.lua", hot}}, ranks};
  job.feed(20, [](auto) { return heat(95); });
  REQUIRE(job.published.size() == 1'001);
  REQUIRE(job.story().back() == "alert_limit firing");
  job.reload({{"signals.lua", signals}, {"a.lua", another}});
  job.silence(1);
  REQUIRE(job.published.size() == 2'002);
  CHECK(job.published[1'001].reason == stream::ResolveReason::rule_removed);
  CHECK(job.story().back() == "alert_limit resolved cleared");
  job.feed(40, [](auto) { return LiveJob::Values{{"cold", 300.0}}; });
  CHECK(job.published.size() == 2'002 + 1'001);  // there is room for all again
}

TEST_CASE("a member that was withheld fires no alert of a rule that a reload made silent") {
  constexpr std::uint32_t ranks = 1'001;
  const auto hot = [](const std::string& severity) {
    return "rule \"hot\" { per = \"rank\", every = \"10s\", summary = \"hot\", severity = \"" + severity +
           "\", needs = { heat = signal \"heat\" { over = \"10s\" } },\n"
           "  evaluate = function(job) return job.heat:last():above(90) end }";
  };
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", hot("warning")}}, ranks};
  job.feed(20, [](auto) { return heat(95); });
  REQUIRE(job.published.size() == 1'001);
  job.reload({{"signals.lua", signals}, {"rules.lua", hot("none")}});
  job.feed(30, [](auto) { return heat(95); });
  CHECK(job.published.size() == 2'002);
  CHECK(job.story().back() == "alert_limit resolved cleared");
}

TEST_CASE("an alert whose rule changes its mode or severity resolves, and fires as what it is now") {
  const auto hot = [](const std::string& head) {
    return "rule \"hot\" { per = \"rank\", every = \"10s\", summary = \"hot\", " + head +
           " needs = { heat = signal \"heat\" { over = \"10s\" } },\n  evaluate = function(job) return "
           "job.heat:last():above(90) end }";
  };
  LiveJob job{{{"signals.lua", signals}, {"rules.lua", hot("")}}};
  job.feed(20, [](auto r) { return heat(r == 3 ? 95 : 50); });
  job.reload({{"signals.lua", signals}, {"rules.lua", hot("severity = \"critical\",")}});
  job.feed(20, [](auto r) { return heat(r == 3 ? 95 : 50); });
  job.reload({{"signals.lua", signals}, {"rules.lua", hot("mode = \"shadow\",")}});
  job.feed(20, [](auto r) { return heat(r == 3 ? 95 : 50); });
  REQUIRE(job.story() == Story{"hot firing rank 3", "hot resolved rule removed rank 3", "hot firing rank 3",
                               "hot resolved rule removed rank 3", "hot firing rank 3"});
  const std::vector<std::pair<stream::Severity, stream::Mode>> as{{stream::Severity::warning, stream::Mode::live},
                                                                  {stream::Severity::critical, stream::Mode::live},
                                                                  {stream::Severity::warning, stream::Mode::shadow}};
  for (std::size_t i = 0; i < job.published.size(); ++i) {
    CHECK(job.published[i].severity == as[i / 2].first);
    CHECK(job.published[i].mode == as[i / 2].second);
    CHECK(job.published[i].number == i + 1);
    CHECK(job.published[i].id == job.published[0].id);
    if (i > 0) CHECK(job.published[i].at >= job.published[i - 1].at);
  }
}
