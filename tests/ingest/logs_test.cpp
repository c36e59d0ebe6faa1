// Each format of logs: what of it becomes lines.
#include "tests/ingest/collected.h"

using namespace tocsin::tests;

TEST_CASE("lines are found in what Fluent Bit, Filebeat, Vector and rsyslog write") {
  CHECK(
      collect(
          source("logs_json"),
          R"({"@timestamp":1789999998.25,"filename":"/x","log":"step 1","kubernetes":{"host":"n1","labels":{"training.kubeflow.org/job-name":"llm","training.kubeflow.org/replica-index":"2"}},"stream":"stderr"})")
          .records ==
      Lines{"1 llm n1: stderr step 1 @-1.75"});  // the index of a role's pod is no rank: worker 0 is rank 1
  CHECK(
      collect(
          source("logs_json"),
          R"({"@timestamp":"2026-09-21T14:13:19.000Z","agent":{"name":"n3"},"log":{"offset":1,"file":{"path":"/l"}},"message":"step 2","fields":{"job_id":12}})")
          .problems.front()
          .find("1 no_job") == 0);
  auto nested = source("logs_json");
  nested.job = {"fields.job_id"};
  CHECK(
      collect(
          nested,
          R"({"@timestamp":"2026-09-21T14:13:19.000Z","agent":{"name":"n3"},"message":"step 2","fields":{"job_id":12}})")
          .records == Lines{"1 12 n3: step 2 @-1"});
  CHECK(collect(source("logs_json"),
                R"({"file":"/l","host":"n7","message":"a \"b\"","job_id":"4","timestamp":"2026-09-21T14:13:20Z"})")
            .records == Lines{"1 4 n7: a \"b\""});
}

TEST_CASE("the times of Python's logging, with a comma and a zone without colon, are read") {
  CHECK(collect(source("logs_json"), R"({"job_id":"4","timestamp":"2026-09-21T16:13:18,500+0200","message":"m"})")
            .records == Lines{"1 4: m @-1.5"});
}

TEST_CASE("a text of several lines becomes several lines") {
  CHECK(collect(source("logs_json"), R"({"job_id":"4","message":"Traceback:\n  File\nValueError: x\n"})").records ==
        Lines{"1 4: Traceback:", "1 4:   File", "1 4: ValueError: x"});
}

TEST_CASE("bytes that are no UTF-8 do not cost the line") {
  CHECK(collect(source("logs_json"),
                "{\"job_id\":\"4\",\"message\":\"a\xff"
                "b\"}")
            .records == Lines{"1 4: a\uFFFD"
                              "b"});
}

TEST_CASE("the mark of UTF-8 in front of a message is no part of it") {
  CHECK(collect(source("logs_json"), "\xef\xbb\xbf{\"job_id\":\"4\",\"message\":\"a\"}").records == Lines{"1 4: a"});
}

TEST_CASE("an object without a text is named with the fields that were looked for") {
  const auto made = collect(source("logs_json"), R"({"job_id":"4","body":"x"})");
  CHECK(made.problems ==
        Lines{"1 malformed: no text of a line: it has none of the fields message, log, msg, MESSAGE (option text)"});
  auto other = source("logs_json");
  other.text = {"body"};
  CHECK(collect(other, R"({"job_id":"4","body":"x"})").records == Lines{"1 4: x"});
}

TEST_CASE("the member is taken from a path, and the lines can be of another source") {
  auto mapped = source("logs_json");
  mapped.extract = {{"log.file.path", "/var/log/{job}/*-rank{rank}.out"}};
  mapped.covers = "kernel_log";
  CHECK(collect(mapped, R"({"log":{"file":{"path":"/var/log/77/n1-rank12.out"}},"message":"m"})").records ==
        Lines{"1 77 r12: m of kernel_log"});
  CHECK(collect(mapped, R"({"log":{"file":{"path":"/var/log/77/deep/n1-rank12.out"}},"message":"m"})").records.empty());
  CHECK(collect(mapped, R"({"log":{"file":{"path":"/var/log/77/n1-rankx.out"}},"message":"m"})").problems ==
        Lines{"1 bad_rank: the rank is not a whole number: 'x'"});
}

TEST_CASE("rsyslog's default template is read") {
  auto mapped = source("logs_syslog");
  mapped.labels = {{"job_id", "nightly"}};
  const auto made = collect(
      mapped,
      "2026-09-21T14:13:20+00:00 n1 train: {'loss': 1.9}\n2026-09-21T16:13:19+02:00 n1 kernel[3]: x  y\nno line");
  CHECK(made.records == Lines{"1 nightly n1: {'loss': 1.9}", "2 nightly n1: x  y @-1"});
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].find("3 malformed: no line of rsyslog's default template") == 0);
}
