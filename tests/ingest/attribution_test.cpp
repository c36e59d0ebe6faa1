// Whose a record is: labels, templates, the static map.
#include "adapters/ingest/labels.h"
#include "tests/ingest/collected.h"

using namespace tocsin::tests;
using namespace tocsin::adapters;

TEST_CASE("the first label that has a value counts, and words for nothing are no values") {
  auto mapped = source("prometheus_text");
  mapped.job = {"a", "b"};
  mapped.attempt = {"try"};
  CHECK(collect(mapped, "x{b=\"2\",a=\"1\",try=\"3\"} 0\nx{a=\"unknown\",b=\"2\"} 0\nx{a=\"\",b=\"2\",try=\"N/A\"} 0")
            .records == Lines{"1 1/3: x=0", "2 2: x=0", "3 2: x=0"});
}

TEST_CASE("a rank takes its node and GPU with it") {
  CHECK(collect(source("prometheus_text"),
                "x{job_id=\"j\",rank=\"3\",node=\"n1\",gpu=\"5\"} 0\nx{job_id=\"j\",rank=\"-1\"} 0")
            .records == Lines{"1 j r3 n1 5: x=0"});
}

TEST_CASE("a GPU without its node is reported, and what names no GPU is none") {
  const auto made =
      collect(source("prometheus_text"), "x{job_id=\"j\",gpu=\"5\"} 0\nx{job_id=\"j\",gpu=\"all\",uuid=\"me\"} 0");
  CHECK(made.records == Lines{"2 j: x=0"});
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0] ==
        "1 no_node: a GPU without its node: none of the usual labels (docs/ingest.md) has a value; it has job_id, gpu");
  auto mapped = source("prometheus_text");
  mapped.node = {"machine", "host"};
  CHECK(collect(mapped, "x{job_id=\"j\",gpu=\"5\"} 0")
            .problems.front()
            .find("without its node: none of machine, host has a value") != std::string::npos);
}

TEST_CASE("the problem of a record is a short text, however long the names of its labels are") {
  const std::string message =
      "{\"message\":\"m\",\"" + std::string(2u << 20, 'k') + "\":\"v\",\"" + std::string(1u << 20, 'l') + "\":\"v\"}";
  const auto made = collect(source("logs_json"), message);
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].size() < 1000);
  CHECK(made.problems[0].find("it has message, kkkkk") != std::string::npos);
}

TEST_CASE("the static map adds the names of a GPU and the rack of its or a rank's node, once a message") {
  const ingest::NodeMap nodes{{"n1", {"rack4", {{"0", "0000:1b:00.0", "GPU-a"}, {"1", "0000:1c:00.0", "GPU-b"}}}}};
  CHECK(collect(source("prometheus_text"),
                "x{job_id=\"j\",Hostname=\"n1\",gpu=\"1\"} 0\ny{job_id=\"j\",Hostname=\"n1\",gpu=\"1\"} 0", nodes)
            .records ==
        Lines{"1 j n1 0000:1c:00.0: member gpu_pci='0000:1c:00.0' gpu_uuid='GPU-b' gpu_index='1' rack='rack4'",
              "1 j n1 0000:1c:00.0: x=0", "2 j n1 0000:1c:00.0: y=0"});
  CHECK(collect(source("prometheus_text"), "x{job_id=\"j\",node=\"n1\",rank=\"7\"} 0", nodes).records ==
        Lines{"1 j r7 n1: member rack='rack4'", "1 j r7 n1: x=0"});
  CHECK(collect(source("prometheus_text"), "x{job_id=\"j\",node=\"n2\",gpu=\"7\"} 0", nodes).records ==
        Lines{"1 j n2 7: x=0"});
}

