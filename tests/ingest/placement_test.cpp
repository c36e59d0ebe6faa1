// Where jobs are, and where records go that name a node and no job.
#include "adapters/ingest/placement.h"

#include "adapters/ingest/rekey.h"
#include "tests/ingest/collected.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::ingest::ClusterNeeds;
using adapters::ingest::Placement;
using adapters::ingest::Rekeyer;
using adapters::ingest::Translator;
using namespace std::chrono_literals;

namespace {

Lines jobs_on(const Placement& placement, std::string_view node, stream::Time at) {
  std::vector<std::string_view> jobs;
  placement.jobs_on(node, at, jobs);
  return {jobs.begin(), jobs.end()};
}

// One message after the other of one source, and the entries that each makes: "SUBJECT[/ATTEMPT] NUMBER: signals, lines
// and events".
struct Messages {
  explicit Messages(std::string format = "prometheus_text", std::string covers = {}) {
    rekeyer.copy_by(placement);
    auto mapped = source(std::move(format));
    mapped.covers = std::move(covers);
    auto made = Translator::make(mapped);
    REQUIRE(made);
    translator = std::make_unique<Translator>(std::move(*made));
  }
  Lines read(const std::string& message, stream::Time at = arrival) {
    rekeyer.begin("t/0", offset++, at);
    translator->read(message, at, rekeyer);
    rekeyer.finish();
    Lines lines;
    for (std::size_t i = 0; i < rekeyer.entries(); ++i) {
      const stream::Entry& entry = rekeyer.entry(i);
      std::string line = fmt::format("{}{}{} {}:", entry.subject, entry.attempt.empty() ? "" : "/", entry.attempt,
                                     entry.origin_offset);
      for (const auto& block : entry.samples)
        for (const auto& member : block.members)
          for (const auto& signal : block.signals)
            line += fmt::format(" {}{}{}.{}", member.node, member.gpu.empty() ? "" : "-", member.gpu, signal.name);
      for (const auto& one : entry.lines) line += fmt::format(" {} '{}'", one.member.node, one.text);
      for (const auto& event : entry.events) line += fmt::format(" {}!", event.name);
      lines.push_back(line);
    }
    return lines;
  }
  Placement placement;
  Collected beyond;
  Rekeyer rekeyer{beyond};
  std::unique_ptr<Translator> translator;
  std::uint64_t offset = 0;
};

ClusterNeeds needs() { return {{"brake"}, {"xid"}, {"kernel_log"}}; }

}  // namespace

TEST_CASE("a job is on a node from its first record there until five minutes after its last, or until it ends") {
  Placement placement;
  CHECK(placement.saw("n1", "a", arrival));
  CHECK(!placement.saw("n1", "a", arrival + 59s));
  CHECK(placement.saw("n1", "a", arrival + 60s));
  CHECK(placement.saw("n1", "b", arrival + 60s));
  CHECK(jobs_on(placement, "n1", arrival - 1s).empty());
  CHECK(jobs_on(placement, "n1", arrival + 1s) == Lines{"a"});
  CHECK(jobs_on(placement, "n1", arrival + 60s) == Lines{"a", "b"});
  CHECK(jobs_on(placement, "n1", arrival + 6min) == Lines{"a", "b"});
  CHECK(jobs_on(placement, "n1", arrival + 6min + 1s).empty());
  CHECK(jobs_on(placement, "n2", arrival + 60s).empty());
  CHECK(placement.ended("b") == Lines{"n1"});
  CHECK(jobs_on(placement, "n1", arrival + 60s) == Lines{"a"});
  CHECK(placement.forget(arrival + 10min).empty());
  CHECK(placement.forget(arrival + 32min).size() == 1);
  CHECK(!placement.stay("n1", "a"));
}

TEST_CASE("jobs that left a node without an end make room for others there") {
  Placement placement;
  for (int job = 0; job < 64; ++job) CHECK(placement.saw("n1", std::to_string(job), arrival + job * 1s));
  CHECK(!placement.saw("n1", "late", arrival + 5min));  // all of them may be there still
  CHECK(placement.saw("n1", "late", arrival + 5min + 1s));
  CHECK(jobs_on(placement, "n1", arrival + 5min + 1s).size() == 64);
  CHECK(!placement.stay("n1", "0"));
  CHECK(placement.saw("n1", "later", arrival + 20min));
  CHECK(jobs_on(placement, "n1", arrival + 20min) == Lines{"later"});
}

