// Rules of the cluster: what they may say, and what is refused with what to write instead.
#include <doctest/doctest.h>

#include "dsl/cases/case_runner.h"
#include "tests/dsl/reported.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

// A rule of the cluster per GPU that needs these, and returns this.
std::string problems(const std::string& needs, const std::string& answer, const std::string& head = "",
                     const std::string& per = "gpu", const std::string& every = "\"30s\"",
                     const std::string& more = "") {
  return problems_of(load_rules("rule \"c\" { scope = \"cluster\", per = \"" + per + "\", every = " + every +
                                ", shows = \"x\", summary = \"s\",\n" + head + "\nneeds = { " + needs +
                                " },\nevaluate = function(cluster) return " + answer + " end }\n" + more));
}

const std::string fault = "fault = signal \"fault\" { over = \"7d\" }",
                  duty = "duty = signal \"duty\" { over = \"2m\" }", count = "cluster.fault:count():above(0)";

std::string faults(const std::string& of_case) {
  const Loaded loaded = load_rules(R"lua(
rule "twice" { scope = "cluster", per = "gpu", every = { "fault", "30s" }, needs = { fault = signal "fault" { over = "1d" } },
  evaluate = function(cluster) return cluster.fault:distinct("job"):at_least(2) end }
rule "rack" { scope = "cluster", per = "rack", every = "10s", needs = { memory = signal "memory" { over = "1m" } },
  evaluate = function(cluster) local full = cluster.memory:mean():above(5) return full:at_least(2, "rack"), { who = full } end }
case "c" { scope = "cluster", gpus = 8, per_node = 2, per_rack = 2, )lua" +
                                   of_case + " }");
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  const CaseResult result = run_case(loaded.cases.at(0), {loaded.pack, nullptr});
  std::string all;
  for (const std::string& message : result.messages) all += message + "\n";
  return all;
}

}  // namespace

TEST_CASE("a rule of the cluster counts the jobs of events, selects them, and compares with the whole cluster") {
  CHECK(problems(fault,
                 "cluster.fault:distinct(\"job\"):above(1), { job = cluster.fault:last(\"job\"), code = "
                 "cluster.fault:last(\"code\") }") == "");
  CHECK(problems(fault, "cluster.fault:where { job = \"a\" }:count():above(1)") == "");
  CHECK(problems(duty, "cluster.duty:mean():above(2 * cluster.duty:mean():median(\"cluster\"))") == "");
  CHECK(problems(duty, "cluster.duty:mean():above(0.5):at_least(2, \"rack\")", "", "rack") == "");
  const Loaded loaded =
      load_rules("rule \"c\" { scope = \"cluster\", per = \"gpu\", every = \"30s\", needs = { " + duty +
                 " }, evaluate = function(cluster) return cluster.duty:mean():above(0.5) end }");
  CHECK(rule(loaded, "c").scope == stream::Scope::cluster);
  CHECK(rule(loaded, "c").judges("cluster"));
  CHECK(!rule(loaded, "c").judges("llama"));
}

TEST_CASE("what the cluster does not have is refused with what to write") {
  CHECK(has(problems("step = signal \"step\" { over = \"1m\" }", "cluster.step:delta():above(0)"),
            "'step' is a rank's, and the cluster has nodes and GPUs: need a signal of theirs, or leave scope out"));
  CHECK(has(problems("loss = signal \"loss\" { over = 5 }", "cluster.loss:last():above(0)"), "'loss' is a job's"));
  CHECK(has(problems(fault, count, "", "rank"),
            "per = \"rank\" in a rule of the cluster, which has GPUs, nodes and racks"));
  CHECK(has(problems(fault, count + ":any(\"job\")", "", "job"), "per = \"job\" in a rule of the cluster"));
  CHECK(has(problems(fault, count, "", "gpus"), "per = \"gpus\" (gpu?): write gpu, node or rack"));
  CHECK(has(problems("fault = signal \"fault\" { over = \"attempt\" }", count),
            "which has no attempts, is a time: over = \"24h\""));
  CHECK(has(problems(fault, count, "", "gpu", "\"end\""),
            "every = \"end\" in a rule of the cluster, which does not end"));
  CHECK(has(problems(fault, count, "jobs = { partition = \"a100\" },"),
            "jobs selects by the labels of a job, and the cluster has none"));
  CHECK(has(problems(duty, "cluster.duty:mean():above(cluster.duty:mean():median(\"job\"))"),
            "\"job\" is a group of rules about a job: in a rule of the cluster write \"cluster\""));
  CHECK(has(problems(duty, "cluster.duty:mean():above(cluster.duty:mean():median(\"clutser\"))"),
            "no group \"clutser\" (cluster?)"));
  CHECK(has(problems(duty, "cluster.duty:mean():above(cluster.duty:mean():median())"),
            "median(\"node\"), median(\"cluster\")"));
}