TEST_CASE("the static map knows a node by its short and by its full name, if that is one node") {
  const ingest::NodeMap nodes{{"n1", {"r1", {{"0", "0000:1b:00.0", ""}}}},
                              {"n2.a.org", {"r2", {}}},
                              {"n3.a.org", {"r3", {}}},
                              {"n3.b.org", {"r4", {}}}};
  const auto of = [&](const std::string& node) {
    return collect(source("prometheus_text"), "x{job_id=\"j\",node=\"" + node + "\",gpu=\"0\"} 0", nodes).records;
  };
  CHECK(of("n1.a.org").front() == "1 j n1.a.org 0000:1b:00.0: member gpu_pci='0000:1b:00.0' gpu_index='0' rack='r1'");
  CHECK(of("n2").front() == "1 j n2 0: member gpu_index='0' rack='r2'");
  CHECK(of("n2.b.org") == Lines{"1 j n2.b.org 0: x=0"});
  CHECK(of("n3") == Lines{"1 j n3 0: x=0"});
  CHECK(of("n3.b.org").front() == "1 j n3.b.org 0: member gpu_index='0' rack='r4'");
}

TEST_CASE("metrics are renamed, given a unit, and kept by pattern") {
  auto mapped = source("influx");
  mapped.signals = {{"nvidia_smi_memory_used", "gpu_memory_used MiB"}, {"a_b", "loss"}};
  mapped.keep = {"nvidia_*used", "a_b"};
  const auto made =
      collect(mapped, "nvidia_smi,job_id=1 memory_used=5i,memory_free=6i,used=1\na,job_id=1 b=2\nc,job_id=1 value=1");
  CHECK(made.records == Lines{"1 1: gpu_memory_used=5MiB nvidia_smi_used=1", "2 1: loss=2"});
  CHECK(made.unwanted_values == 2);
}

TEST_CASE("a mapping that cannot be followed is refused with the remedy") {
  const auto refusal = [](ingest::Source mapped) {
    const auto made = ingest::Translator::make(mapped);
    return made ? std::string{} : made.error().message;
  };
  auto bad = source("json");
  CHECK(refusal(bad) == "'json' is not a format");
  bad = source("influx");
  bad.extract = {{"file", "/x/{jobs}"}};
  CHECK(refusal(bad) == "extract.file {jobs} is none of {job}, {attempt}, {rank}, {node} and {gpu}");
  bad.extract = {{"file", "/x/{job}{rank}"}};
  CHECK(refusal(bad).find("two parts that vary need a text between them") != std::string::npos);
  bad.extract = {};
  bad.signals = {{"a", "b c d"}};
  CHECK(refusal(bad).find("signals.a: write the name of a signal") == 0);
}

TEST_CASE("templates and patterns find what they name") {
  const auto form = ingest::Template::parse("{node}/job-{job}.*.log");
  REQUIRE(form);
  ingest::Template::Found found{};
  CHECK(form->match("n1/job-a.b.c.log", found));
  CHECK(found[ingest::Template::job] == "a");
  CHECK(found[ingest::Template::node] == "n1");
  CHECK_FALSE(form->match("n1/job-.b.log", found));
  CHECK_FALSE(form->match("/job-a.b.log", found));
  const auto of_slurm = ingest::Template::parse("/logs/*-{job}.out"),
             of_rank = ingest::Template::parse("/logs/{job}/*-rank{rank}.log");
  REQUIRE(of_slurm);
  CHECK(of_slurm->match("/logs/llama-7b-4711.out", found));
  CHECK(found[ingest::Template::job] == "4711");
  REQUIRE(of_rank);
  CHECK(of_rank->match("/logs/j/by-rank-test-rank3.log", found));
  CHECK(found[ingest::Template::rank] == "3");
  CHECK(of_rank->match("/logs/j/a-rankx.log", found));
  CHECK(found[ingest::Template::rank] == "x");
  CHECK_FALSE(of_rank->match("/logs/j/" + std::string(4000, '-') + "-rank-rank-rank.out", found));
  CHECK(ingest::matches("*a*b", "xaayb"));
  CHECK(ingest::matches("*", ""));
  CHECK_FALSE(ingest::matches("a*b*c", "acb"));
}