TEST_CASE("a record that names a node and no job goes to each job on the node, else it is nobody's") {
  Messages messages;
  CHECK(messages.read("x{Hostname=\"n1\",gpu=\"0\"} 1").empty());
  REQUIRE(messages.beyond.problems.size() == 1);
  CHECK(messages.beyond.problems[0].starts_with("1 no_job: no job: none of the usual labels"));
  CHECK(messages.beyond.problems[0].ends_with("; and no job was on node n1 in the last 5 min"));

  CHECK(messages
            .read("s{job_id=\"a\",rank=\"0\",node=\"n1\"} 1\ns{job_id=\"b\",rank=\"0\",node=\"n1\"} "
                  "1\ns{job_id=\"c\",rank=\"0\",node=\"n2\"} 1")
            .size() == 3);
  CHECK(messages.rekeyer.placed().size() == 3);
  CHECK(messages.read("x{Hostname=\"n1\",gpu=\"0\"} 1\ny{Hostname=\"n2\"} 1\ny{job_id=\"a\",Hostname=\"n2\"} 1") ==
        Lines{"a 47: n1-0.x", "b 47: n1-0.x", "c 47: n2.y", "a 32: n2.y"});
  CHECK(messages.beyond.problems.size() == 1);
}

TEST_CASE("a record of a message places its job for those behind it") {
  Messages messages;
  CHECK(messages.read("x{Hostname=\"n1\"} 1\ns{job_id=\"a\",rank=\"0\",node=\"n1\"} 1\nx{Hostname=\"n1\"} "
                      "1\ny{Hostname=\"n1\"} 1") == Lines{"a 0: n1.s", "a 15: n1.x n1.y"});
  CHECK(messages.beyond.problems.size() == 1);
  static_cast<void>(messages.placement.ended("a"));
  CHECK(messages.read("x{Hostname=\"n1\"} 1").empty());
}

TEST_CASE("a job that ends is on no node any more, and a job cannot be called cluster") {
  Messages messages{"slurm_jobcomp"};
  static_cast<void>(messages.placement.saw("n1", "7", arrival));
  CHECK(messages.read(R"({"jobid":7,"state":"COMPLETED","@end":"2026-09-21T14:13:20Z"})").size() == 1);
  CHECK(messages.rekeyer.left().size() == 1);
  CHECK(jobs_on(messages.placement, "n1", arrival).empty());
  CHECK(messages.read(R"({"jobid":"cluster","state":"RUNNING"})").empty());
  CHECK(messages.beyond.problems.back().find("a job cannot be called cluster") != std::string::npos);
}

namespace {

// Records of Slurm, and metrics of nodes that name no job.
struct Scheduled {
  Messages slurm{"slurm_jobcomp"}, metrics;
  Scheduled() { metrics.rekeyer.copy_by(slurm.placement); }
  // The jobs to which a metric of the node goes.
  Lines of(const std::string& node, stream::Time at = arrival) {
    Lines jobs;
    for (const std::string& entry : metrics.read("x{Hostname=\"" + node + "\"} 1", at))
      jobs.push_back(entry.substr(0, entry.find(' ')));
    return jobs;
  }
  void start(const std::string& job, const std::string& nodes, stream::Time at = arrival,
             const std::string& more = {}) {
    const Lines made = slurm.read(
        R"({"jobid":)" + job + R"(,"state":null,"@start":"2026-09-21T14:13:20","nodes":")" + nodes + '"' + more + '}',
        at);
    REQUIRE(made.size() == 1);
    CHECK(made[0].ends_with(": start!"));
  }
  void end(const std::string& job, stream::Time at = arrival, const std::string& state = "COMPLETED") {
    static_cast<void>(slurm.read(
        R"({"jobid":)" + job + R"(,"state":")" + state + R"(","@end":"2026-09-21T14:13:20","nodes":"n1"})", at));
  }
};

using Places = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("a start of Slurm puts its job on each node of its list, however long it says nothing, until its end") {
  Scheduled cluster;
  CHECK(cluster.of("n001").empty());
  cluster.start("7", "n[001-003],x");
  CHECK(cluster.slurm.rekeyer.placed() == Places{{"", "7"}});
  cluster.start("8", "n003", arrival + 1s);
  CHECK(cluster.of("n001", arrival - 1s).empty());
  for (const char* node : {"n001", "n002", "x"}) CHECK(cluster.of(node, arrival + 72h) == Lines{"7"});
  CHECK(cluster.of("n003", arrival + 72h) == Lines{"7", "8"});
  CHECK(cluster.of("n1", arrival + 72h).empty());
  CHECK(cluster.slurm.placement.forget(arrival + 72h).empty());
  cluster.end("7", arrival + 73h);
  CHECK(cluster.slurm.rekeyer.placed() == Places{{"", "7"}});
  CHECK(cluster.of("n001", arrival + 73h).empty());
  CHECK(cluster.of("n003", arrival + 73h) == Lines{"8"});
}

