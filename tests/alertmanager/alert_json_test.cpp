#include "adapters/alertmanager/alert_json.h"

#include <doctest/doctest.h>

#include "adapters/formats/parse_time.h"
#include "tests/alertmanager/transitions.h"

using namespace tocsin;
using adapters::alertmanager::PosterOptions;
using adapters::alertmanager::render;
using adapters::formats::rfc3339;

namespace {

PosterOptions decorated(std::map<std::string, std::string> labels, std::string external_url, std::string runbook_url) {
  PosterOptions options;
  options.labels = std::move(labels), options.external_url = std::move(external_url);
  options.runbook_url = std::move(runbook_url);
  return options;
}

}  // namespace

TEST_CASE("an alert has few and stable labels, and its texts as annotations") {
  const auto options = decorated({{"cluster", "west"}, {"instance_group", "a100"}, {"empty", ""}},
                                 "https://tocsin.example/t", "https://runbooks.example/{family}/{rule}");
  const auto alert = render(test::slow_rank(), options);
  CHECK(
      alert.labels ==
      R"({"alertname":"straggler","cluster":"west","family":"D3","instance_group":"a100","job_id":"llama","node":"n1","rank":"3",)"
      R"("severity":"warning"})");
  CHECK(
      alert.annotations ==
      R"({"action":"drain n1","attempt":"7","culprits":"rank 3 on n1",)"
      R"("description":"what: One rank is slower than its peers (D3, a slow rank)\nwho: rank 3 on n1; job llama, attempt 7\n)"
      R"(since: 2026-05-28 20:26:40 UTC, reported 60 s later\nseen: rank 3 computes 0.24 s a step, its peers 0.10 s\n)"
      R"(likely: its clock is fine: it has \"more\" work\ndo: drain n1","evidence":"x=0.24, typical=0.1",)"
      R"("runbook_url":"https://runbooks.example/D3/straggler","summary":"llama, rank 3 on n1: One rank is slower than its peers"})");
  CHECK(alert.generator_url == "https://tocsin.example/t/#alert=0000000000000abc");
  CHECK(render(test::slow_rank(), decorated({}, "https://tocsin.example/t/", "")).generator_url == alert.generator_url);
}

TEST_CASE("a rule's own runbook comes before the configured one, and its owner is a label") {
  auto transition = test::slow_rank();
  transition.runbook = "https://r/1", transition.owner = "hardware";
  const auto alert = render(transition, decorated({{"owner", "site"}}, "", "http://r/{rule}"));
  CHECK(alert.labels.find(R"("owner":"hardware")") != std::string::npos);
  CHECK(alert.annotations.find(R"("runbook_url":"https://r/1")") != std::string::npos);
  CHECK(alert.annotations.find(R"(\nmore: runbook https://r/1, owner hardware)") != std::string::npos);
}

TEST_CASE("a value that is not known is not among the evidence") {
  auto transition = test::slow_rank();
  transition.evidence[0].second = stream::absent;
  CHECK(render(transition, {}).annotations.find(R"("evidence":"typical=0.1")") != std::string::npos);
}

TEST_CASE("labels never change with an alert's values, its state or its reason") {
  auto other = test::resolved(test::slow_rank(), stream::ResolveReason::explained);
  other.explained_by = "throttle";
  other.shows = "rank 3 computes 0.31 s a step";
  other.evidence = {{"x", 0.31}};
  const auto ended = render(other, {});
  CHECK(ended.labels == render(test::slow_rank(), {}).labels);
  CHECK(ended.annotations.find(R"("resolved":"explained by throttle")") != std::string::npos);
  CHECK(ended.generator_url.empty());
}

TEST_CASE("an alert of a canary rule says so in a label, that of a job names no member, that of a rack its rack") {
  auto transition = test::slow_rank();
  transition.mode = stream::Mode::canary;
  transition.member = {};
  transition.member.level = stream::Level::job;
  CHECK(render(transition, {}).labels ==
        R"({"alertname":"straggler","family":"D3","job_id":"llama","mode":"canary","severity":"warning"})");
  CHECK(render(transition, {}).annotations.find(R"("summary":"llama: One rank)") != std::string::npos);
  transition.member.level = stream::Level::rack;
  transition.member.rack = "r7";
  CHECK(render(transition, {}).labels.find(R"("rack":"r7")") != std::string::npos);
}

TEST_CASE("a long text is cut between characters, and a runbook's address takes any name of a rule") {
  auto transition = test::slow_rank();
  transition.rule = "a/b ü";
  transition.shows.clear();
  for (int i = 0; i < 3000; ++i) transition.shows += "ü";
  const auto alert = render(transition, decorated({}, "", "http://r/{rule}"));
  CHECK(alert.annotations.find("ü…") != std::string::npos);
  CHECK(alert.annotations.find("ufffd") == std::string::npos);
  CHECK(alert.annotations.size() < 5000);
  CHECK(alert.annotations.find("http://r/a%2Fb%20%C3%BC") != std::string::npos);
}

TEST_CASE("a time is written with milliseconds, also before 1970") {
  CHECK(rfc3339(stream::at_nanoseconds(1'780'000'000'120'999'999), 3) == "2026-05-28T20:26:40.120Z");
  CHECK(rfc3339(stream::at_nanoseconds(-1), 3) == "1969-12-31T23:59:59.999Z");
}
