// The cluster: one subject of all nodes and GPUs beside the jobs, with rules of its own.
#include <doctest/doctest.h>

#include <algorithm>

#include "stream/job/cluster_members.h"
#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::AlertState;
using stream::Level;
using stream::ResolveReason;
using stream::Truth;

namespace {

constexpr double hour = 3600, day = 24 * hour;

constexpr const char* signals = R"lua(signals {
    step = { kind = "step", unit = "count", owner = "rank" },
    xid  = { kind = "event", unit = "none", owner = "gpu", source = "kernel_log", fields = { code = "none" } },
    heat = { kind = "gauge", unit = "none", owner = "gpu" },
    load = { kind = "gauge", unit = "none", owner = "node" } })lua";
constexpr const char* rules_of_jobs = R"lua(
  rule "stuck" { family = "C", per = "rank", every = "10s", needs = { step = signal "step" { over = "60s" } }, shows = "stuck",
    evaluate = function(job) return job.step:age():above(40) end }
  rule "hot_in_job" { family = "B3", per = "gpu", every = "10s", needs = { heat = signal "heat" { over = "30s" } }, shows = "hot",
    evaluate = function(job) return job.heat:mean():above(80) end })lua";
constexpr const char* rules_of_cluster = R"lua(
  rule "several" { scope = "cluster", family = "B2", per = "gpu", every = { "xid", "30s" }, needs = { xid = signal "xid" { over = "2h" } },
    shows = "GPU {gpu} of {node}: {jobs:.0f} jobs, {job} the last",
    evaluate = function(cluster) local jobs = cluster.xid:distinct("job")
      return jobs:at_least(2), { jobs = jobs, job = cluster.xid:last("job") } end }
  rule "one_of_them" { scope = "cluster", per = "gpu", every = { "xid", "30s" }, needs = { xid = signal "xid" { over = "2h" } }, shows = "x",
    evaluate = function(cluster) return cluster.xid:where { job = "llama" }:count():above(0) end }
  rule "warm_rack" { scope = "cluster", per = "rack", every = "10s", needs = { load = signal "load" { over = "60s" } },
    shows = "rack {typical}: {n:.0f}", evaluate = function(cluster)
      local busy = cluster.load:mean():above(10)
      return busy:at_least(2, "rack"), { n = busy:count("rack"), typical = cluster.load:mean():median("cluster") } end }
  rule "seen" { scope = "cluster", per = "node", every = "1m", needs = { load = signal "load" { over = "2m" } }, state = { most = 0 }, shows = "s",
    evaluate = function(cluster, p, state) local now, high = cluster.load:last(), state.most:above(100)
      state.most = greatest(now, state.most) return high end })lua";

const stream::LoadedPack& pack() {
  static const stream::LoadedPack both = SmallJob::load(signals, std::string{rules_of_jobs} + rules_of_cluster);
  return both;
}

EntryBuilder::Member gpu(const char* node, const char* name) { return {Level::gpu, 0, node, name}; }
EntryBuilder::Member node(const char* name) { return {Level::node, 0, name, {}}; }

void xid(SmallJob& log, double s, const EntryBuilder::Member& member, const char* job, double code = 79) {
  EntryBuilder b;
  b.about(stream::cluster_subject, job);
  const EntryBuilder::Field fields[] = {{"code", code, {}, false}};
  b.event(SmallJob::at(s), member, "xid", fields, "kernel_log");
  log.consume(b.entry(), s);
}

void value(SmallJob& log, double s, const char* subject, const EntryBuilder::Member& member, const char* signal,
           double number) {
  EntryBuilder b;
  b.about(subject);
  const EntryBuilder::Value values[] = {{signal, number, {}, false}};
  b.sample(SmallJob::at(s), member, values);
  log.consume(b.entry(), s);
}

void member(SmallJob& log, double s, const EntryBuilder::Member& of, std::vector<EntryBuilder::Field> fields) {
  EntryBuilder b;
  b.about(stream::cluster_subject);
  b.event(SmallJob::at(s), of, "member", fields);
  log.consume(b.entry(), s);
}

