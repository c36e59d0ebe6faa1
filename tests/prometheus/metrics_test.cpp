#include "adapters/prometheus/metrics.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "tests/prometheus/examples.h"

using namespace tocsin;
using adapters::prometheus::JobFigures;
using adapters::prometheus::Metrics;

namespace {

// The lines of a metric, without its comments.
std::string lines_of(const std::string& text, const std::string& metric) {
  std::istringstream in{text};
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(metric + "{") || line.starts_with(metric + " ")) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("the figures of each partition are shown under its number") {
  Metrics metrics;
  test::publish_examples(metrics);
  const std::string text = metrics.text();
  CHECK(lines_of(text, "tocsin_entries_total") ==
        "tocsin_entries_total{partition=\"0\"} 1000000007\ntocsin_entries_total{partition=\"1\"} 0\n");
  CHECK(lines_of(text, "tocsin_refused_total").find("{partition=\"0\",reason=\"unit_mismatch\"} 2\n") !=
        std::string::npos);
  CHECK(lines_of(text, "tocsin_lag_seconds") == "tocsin_lag_seconds{partition=\"0\"} 0.25\n");
  CHECK(lines_of(text, "tocsin_pack_info") == "tocsin_pack_info{hash=\"abc123\"} 1\n");
  CHECK(lines_of(text, "tocsin_pack_loaded_timestamp_seconds") ==
        "tocsin_pack_loaded_timestamp_seconds 1780000000.5\n");
  CHECK(lines_of(text, "tocsin_rule_failed") == "tocsin_rule_failed{rule=\"my_rule\"} 1\n");
  CHECK(
      lines_of(text, "tocsin_step_duration_seconds_count") ==
      "tocsin_step_duration_seconds_count{partition=\"0\"} 3\ntocsin_step_duration_seconds_count{partition=\"1\"} 0\n");
  const auto buckets = lines_of(text, "tocsin_step_duration_seconds_bucket");
  CHECK(buckets.find("{partition=\"0\",le=\"0.0001\"} 1\n") != std::string::npos);
  CHECK(buckets.find("{partition=\"0\",le=\"10\"} 2\n") != std::string::npos);
  CHECK(buckets.find("{partition=\"0\",le=\"+Inf\"} 3\n") != std::string::npos);
}

TEST_CASE("what is unknown of a job has no series") {
  Metrics metrics;
  test::publish_examples(metrics);
  const std::string text = metrics.text();
  CHECK(lines_of(text, "tocsin_job_step") == "tocsin_job_step{job_id=\"llama\"} 1200\n");
  CHECK(lines_of(text, "tocsin_job_goodput_ratio").empty());
  CHECK(text.find("# TYPE tocsin_job_goodput_ratio") == std::string::npos);
  CHECK(lines_of(text, "tocsin_job_alerts_firing").find("{job_id=\"llama\",severity=\"critical\"} 1\n") !=
        std::string::npos);
}

TEST_CASE("beyond the cap the jobs with the most severe alerts are shown, and the others counted") {
  Metrics metrics{{2, 1000}};
  std::vector<JobFigures> jobs(4);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].job = "job" + std::to_string(i);
    jobs[i].step = 1;
  }
  jobs[3].firing = {{stream::Severity::critical, 1}};
  jobs[2].firing = {{stream::Severity::warning, 5}};
  jobs[1].firing = {{stream::Severity::critical, 0}};
  metrics.publish(0, test::published(jobs));
  CHECK(lines_of(metrics.text(), "tocsin_job_step") ==
        "tocsin_job_step{job_id=\"job2\"} 1\ntocsin_job_step{job_id=\"job3\"} 1\n");
  CHECK(lines_of(metrics.text(), "tocsin_jobs_omitted") == "tocsin_jobs_omitted 2\n");
  CHECK(lines_of(metrics.text(), "tocsin_jobs") == "tocsin_jobs 4\n");
}

TEST_CASE("beyond the cap a job that runs is shown before one that has ended") {
  Metrics metrics{{1, 1000}};
  std::vector<JobFigures> jobs(3);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].job = std::to_string(1000 + i);
    jobs[i].state = i < 2 ? "ended" : "running";
    jobs[i].step = 1;
  }
  metrics.publish(0, test::published(jobs));
  CHECK(lines_of(metrics.text(), "tocsin_job_step") == "tocsin_job_step{job_id=\"1002\"} 1\n");
}