TEST_CASE("a record that Slurm writes at a job's end alone puts it on no node") {
  Scheduled cluster;
  cluster.end("7");
  for (const char* state : {"TIMEOUT", "PENDING", "CANCELLED by 100"}) cluster.end("8", arrival, state);
  CHECK(cluster.of("n1").empty());
}

TEST_CASE(
    "a job that is requeued is on the nodes of its new start, and on those of a start whose end is lost no more") {
  Scheduled cluster;
  cluster.start("7", "n[1-2]");
  cluster.end("7", arrival + 1min, "PENDING");
  cluster.start("7", "n[2-3]", arrival + 2min);
  CHECK(cluster.of("n1", arrival + 2min).empty());
  CHECK(cluster.of("n2", arrival + 2min) == Lines{"7"});
  cluster.start("7", "n4", arrival + 3min);
  CHECK(cluster.of("n2", arrival + 3min).empty());
  CHECK(cluster.of("n4", arrival + 3min) == Lines{"7"});
}

TEST_CASE("a start that is read after its end, or again, changes nothing") {
  Scheduled cluster;
  cluster.end("7", arrival + 1h);
  cluster.start("7", "n1");
  CHECK(cluster.slurm.rekeyer.placed().empty());
  CHECK(cluster.of("n1", arrival + 2h).empty());
  cluster.start("7", "n2", arrival + 2h);
  cluster.end("7", arrival + 1h);
  cluster.start("7", "n1");
  CHECK(cluster.of("n2", arrival + 3h) == Lines{"7"});
  CHECK(cluster.of("n1", arrival + 3h).empty());
}

TEST_CASE("a job of Slurm whose end nobody says leaves its nodes after twice its time limit, or a month") {
  Scheduled cluster;
  cluster.start("7", "n1", arrival, R"(,"time_limit":86400)");
  cluster.start("8", "n2", arrival, R"(,"time_limit":60)");
  cluster.start("9", "n3");
  CHECK(cluster.of("n1", arrival + 48h) == Lines{"7"});
  CHECK(cluster.of("n1", arrival + 48h + 1s).empty());
  CHECK(cluster.of("n2", arrival + 1h) == Lines{"8"});
  CHECK(cluster.of("n3", arrival + 30 * 24h) == Lines{"9"});
  auto& placement = cluster.slurm.placement;
  CHECK(placement.forget(arrival + 49h) == Places{{"", "7"}, {"", "8"}});
  CHECK(placement.allocation("8") == nullptr);
  CHECK(placement.deallocate("9", arrival + 50h));
  CHECK(placement.forget(arrival + 73h).empty());
  CHECK(placement.forget(arrival + 75h) == Places{{"", "9"}});
}

TEST_CASE("a list of nodes that is none is reported, and the job starts without") {
  Scheduled cluster;
  cluster.start("7", "n[1-");
  cluster.start("8", "n[1-200000]");
  for (const char* none : {"", "(null)", "None assigned"}) cluster.start("9", none);
  CHECK(cluster.slurm.beyond.problems == Lines{"1 malformed: the nodes of job 7: a '[' without its ']': 'n[1-'",
                                               "1 too_large: the nodes of job 8: more than 100000 nodes"});
  for (const char* many : {"a", "b", "c", "d", "e"})
    cluster.start(std::to_string(100 + many[0]), std::string{many} + "[1-100000]");
  CHECK(cluster.slurm.beyond.problems.back() ==
        "1 too_large: the nodes of job 201: those that run have more than 400000");
  CHECK(cluster.of("d100000") == Lines{"200"});
  CHECK(cluster.of("e1").empty());
}

TEST_CASE("a short name of a node is the first part of its full name, and two full names are two nodes") {
  Scheduled cluster;
  cluster.start("7", "n1,10.0.0.7");
  CHECK(cluster.of("n1") == Lines{"7"});
  CHECK(cluster.of("n1.a.org") == Lines{"7"});
  CHECK(cluster.of("n12.a.org").empty());
  CHECK(cluster.of("10.0.0.7") == Lines{"7"});
  CHECK(cluster.of("10").empty());
  auto& placement = cluster.slurm.placement;
  static_cast<void>(placement.saw("n1.b.org", "8", arrival));
  CHECK(cluster.of("n1.b.org") == Lines{"7", "8"});
  CHECK(cluster.of("n1") == Lines{"7", "8"});
  CHECK(cluster.of("n1.a.org") == Lines{"7"});
  static_cast<void>(placement.saw("n1.a.org", "7", arrival));
  CHECK(cluster.of("n1.a.org") == Lines{"7"});
}