TEST_CASE("a rule about a job has no group of the cluster, no job of an event, and no other scope") {
  CHECK(has(reported("    return job.duty:mean():above(job.duty:mean():median(\"cluster\"))"),
            "\"cluster\" is a group of rules of scope cluster: in a rule about a job write \"job\""));
  for (const char* use : {"job.fault:distinct(\"job\"):above(1)", "job.fault:where { job = \"a\" }:count():above(1)",
                          "job.fault:last(\"job\"):is(\"a\")"})
    CHECK(has(reported("    return keep & " + std::string{use}),
              "'fault' has no field 'job': which job it was in is known in rules of scope cluster"));
  CHECK(has(reported("    return keep", "scope = \"clster\","),
            "write \"attempt\", \"job\" or \"cluster\", or leave it out"));
  CHECK(reported("    return keep & job.fault:distinct(\"code\"):above(1)") == "");
}

TEST_CASE("rules of the cluster and rules about jobs neither see nor explain each other") {
  const std::string of_job = "rule \"j\" { per = \"gpu\", every = \"10s\", shows = \"x\", summary = \"s\", needs = { " +
                             duty + " }, evaluate = function(job) return job.duty:mean():above(0.5) end }";
  CHECK(has(problems(fault, count, "yields_to = { \"j\" },", "gpu", "\"30s\"", of_job),
            "yields_to: 'j' is about a job, and 'c' is not"));
  CHECK(has(problems(fault + ", j = finding \"j\"", count + " & cluster.j:now()", "", "gpu", "\"30s\"", of_job),
            "finding: 'j' is about a job"));
  const Loaded all = load_rules(
      of_job +
      "rule \"c\" { scope = \"cluster\", per = \"gpu\", every = \"30s\", shows = \"x\", summary = \"s\", needs = { " +
      fault + " }, evaluate = function(cluster) return " + count +
      " end }\nrule \"z\" { per = \"job\", every = \"10s\", shows = \"x\", summary = \"s\", needs = { all = finding "
      "\"*\" },\n"
      "evaluate = function(job) return job.all:now() end }");
  CHECK(problems_of(all) == "");
  CHECK(rule(all, "z").findings.size() == 1);
}

TEST_CASE("a case of the cluster has GPUs, nodes, racks, and events with the job on their node") {
  const std::string events =
      "{ lasting = \"5m\", events = { { \"fault\", gpu = 3, at = \"1m\", job = \"a\" }, { \"fault\", gpu = 3, at = "
      "\"2m\", job = \"b\" }, "
      "{ \"fault\", gpu = 4, at = \"2m\", job = \"b\" }, { \"fault\", gpu = 4, at = \"3m\" } } }";
  CHECK(faults(events + ", fires = { { \"twice\", gpu = 3 } }") == "");
  CHECK(has(faults(events + ", fires = { { \"twice\", gpu = 4 } }"),
            "expected twice, GPU 4; reported instead: twice on GPU 1 on n1"));
  const std::string full = "{ lasting = \"2m\", memory = 1, node = { [2] = { memory = 9 }, [3] = { memory = 9 } } }";
  CHECK(faults(full + ", fires = { { \"rack\", rack = 1 } }") == "");
  CHECK(has(faults(full + ", fires = { { \"rack\", rack = 0 } }"),
            "expected rack, rack 0; reported instead: rack on rack r1"));
}

TEST_CASE("a case that mixes the cluster with jobs is refused") {
  const std::string rules =
      "rule \"c\" { scope = \"cluster\", per = \"gpu\", every = \"30s\", shows = \"x\", summary = \"s\", needs = { " +
      fault + " }, evaluate = function(cluster) return " + count + " end }\n";
  const auto of = [&](const std::string& text) {
    return problems_of(load_rules(rules + "case \"x\" { " + text + " }"));
  };
  CHECK(has(of("{ lasting = \"1m\" }, fires = { { \"c\" } }"),
            "'c' is of the cluster: add scope = \"cluster\" to the case"));
  CHECK(has(of("scope = \"cluster\", ranks = 4, { lasting = \"1m\" }"), "the cluster has no ranks: write gpus = 16"));
  CHECK(has(of("gpus = 4, { lasting = \"1m\" }"), "gpus is the size of a cluster"));
  CHECK(has(of("per_rack = 4, { lasting = \"1m\" }"), "per_rack, the nodes of a rack, is of scope = \"cluster\""));
  CHECK(has(of("scope = \"cluster\", { lasting = \"1m\", ends = \"failed\" }"),
            "the cluster has neither ranks nor attempts"));
  CHECK(has(of("scope = \"cluster\", { lasting = \"1m\", events = { { \"fault\", rank = 0 } } }"),
            "an event in the cluster is of a node or a GPU"));
  CHECK(has(of("{ lasting = \"1m\", events = { { \"fault\", gpu = 0, job = \"a\" } } }"),
            "job of an event is that on a node of the cluster"));
}