std::vector<std::string> fired(const SmallJob& log, const std::string& rule) {
  std::vector<std::string> shows;
  for (const auto& t : log.collector.transitions)
    if (t.rule == rule && t.state == AlertState::firing) shows.push_back(t.shows);
  return shows;
}

}  // namespace

TEST_CASE("a GPU's errors in two jobs fire in the cluster, those in one job do not") {
  SmallJob log{pack()};
  xid(log, 1, gpu("n1", "0"), "llama");
  xid(log, 5, gpu("n1", "1"), "llama");
  log.beats(6, 1000);
  xid(log, 1001, gpu("n1", "0"), "llama");  // once more, or requeued
  log.beats(1002, 2000);
  CHECK(fired(log, "several").empty());
  xid(log, 2001, gpu("n1", "0"), "mixtral");
  log.beats(2002, 2010);
  REQUIRE(fired(log, "several") == std::vector<std::string>{"GPU 0 of n1: 2 jobs, mixtral the last"});
  const auto& alert = log.collector.transitions.back();
  CHECK(alert.subject == "cluster");
  CHECK(alert.member.gpu == "0");
  CHECK(log.last("one_of_them", 0) == Truth::yes);
  CHECK(log.last("one_of_them", 1) == Truth::yes);
}

TEST_CASE(
    "an error on a node whose job is not known counts for no job, and the last that was known is not remembered") {
  SmallJob log{pack()};
  xid(log, 1, gpu("n1", "0"), "llama");
  xid(log, 5, gpu("n1", "0"), "");
  xid(log, 9, gpu("n2", "0"), "mixtral");
  log.beats(10, 60);
  CHECK(fired(log, "several").empty());
  CHECK(log.last("several", 0) == Truth::no);
}

TEST_CASE("rules of the cluster judge the cluster alone, and those of jobs never see it") {
  SmallJob log{pack()};
  for (int s = 1; s < 200; ++s) {
    value(log, s, "cluster", gpu("n1", "0"), "heat", 95);
    value(log, s, "job", gpu("n1", "0"), "heat", 20);
    log.beats(s, s);
  }
  CHECK(log.answers["hot_in_job"].size() > 10);
  CHECK(fired(log, "hot_in_job").empty());
  CHECK(log.shard.counters().unwanted >= 190);  // no rule of the cluster needs heat
  value(log, 200, "job", gpu("n1", "0"), "load", 500);
  log.beats(201, 1000);
  CHECK(!log.ever("seen", 0, Truth::yes));
}

TEST_CASE("a pack with rules of the cluster, and a cluster beside it, give a job the same as without") {
  const auto alone = SmallJob::load(signals, rules_of_jobs);
  SmallJob without{alone}, with{pack()};
  for (int s = 1; s < 400; ++s) {
    for (SmallJob* log : {&without, &with}) {
      if (s % 90 < 40) value(*log, s, "job", EntryBuilder::rank(0), "step", s);
      value(*log, s, "job", gpu("n1", "0"), "heat", s % 200);
      if (log == &with)
        xid(*log, s, gpu("n1", "0"), s % 2 ? "a" : "b"), value(*log, s, "cluster", node("n1"), "load", s);
      log->beats(s, s);
    }
  }
  for (SmallJob* log : {&without, &with}) {
    EntryBuilder b;
    b.seal();
    log->consume(b.entry(), 400);
  }
  CHECK(with.shard.digests().at("job") == without.shard.digests().at("job"));
  CHECK(with.shard.row_digests().at("job") == without.shard.row_digests().at("job"));
  CHECK(!fired(with, "several").empty());
  REQUIRE(with.collector.verdicts.size() == 1);  // of the job; the cluster has none
  CHECK(with.collector.verdicts[0].subject == "job");
  REQUIRE(without.collector.verdicts.size() == 1);
  CHECK(with.collector.verdicts[0].cannot_decide == without.collector.verdicts[0].cannot_decide);
  CHECK(with.collector.verdicts[0].families.size() == without.collector.verdicts[0].families.size());
}