TEST_CASE("alerts of the cluster have series, and it counts for no job") {
  Metrics metrics{{1, 1000}};
  JobFigures cluster, job;
  cluster.job = "cluster";
  cluster.firing = {{stream::Severity::critical, 1}};
  cluster.alerts = {{"rack_power_brake", "B3", stream::Severity::critical, {stream::Level::rack, {}, "", "", "r7"}}};
  job.job = "llama";
  job.state = "running";
  metrics.publish(0, test::published({cluster, job}));
  const std::string text = metrics.text();
  CHECK(lines_of(text, "tocsin_job_alerts_firing") ==
        "tocsin_job_alerts_firing{job_id=\"cluster\",severity=\"critical\"} 1\n");
  CHECK(lines_of(text, "tocsin_alert_firing").find("job_id=\"cluster\",rule=\"rack_power_brake\"") !=
        std::string::npos);
  CHECK(lines_of(text, "tocsin_alert_firing").find("rack=\"r7\"") != std::string::npos);
  CHECK(lines_of(text, "tocsin_job_state") == "tocsin_job_state{job_id=\"llama\",state=\"running\"} 1\n");
  CHECK(lines_of(text, "tocsin_jobs") == "tocsin_jobs 1\n");
  CHECK(lines_of(text, "tocsin_jobs_omitted") == "tocsin_jobs_omitted 0\n");
}

TEST_CASE("a partition that is withdrawn has no series, and a job that two partitions have for a moment has one") {
  Metrics metrics;
  test::publish_examples(metrics);
  JobFigures moved;
  moved.job = "llama";
  moved.step = 1300;
  metrics.publish(1, test::published({moved}));
  const auto steps = lines_of(metrics.text(), "tocsin_job_step");
  CHECK(steps.find("llama") == steps.rfind("llama"));
  metrics.withdraw(0);
  CHECK(lines_of(metrics.text(), "tocsin_job_step") == "tocsin_job_step{job_id=\"llama\"} 1300\n");
  CHECK(lines_of(metrics.text(), "tocsin_entries_total") == "tocsin_entries_total{partition=\"1\"} 0\n");
}

TEST_CASE("the ranks of a job are a summary, and each a series while there are not too many") {
  Metrics metrics;
  test::publish_examples(metrics);
  const std::string text = metrics.text();
  CHECK(text.find("# TYPE tocsin_job_step_time_seconds summary\n") != std::string::npos);
  CHECK(lines_of(text, "tocsin_job_step_time_seconds").find("{job_id=\"llama\",quantile=\"0.9\"} 1.1\n") !=
        std::string::npos);
  CHECK(lines_of(text, "tocsin_job_step_time_seconds_count") ==
        "tocsin_job_step_time_seconds_count{job_id=\"llama\"} 16\n");
  CHECK(lines_of(text, "tocsin_rank_step") ==
        "tocsin_rank_step{job_id=\"llama\",rank=\"0\",node=\"n0\"} 1200\n"
        "tocsin_rank_step{job_id=\"llama\",rank=\"3\",node=\"n1\"} 1199\n");
  CHECK(lines_of(text, "tocsin_rank_compute_time_seconds") ==
        "tocsin_rank_compute_time_seconds{job_id=\"llama\",rank=\"3\",node=\"n1\"} 1.4\n");
  CHECK(lines_of(text, "tocsin_ranks_omitted") == "tocsin_ranks_omitted 0\n");
  CHECK(lines_of(text, "tocsin_job_compute_time_seconds_count").empty());

  Metrics small{{.most_ranks = 15}};
  test::publish_examples(small);
  CHECK(lines_of(small.text(), "tocsin_rank_step").empty());
  CHECK(lines_of(small.text(), "tocsin_ranks_omitted") == "tocsin_ranks_omitted 16\n");
}

TEST_CASE("each alert that fires is a series, up to a cap that says what it left out") {
  Metrics metrics;
  test::publish_examples(metrics);
  CHECK(lines_of(metrics.text(), "tocsin_alert_firing") ==
        "tocsin_alert_firing{job_id=\"llama\",rule=\"collective_hang\",family=\"C2\",severity=\"critical\",rank=\"3\","
        "node=\"n1\",gpu=\"\","
        "rack=\"\"} 1\n");
  Metrics none{{.most_alerts = 0}};
  test::publish_examples(none);
  CHECK(lines_of(none.text(), "tocsin_alert_firing").empty());
  CHECK(lines_of(none.text(), "tocsin_alerts_omitted") == "tocsin_alerts_omitted 1\n");
}

TEST_CASE("jobs whose names look the same once they are text have one series") {
  Metrics metrics;
  std::vector<JobFigures> jobs(2);
  jobs[0].job = "a\xff", jobs[1].job = "a\xfe";
  jobs[0].step = jobs[1].step = 1;
  metrics.publish(0, test::published(jobs));
  CHECK(lines_of(metrics.text(), "tocsin_job_step") == "tocsin_job_step{job_id=\"a\uFFFD\"} 1\n");
}
