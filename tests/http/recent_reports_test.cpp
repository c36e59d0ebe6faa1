#include "adapters/http/recent_reports.h"

#include <doctest/doctest.h>

#include <string>

#include "adapters/formats/alerts.h"
#include "tests/alertmanager/transitions.h"

using namespace tocsin;
using adapters::http::RecentReports;

namespace {

std::size_t count(const std::string& json, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = json.find(text, at)) != json.npos; at += text.size()) ++found;
  return found;
}
std::size_t alerts(const RecentReports& reports, const adapters::http::Providers::Query& query = {}) {
  return count(*reports.alerts(query), R"({"id":)");
}

}  // namespace

TEST_CASE("alerts are shown with their last transition, the newest first, by what is asked for") {
  RecentReports reports;
  reports.report(0, test::slow_rank(1, 3));
  reports.report(0, test::slow_rank(2, 4));
  reports.report(1, test::resolved(test::slow_rank(1, 3)));
  reports.report(1, test::slow_rank(1, 3));  // a repeat
  CHECK(alerts(reports) == 2);
  CHECK(reports.alerts({})->find(R"([{"id":"0000000000000001","number":2)") == 0);
  CHECK(alerts(reports, {{"state", "firing"}}) == 1);
  CHECK(alerts(reports, {{"id", "0000000000000002"}}) == 1);
  CHECK(alerts(reports, {{"job", "other"}}) == 0);
  CHECK(alerts(reports, {{"severity", "warning"}, {"rule", "straggler"}, {"limit", "1"}}) == 1);
  reports.withdraw(1);
  CHECK(alerts(reports) == 1);
}

TEST_CASE("what was kept before is shown as it was, the newest first over all histories; other lines are ignored") {
  const auto verdict = [](const char* job, int ended) {
    return R"({"subject":")" + std::string{job} + R"(","ended":)" + std::to_string(ended) + "}";
  };
  const std::string firing = adapters::formats::alert_to_json(test::slow_rank(1, 3)),
                    resolved = adapters::formats::alert_to_json(test::resolved(test::slow_rank(1, 3)));
  RecentReports reports;
  reports.remember({{0, verdict("b", 20)},
                    {0, verdict("d", 40)},
                    {0, "{cut of"},
                    {0, "[]"},
                    {0, R"({"subject":7})"},
                    {1, verdict("a", 10)},
                    {1, firing},
                    {1, resolved},
                    {1, verdict("c", 30)}});
  CHECK(*reports.verdicts({}) ==
        "[" + verdict("d", 40) + "," + verdict("c", 30) + "," + verdict("b", 20) + "," + verdict("a", 10) + "]");
  CHECK(*reports.alerts({{"state", "resolved"}, {"rule", "straggler"}, {"severity", "warning"}}) ==
        "[" + resolved + "]");
  reports.report(1, test::resolved(test::slow_rank(1, 3)));  // again, from the state that was restored
  CHECK(alerts(reports) == 1);
  reports.withdraw(1);
  CHECK(alerts(reports) == 0);
}

TEST_CASE("beyond the limit, alerts that no longer fire are forgotten first") {
  RecentReports reports{3};
  reports.report(0, test::slow_rank(1, 1));
  reports.report(0, test::slow_rank(2, 2));
  reports.report(0, test::resolved(test::slow_rank(2, 2)));
  reports.report(0, test::slow_rank(3, 3));
  reports.report(0, test::slow_rank(4, 4));
  CHECK(alerts(reports) == 3);
  CHECK(alerts(reports, {{"id", "2"}}) == 0);
  CHECK(alerts(reports, {{"state", "firing"}}) == 3);
}

TEST_CASE("a parameter that is unknown or malformed is named") {
  const RecentReports reports;
  CHECK(reports.alerts({{"jobs", "a"}}).error().message ==
        "there is no parameter 'jobs'; known are job, state, severity, rule, id, limit");
  CHECK(!reports.alerts({{"limit", "-1"}}));
  CHECK(!reports.alerts({{"id", "xyz"}}));
  CHECK(!reports.alerts({{"state", "pending"}}));
  CHECK(reports.alerts({{"severity", "crit"}}).error().message == "severity is critical, warning, info or none");
  CHECK(reports.alerts({{"severity", "info"}}));
  CHECK(!reports.verdicts({{"state", "firing"}}));
}

TEST_CASE("verdicts are shown by job") {
  RecentReports reports;
  stream::Verdict verdict;
  verdict.subject = "llama";
  verdict.family = "C2";
  reports.report(0, verdict);
  CHECK(count(*reports.verdicts({{"job", "llama"}}), R"("family":"C2")") == 1);
  CHECK(*reports.verdicts({{"job", "other"}}) == "[]");
}