TEST_CASE("the cluster has one attempt: starts, ends and days without a record do not end it, the seal does") {
  SmallJob log{pack()};
  xid(log, 1, gpu("n1", "0"), "a");
  EntryBuilder b;
  b.about(stream::cluster_subject, "a");
  for (const char* name : {"start", "end", "start"}) b.event(SmallJob::at(2), EntryBuilder::job(), name, {});
  log.consume(b.entry(), 2);
  xid(log, 3, gpu("n1", "0"), "b");
  log.beats(4, 100);
  REQUIRE(fired(log, "several").size() == 1);
  CHECK(log.collector.transitions.size() == 1);
  for (double s = 100; s < 2 * day; s += 4) log.beats(s, s);
  CHECK(log.collector.transitions.back().state == AlertState::resolved);  // out of the window; nobody covered it
  CHECK(log.collector.transitions.back().reason == ResolveReason::no_data);
  xid(log, 2 * day, gpu("n1", "0"), "a");
  xid(log, 2 * day + 1, gpu("n1", "0"), "b");
  log.beats(2 * day + 2, 2 * day + 10);
  CHECK(fired(log, "several").size() == 2);
  CHECK(log.collector.transitions.back().attempt == "1");
  EntryBuilder seal;
  seal.seal();
  log.consume(seal.entry(), 2 * day + 11);
  CHECK(log.collector.transitions.back().reason == ResolveReason::attempt_ended);
  CHECK(log.collector.verdicts.empty());
}

TEST_CASE("a rack is known by the events of its nodes and GPUs, and its nodes are counted") {
  SmallJob log{pack()};
  member(log, 1, gpu("n1", "0"), {{"rack", 0, "r1", true}});
  member(log, 1, node("n2"), {{"rack", 0, "r1", true}});
  member(log, 1, node("n3"), {{"rack", 0, "r2", true}});
  for (int s = 2; s < 100; ++s) {
    for (const char* name : {"n1", "n3"}) value(log, s, "cluster", node(name), "load", 50);
    log.beats(s, s);
  }
  CHECK(fired(log, "warm_rack").empty());
  for (int s = 100; s < 200; ++s) {
    for (const char* name : {"n1", "n2", "n3"}) value(log, s, "cluster", node(name), "load", 50);
    log.beats(s, s);
  }
  REQUIRE(fired(log, "warm_rack").size() == 1);
  CHECK(log.collector.transitions.back().member.rack == "r1");
}

TEST_CASE("a record of a rank in the cluster is one of its GPU and node, and makes no rank") {
  SmallJob log{pack()};
  EntryBuilder::Member of{Level::rank, 3, "n1", "0"};
  for (const char* job : {"a", "b"}) xid(log, job[0] - 'a' + 1, of, job);
  log.beats(3, 60);
  CHECK(fired(log, "several").size() == 1);
}

TEST_CASE("a node that is not seen for a week leaves: its alerts resolve, and one of its name begins anew") {
  SmallJob log{pack()};
  value(log, 1, "cluster", node("n1"), "load", 500);
  value(log, 1, "cluster", node("n2"), "load", 1);
  log.beats(2, 1300);
  REQUIRE(fired(log, "seen").size() == 1);
  double s = 1300;
  const auto go = [&](double to) {
    for (; s < to; s += 4) {
      if (static_cast<int>(s) % 1200 < 4) value(log, s, "cluster", node("n2"), "load", 1);
      log.beats(s, s);
    }
  };
  go(7 * day - hour);
  CHECK(log.last("seen", 0) == Truth::yes);  // its state is remembered
  go(7 * day + 2 * hour);
  REQUIRE(log.collector.transitions.size() >= 2);
  const auto& gone = log.collector.transitions.back();
  CHECK(gone.rule == "seen");
  CHECK(gone.state == AlertState::resolved);
  CHECK(gone.member.node == "n1");
  value(log, s, "cluster", node("n1"), "load", 1);
  go(s + hour);
  CHECK(log.answers["seen"].back().size() == 3);
  CHECK(log.last("seen", 2) == Truth::no);
  CHECK(log.last("seen", 1) == Truth::no);
}

