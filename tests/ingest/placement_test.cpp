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

// One message after the other of one source, and the entries that each makes: "SUBJECT[/ATTEMPT] NUMBER: signals, lines and events".
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
      std::string line = fmt::format("{}{}{} {}:", entry.subject, entry.attempt.empty() ? "" : "/", entry.attempt, entry.origin_offset);
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

TEST_CASE("a job that ends is on no node any more, and a job cannot be called cluster") {
  Messages messages{"slurm_jobcomp"};
  static_cast<void>(messages.placement.saw("n1", "7", arrival));
  CHECK(messages.read(R"({"jobid":7,"state":"COMPLETED","@end":"2026-09-21T14:13:20Z"})").size() == 1);
  CHECK(messages.rekeyer.left().size() == 1);
  CHECK(jobs_on(messages.placement, "n1", arrival).empty());
  CHECK(messages.read(R"({"jobid":"cluster","state":"RUNNING"})").empty());
  CHECK(messages.beyond.problems.back().find("a job cannot be called cluster") != std::string::npos);
}

TEST_CASE("the cluster gets what its rules need, with the job on the node, an entry a node and job") {
  Messages messages;
  messages.rekeyer.cluster_needs(needs());
  static_cast<void>(messages.placement.saw("n1", "a", arrival));
  CHECK(messages.read("brake{Hostname=\"n1\",gpu=\"0\"} 1\nother{Hostname=\"n1\",gpu=\"0\"} 1") ==
        Lines{"a 15: n1-0.brake n1-0.other", "cluster/a 7: n1-0.brake"});
  CHECK(messages.read("brake{Hostname=\"n9\",gpu=\"0\"} 1\nother{Hostname=\"n8\"} 1") == Lines{"cluster 32775: n9-0.brake"});
  CHECK(messages.beyond.problems.size() == 1);  // `other` of n8
  // Labels lead; they alone distinguish two jobs on a node.
  static_cast<void>(messages.placement.saw("n1", "b", arrival));
  CHECK(messages.read("brake{Hostname=\"n1\",gpu=\"0\"} 1\nbrake{Hostname=\"n1\",gpu=\"1\",job_id=\"b\"} 1") ==
        Lines{"a 47: n1-0.brake", "b 47: n1-0.brake", "b 32: n1-1.brake", "cluster/b 65536: n1-1.brake", "cluster 65543: n1-0.brake"});
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

TEST_CASE("entries of the cluster have the numbers that their nodes have in the message, whatever else is known, and come in their order") {
  const std::string message =
      "other{Hostname=\"n1\"} 1\nbrake{Hostname=\"n2\"} 1\nbrake{Hostname=\"n1\"} "
      "1\nbrake{Hostname=\"n3\",gpu=\"0\",pci_bus_id=\"0000:1b:00.0\"} 1\n";
  Messages first, second;
  for (Messages* messages : {&first, &second}) messages->rekeyer.cluster_needs(needs());
  static_cast<void>(second.placement.saw("n2", "b", arrival));
  const Lines of_first = first.read(message);
  CHECK(of_first == Lines{"cluster 7: n1.brake", "cluster 15: n2.brake", "cluster 23: n3-0000:1b:00.0.brake member!"});
  CHECK(second.read(message) ==
        Lines{"b 15: n2.brake", "cluster 7: n1.brake", "cluster/b 15: n2.brake", "cluster 23: n3-0000:1b:00.0.brake member!"});
  // Names that were given are not given again at once, and the numbers stay.
  first.offset = 0;
  CHECK(first.read(message).back() == "cluster 23: n3-0000:1b:00.0.brake");
}