TEST_CASE("what the topic has of allocations is what was written there") {
  Placement mine;
  const Placement::Allocation one{arrival, arrival + 24h, "n[1-2]"};
  mine.read("7", one);
  CHECK(jobs_on(mine, "n2", arrival) == Lines{"7"});
  CHECK(mine.allocate("7", one, std::vector<std::string>{"n1", "n2"}) == Placement::Allocated::known_or_older);
  mine.read("7", {arrival, arrival + 1h, ""});
  CHECK(jobs_on(mine, "n2", arrival + 1h).empty());
  mine.read("7", one);
  CHECK(jobs_on(mine, "n2", arrival + 1h).empty());
  mine.read("8", {arrival, arrival + 24h, "n[2"});
  CHECK(mine.allocation("8") == nullptr);
  mine.read("8", {arrival, arrival + 24h, "n2"});
  mine.forget_allocation("8");
  CHECK(jobs_on(mine, "n2", arrival).empty());
}

TEST_CASE("the cluster gets what its rules need, with the job on the node, an entry a node and job") {
  Messages messages;
  messages.rekeyer.cluster_needs(needs());
  static_cast<void>(messages.placement.saw("n1", "a", arrival));
  CHECK(messages.read("brake{Hostname=\"n1\",gpu=\"0\"} 1\nother{Hostname=\"n1\",gpu=\"0\"} 1") ==
        Lines{"a 15: n1-0.brake n1-0.other", "cluster/a 7: n1-0.brake"});
  CHECK(messages.read("brake{Hostname=\"n9\",gpu=\"0\"} 1\nother{Hostname=\"n8\"} 1") ==
        Lines{"cluster 32775: n9-0.brake"});
  CHECK(messages.beyond.problems.size() == 1);  // `other` of n8
  // Labels lead; they alone distinguish two jobs on a node.
  static_cast<void>(messages.placement.saw("n1", "b", arrival));
  CHECK(messages.read("brake{Hostname=\"n1\",gpu=\"0\"} 1\nbrake{Hostname=\"n1\",gpu=\"1\",job_id=\"b\"} 1") ==
        Lines{"a 47: n1-0.brake", "b 47: n1-0.brake", "b 32: n1-1.brake", "cluster/b 65536: n1-1.brake",
              "cluster 65543: n1-0.brake"});
}

TEST_CASE("lines of a kernel's log go to the jobs on its node and the cluster; other lines of a node are nobody's") {
  Messages kernel{"logs_json", "kernel_log"}, plain{"logs_json"};
  for (Messages* messages : {&kernel, &plain}) {
    messages->rekeyer.cluster_needs(needs());
    static_cast<void>(messages->placement.saw("n1", "a", arrival));
  }
  const std::string line = R"({"host":"n1","message":"NVRM: Xid"})";
  CHECK(kernel.read(line) == Lines{"a 15: n1 'NVRM: Xid'", "cluster/a 7: n1 'NVRM: Xid'"});
  CHECK(plain.read(line).empty());
  CHECK(plain.beyond.problems.size() == 1);
}

TEST_CASE(
    "entries of the cluster have the numbers that their nodes have in the message, whatever else is known, and come in "
    "their order") {
  const std::string message =
      "other{Hostname=\"n1\"} 1\nbrake{Hostname=\"n2\"} 1\nbrake{Hostname=\"n1\"} "
      "1\nbrake{Hostname=\"n3\",gpu=\"0\",pci_bus_id=\"0000:1b:00.0\"} 1\n";
  Messages first, second;
  for (Messages* messages : {&first, &second}) messages->rekeyer.cluster_needs(needs());
  static_cast<void>(second.placement.saw("n2", "b", arrival));
  const Lines of_first = first.read(message);
  CHECK(of_first == Lines{"cluster 7: n1.brake", "cluster 15: n2.brake", "cluster 23: n3-0000:1b:00.0.brake member!"});
  CHECK(second.read(message) == Lines{"b 15: n2.brake", "cluster 7: n1.brake", "cluster/b 15: n2.brake",
                                      "cluster 23: n3-0000:1b:00.0.brake member!"});
  // Names that were given are not given again at once, and the numbers stay.
  first.offset = 0;
  CHECK(first.read(message).back() == "cluster 23: n3-0000:1b:00.0.brake");
}