TEST_CASE("time in which nobody read does not count as absence from the cluster") {
  SmallJob log{pack()};
  value(log, 1, "cluster", node("n1"), "load", 500);
  log.beats(2, 1300);
  log.beats(20 * day, 20 * day + 1300);  // a gap of weeks
  CHECK(log.answers["seen"].back().size() == 1);
  value(log, 20 * day + 1301, "cluster", node("n1"), "load", 1);
  log.beats(20 * day + 1302, 20 * day + 2600);
  CHECK(log.answers["seen"].back().size() == 1);
  CHECK(log.last("seen", 0) == Truth::yes);
}

TEST_CASE("a GPU that comes up in another node leaves the one it was in") {
  SmallJob log{pack()};
  member(log, 1, gpu("n1", "0000:1b:00.0"), {{"gpu_uuid", 0, "GPU-aaaa", true}});
  for (const char* job : {"a", "b"}) xid(log, 2 + (job[0] - 'a'), gpu("n1", "GPU-aaaa"), job);
  log.beats(4, 100);
  REQUIRE(fired(log, "several").size() == 1);
  member(log, 101, gpu("n2", "0000:3b:00.0"), {{"gpu_uuid", 0, "GPU-aaaa", true}});
  xid(log, 102, gpu("n2", "GPU-aaaa"), "c");
  log.beats(103, 2 * hour - 60);
  CHECK(log.collector.transitions.back().state == AlertState::resolved);
  CHECK(log.collector.transitions.back().member.node == "n1");
  CHECK(log.last("several", 1) == Truth::no);
}

TEST_CASE("after a restart the cluster goes on as if there had been none") {
  SmallJob log{pack()};
  const auto feed = [](SmallJob& to, int from, int until) {
    for (int s = from; s < until; ++s) {
      if (s % 50 == 0) xid(to, s, gpu(s % 100 ? "n1" : "n2", "0"), s % 300 ? "a" : "b");
      value(to, s, "cluster", node("n1"), "load", s % 120);
      value(to, s, "job", EntryBuilder::rank(0), "step", s);
      to.beats(s, s);
    }
  };
  member(log, 1, node("n1"), {{"rack", 0, "r1", true}});
  feed(log, 2, 500);
  const auto sections = log.shard.take_sections(true);
  REQUIRE(sections.contains("cluster"));
  const auto handed_over = log.end();
  feed(log, 500, 900);
  SmallJob other{pack()};
  other.restore(log, sections, handed_over);
  CHECK(other.shard.digests() == log.shard.digests());
  CHECK(other.shard.row_digests() == log.shard.row_digests());
  CHECK(!fired(log, "several").empty());
}

TEST_CASE("a reload with other rules of the cluster keeps its members and its events") {
  SmallJob log{pack()};
  xid(log, 1, gpu("n1", "0"), "a");
  log.beats(2, 60);
  const auto changed = SmallJob::load(signals, std::string{rules_of_jobs} + rules_of_cluster + R"lua(
    rule "more" { scope = "cluster", per = "gpu", every = "30s", needs = { xid = signal "xid" { over = "2h" } }, shows = "m",
      evaluate = function(cluster) return cluster.xid:count():above(0) end })lua");
  PacksByHash packs;
  const std::string first = packs.add(pack()), second = packs.add(changed);
  SmallJob reloaded{pack(), &packs};
  xid(reloaded, 1, gpu("n1", "0"), "a");
  reloaded.beats(2, 60);
  reloaded.reload(second, 62, 61);
  reloaded.beats(62, 70);
  xid(reloaded, 71, gpu("n1", "0"), "b");
  reloaded.beats(72, 120);
  CHECK(fired(reloaded, "several").size() == 1);
  CHECK(fired(reloaded, "more").size() == 1);
}

TEST_CASE("GPUs whose UUIDs are all zeros stay apart") {
  constexpr const char* nobody = "GPU-00000000-0000-0000-0000-000000000000";
  SmallJob log{pack()};
  member(log, 1, gpu("n1", "0000:1b:00.0"), {{"gpu_uuid", 0, nobody, true}});
  for (const char* job : {"a", "b"}) xid(log, 2 + (job[0] - 'a'), gpu("n1", "0000:1b:00.0"), job);
  member(log, 5, gpu("n1", "0000:3b:00.0"), {{"gpu_uuid", 0, nobody, true}});
  member(log, 6, gpu("n2", "0000:1b:00.0"), {{"gpu_uuid", 0, nobody, true}});
  for (const char* job : {"c", "d"}) xid(log, 7 + (job[0] - 'c'), gpu("n2", "0000:1b:00.0"), job);
  log.beats(10, 2 * hour - 60);
  CHECK(fired(log, "several").size() == 2);
  CHECK(log.collector.transitions.back().state == AlertState::firing);
}

TEST_CASE("a record that was read late from another log leaves its member as it was seen last") {
  stream::Topology topology;
  stream::ClusterMembers members{SmallJob::at(0)};
  const stream::Slot n0 = topology.node("n0");
  members.see(Level::node, {&n0, 1}, SmallJob::at(6 * day));
  members.see(Level::node, {&n0, 1}, SmallJob::at(hour));
  std::vector<double> left;
  while (members.next_look() <= SmallJob::at(14 * day)) {
    const double now = stream::seconds(members.next_look() - SmallJob::at(0));
    members.look(topology, [&](Level, stream::Slot) { left.push_back(now); });
  }
  REQUIRE(left.size() == 1);
  CHECK(left.front() >= 13 * day);
}

TEST_CASE("an event has the job that its node's last record named, unless it names one itself") {
  stream::ClusterMembers members{SmallJob::at(0)};
  stream::Symbols symbols;
  const auto place = [&](std::string_view job) {
    stream::EventRecord event;
    event.member.node = "n0";
    stream::Entry entry;
    entry.attempt = job, entry.events = {&event, 1};
    members.place(entry);
  };
  const auto jobs = [&](std::vector<stream::EventField> fields) {
    members.name_job("n0", symbols, fields);
    std::vector<std::string> all;
    for (const auto& field : fields) all.push_back(symbols.text(field.value).value_or(""));
    return all;
  };
  using Jobs = std::vector<std::string>;
  CHECK(jobs({}).empty());
  place("llama");
  CHECK(jobs({}) == Jobs{"llama"});
  CHECK(jobs({{stream::job_field, symbols.intern("mixtral")}}) == Jobs{"mixtral"});
  place("");
  CHECK(jobs({}).empty());
}

TEST_CASE("a node of which nothing comes itself stays while a GPU of it is seen") {
  stream::Topology topology;
  stream::ClusterMembers members{SmallJob::at(0)};
  const stream::Slot g0 = topology.gpu("n0", "0"), n0 = topology.node("n0"), n1 = topology.node("n1");
  std::map<stream::Slot, int> left;  // on which day
  while (members.next_look() <= SmallJob::at(16 * day)) {
    const double now = stream::seconds(members.next_look() - SmallJob::at(0));
    if (now < 8 * day) members.see(Level::gpu, {&g0, 1}, members.next_look());
    members.look(topology, [&](Level level, stream::Slot slot) {
      if (level == Level::node) left[slot] = static_cast<int>(now / day);
    });
  }
  CHECK(left == std::map<stream::Slot, int>{{n0, 14}, {n1, 7}});
}

TEST_CASE("a member that was seen in a hole of beats leaves a week after the hole, and no later") {
  stream::Topology topology;
  stream::ClusterMembers members{SmallJob::at(0)};
  const stream::Slot n0 = topology.node("n0"), n1 = topology.node("n1"), n2 = topology.node("n2");
  members.see(Level::node, {&n0, 1}, SmallJob::at(1 * day));
  members.see(Level::node, {&n1, 1}, SmallJob::at(5 * day));
  members.see(Level::node, {&n2, 1}, SmallJob::at(6 * day));
  members.gap(SmallJob::at(2 * day), SmallJob::at(6 * day));  // one day before it counts
  std::map<stream::Slot, int> left;                           // on which day
  while (members.next_look() <= SmallJob::at(16 * day)) {
    const double now = stream::seconds(members.next_look() - SmallJob::at(0));
    members.look(topology, [&](Level, stream::Slot slot) { left[slot] = static_cast<int>(now / day); });
  }
  CHECK(left == std::map<stream::Slot, int>{{n0, 12}, {n1, 13}, {n2, 13}});
}
