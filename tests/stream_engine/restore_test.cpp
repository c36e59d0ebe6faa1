// A shard that goes on from its sections: nothing differs from one that was never stopped.
#include <doctest/doctest.h>

#include <memory>

#include "stream/job/duplicates.h"
#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

const stream::LoadedPack& heat_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      load = { kind = "gauge", unit = "none", owner = "node" },
      end_reason = { kind = "state", unit = "none", owner = "job", values = "text", lateness = "5s" } })lua",
                                                        R"lua(
      rule "hot" { per = "rank", every = "5s", needs = { heat = signal "heat" { over = "60s" } },
        shows = "rank {rank} on {node} is hot",
        evaluate = function(job) return job.heat:max():above(50) end }
      rule "busy" { per = "node", every = "5s", needs = { load = signal "load" { over = "60s" } },
        evaluate = function(job) return job.load:max():above(50) end })lua");
  return pack;
}

void sample(SmallJob& log, double s, const char* signal, double value, std::string node = {}, double late = 0,
            std::uint64_t sequence = 0, const char* attempt = "") {
  EntryBuilder b;
  b.about("job", attempt);
  if (sequence != 0) b.produced_by("agent", 1, sequence);
  const EntryBuilder::Value values[] = {{signal, value, {}, false}};
  b.sample(SmallJob::at(s - late), {stream::Level::rank, 0, std::move(node), {}}, values);
  log.consume(b.entry(), s);
}

void moved_to(SmallJob& log, double s, const char* node) {
  EntryBuilder b;
  b.about("job");
  const EntryBuilder::Field fields[] = {{"node", 0, node, true}};
  b.event(SmallJob::at(s), EntryBuilder::rank(0), "member", fields);
  log.consume(b.entry(), s);
}

// The same to the end of its log, from what it kept at `sections`.
void check_restored(const SmallJob& whole, const stream::Shard::Sections& sections, stream::Position handed_over) {
  SmallJob again{heat_pack()};
  again.restore(whole, sections, handed_over);
  CHECK(again.shard.digests() == whole.shard.digests());
  CHECK(again.shard.row_digests() == whole.shard.row_digests());
  REQUIRE(again.collector.reported.size() <= whole.collector.reported.size());
  for (std::size_t i = 0; i < again.collector.reported.size(); ++i)
    CHECK(again.collector.reported[i] ==
          whole.collector.reported[whole.collector.reported.size() - again.collector.reported.size() + i]);
}

}  // namespace

TEST_CASE("after a restart a rank that had moved lies where it was moved to") {
  SmallJob log{heat_pack()};
  for (int i = 1; i < 20; ++i) sample(log, i, "heat", 10, "n0"), log.beats(i, i);
  moved_to(log, 20, "n1");
  for (int i = 21; i < 30; ++i) sample(log, i, "heat", 10), log.beats(i, i);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  for (int i = 31; i < 60; ++i) sample(log, i, "heat", 90), log.beats(i, i);
  REQUIRE(log.collector.transitions.size() == 1);
  CHECK(log.collector.transitions[0].member.node == "n1");
  check_restored(log, sections, handed_over);
}

TEST_CASE("the alerts that fire are known after a restart, with their whole finding") {
  const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" },
      fan = { kind = "gauge", unit = "none", owner = "rank" },
      mood = { kind = "state", unit = "text", owner = "job" } })lua",
                                                 R"lua(
      rule "hot" { per = "job", every = "5s", summary = "Hot",
        needs = { heat = signal "heat" { over = "60s" }, fan = signal "fan" { over = "60s" }, mood = signal "mood" { over = "60s" } },
        shows = "{who} is hot: {heat:.0f}",
        causes = { broken = "its cooling is broken", off = "its fan is off" }, actions = { broken = "look at {who}" },
        evaluate = function(job)
          local hot = job.heat:max():above(50)
          return hot:any("job"), { who = hot, heat = job.heat:max():max("job"), mood = job.mood:last(), broken = hot:any("job"),
                                   off = job.fan:last():below(1):any("job") }
        end })lua");
  SmallJob log{pack};
  moved_to(log, 0.5, "n0");
  EntryBuilder mood;
  mood.about("job");
  const EntryBuilder::Value values[] = {{"mood", 0, "grim", true}};
  mood.sample(SmallJob::at(0.6), EntryBuilder::rank(0), values);
  log.consume(mood.entry(), 0.6);
  for (double s = 1; s <= 40; ++s) sample(log, s, "heat", 90), log.beats(s, s);
  const auto sections = log.shard.take_sections(true);
  const stream::Position handed_over = log.end();
  REQUIRE(log.collector.transitions.size() == 1);
  const stream::AlertTransition& reported = log.collector.transitions[0];
  CHECK(reported.shows == "rank 0 on n0 is hot: 90");
  CHECK_FALSE(reported.implies.empty());
  CHECK_FALSE(reported.actions.empty());
  CHECK_FALSE(reported.cannot_decide.empty());
  CHECK_FALSE(reported.evidence.empty());
  CHECK(reported.evidence_texts == std::vector<std::pair<std::string, std::string>>{{"mood", "grim"}});
  CHECK_FALSE(reported.who.empty());

  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  CHECK(again.collector.reported.empty());
  const auto firing = again.shard.firing();
  REQUIRE(firing.size() == 1);
  CHECK(static_cast<const stream::Finding&>(firing[0]) == static_cast<const stream::Finding&>(reported));
  CHECK(firing[0].id == reported.id);
  CHECK(firing[0].number == 1);
  CHECK(firing[0].state == stream::AlertState::firing);
  CHECK(firing[0].since == reported.since);
  CHECK(firing[0].member == reported.member);

  for (double s = 41; s <= 120; ++s) sample(log, s, "heat", 10), log.beats(s, s);
  CHECK(log.shard.firing().empty());
}

TEST_CASE("values of a node that a rank reported before it moved stay with that node") {
  SmallJob log{heat_pack()};
  sample(log, 0.5, "load", 90);  // no node is known: it has no owner
  for (int i = 1; i < 20; ++i) sample(log, i, "load", i < 10 ? 90 : 10, "n0"), log.beats(i, i);
  moved_to(log, 20, "n1");
  for (int i = 21; i < 30; ++i) sample(log, i, "load", 10), log.beats(i, i);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  for (int i = 31; i < 100; ++i) sample(log, i, "load", 10), log.beats(i, i);
  check_restored(log, sections, handed_over);
}

TEST_CASE("a counter's rate after a restart reaches back to a predecessor of two minutes before") {
  const auto pack =
      SmallJob::load(R"lua(signals { moved = { kind = "counter", unit = "bytes", owner = "rank" } })lua", R"lua(
      rule "moving" { per = "rank", every = "5s", needs = { moved = signal "moved" { over = "60s" } },
        evaluate = function(job) return job.moved:max():above(10) end })lua");
  SmallJob log{pack};
  const auto live = [&](double from, double to) {
    for (double s = from; s < to; ++s) {
      if (static_cast<int>(s) % 110 == 14) sample(log, s + 0.5, "moved", s * 100);
      log.beats(s + 0.9, s + 0.9);
    }
  };
  live(14, 620);  // the last two at 454.5 and 564.5
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  live(620, 630);
  CHECK(log.ever("moving", 1, stream::Truth::yes));
  SmallJob again{pack};
  again.restore(log, sections, handed_over);
  CHECK(again.ever("moving", 1, stream::Truth::yes));
  CHECK(again.shard.digests() == log.shard.digests());
}

TEST_CASE("what was refused when it was first read is refused again by a restart") {
  SmallJob log{heat_pack()};
  std::uint64_t sequence = 2000;
  for (int i = 1; i < 20; ++i) sample(log, i, "heat", 10, {}, 0, ++sequence), log.beats(i, i);
  sample(log, 20, "heat", 90, {}, 0, 3);  // too far behind to tell
  sample(log, 20, "heat", 90, {}, 0, 4);
  for (int i = 21; i < 30; ++i) sample(log, i, "heat", 10, {}, 0, ++sequence), log.beats(i, i);
  CHECK(log.shard.counters().duplicates == 2);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  for (int i = 31; i < 60; ++i) sample(log, i, "heat", 10, {}, 0, ++sequence), log.beats(i, i);
  CHECK(log.collector.transitions.empty());
  check_restored(log, sections, handed_over);
}

TEST_CASE("an entry behind one that was refused is no part of what was refused") {
  stream::RefusedEntries refused;
  const auto entry = [](std::uint64_t position) {
    stream::Entry made;
    made.position = stream::Position{position}, made.next = stream::Position{position + 10};
    return made;
  };
  refused.accepted(), refused.refused(entry(20)), refused.refused(entry(30)), refused.accepted(),
      refused.refused(entry(60));
  for (const std::uint64_t position : {10, 40, 50, 70}) CHECK_FALSE(refused.holds(stream::Position{position}));
  for (const std::uint64_t position : {20, 30, 60}) CHECK(refused.holds(stream::Position{position}));
}

TEST_CASE("a restart after the end of an attempt has the reason that the end gave") {
  SmallJob log{heat_pack()};
  for (int i = 1; i < 20; ++i) sample(log, i, "heat", 90, "n0"), log.beats(i, i);
  EntryBuilder b;
  b.about("job");
  const EntryBuilder::Field fields[] = {{"reason", 0, "preempted", true}};
  b.event(SmallJob::at(20), EntryBuilder::job(), "end", fields);
  log.consume(b.entry(), 20);
  for (int later : {21, 27, 80}) {
    log.beats(later, later + 2);
    const auto sections = log.shard.take_sections(true);
    const auto handed_over = log.end();
    SmallJob again{heat_pack()};
    again.restore(log, sections, handed_over);
    for (SmallJob* one : {&log, &again})
      if (later == 80) one->beats(300, 310);
    CHECK(again.shard.digests() == log.shard.digests());
    CHECK(again.shard.row_digests() == log.shard.row_digests());
  }
  CHECK(log.collector.verdicts.at(0).end_reason == "preempted");
}

TEST_CASE("an unnamed record of an attempt that is over does not go to another one after a restart") {
  SmallJob log{heat_pack()};
  const auto start = [&](double s) {
    EntryBuilder b;
    b.about("job");
    b.event(SmallJob::at(s), EntryBuilder::job(), "start", {});
    log.consume(b.entry(), s);
  };
  start(0);
  for (int i = 1; i < 20; ++i) sample(log, i, "heat", 90), log.beats(i, i);
  start(20);
  for (int i = 21; i < 200; ++i) sample(log, i, "heat", 10), log.beats(i, i);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  for (int i = 200; i < 240; ++i) sample(log, i, "heat", 10), log.beats(i, i);
  check_restored(log, sections, handed_over);
}

TEST_CASE("a state under a pack that cannot be had says which, and never begins anew") {
  PacksByHash packs;
  const auto other =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "other" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "20s" } },
        evaluate = function(job) return job.heat:last():above(50) end })lua");
  const std::string hash = packs.add(other);
  SmallJob log{heat_pack(), &packs};
  sample(log, 1, "heat", 90);
  log.reload(hash, 2, 2);
  for (int i = 3; i < 40; ++i) sample(log, i, "heat", 90), log.beats(i, i);
  const auto sections = log.shard.take_sections(true);

  SmallJob without{heat_pack()};
  const auto refused = without.shard.load(sections, log.end());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find(hash) != std::string::npos);

  SmallJob with{heat_pack(), &packs};
  with.restore(log, sections, log.end());
  with.beats(41, 60), log.beats(41, 60);
  CHECK(with.shard.digests() == log.shard.digests());
  SmallJob under_another_first_pack{other, &packs};
  packs.add(heat_pack());
  CHECK(under_another_first_pack.shard.load(sections, log.end()));
}

TEST_CASE("a pack that was refused is not asked for by a restart") {
  PacksByHash packs;
  SmallJob log{heat_pack(), &packs};
  sample(log, 1, "heat", 90);
  log.reload("0123456789abcdef", 2, 2);
  for (int i = 3; i < 40; ++i) sample(log, i, "heat", 90), log.beats(i, i);
  CHECK(log.shard.counters().packs_refused == 1);
  const auto sections = log.shard.take_sections(true);
  SmallJob again{heat_pack(), &packs};
  again.restore(log, sections, log.end());
  again.beats(41, 60), log.beats(41, 60);
  CHECK(again.shard.digests() == log.shard.digests());
}

TEST_CASE("a job whose source is behind has its rows again after each of several restarts") {
  // Its watermarks are there before its first record, and are far behind the log's clock.
  const auto fill = [](SmallJob& log, int from, int to) {
    for (int s = from; s < to; ++s) {
      EntryBuilder mark;
      mark.beat();
      mark.watermark("node/0", SmallJob::at(s - 100));
      log.consume(mark.entry(), s);
      if (s < 110) continue;
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"heat", s % 30 < 2 ? 90. : 10., {}, false}};
      b.sample(SmallJob::at(s - 100), EntryBuilder::rank(0), values);
      stream::Entry entry = b.entry();
      entry.origin_source = "node/0", entry.origin_offset = static_cast<std::uint64_t>(s),
      entry.arrival = SmallJob::at(s - 100);
      log.consume(entry, s);
    }
  };
  SmallJob whole{heat_pack()};
  fill(whole, 100, 240);
  auto log = std::make_unique<SmallJob>(heat_pack());
  fill(*log, 100, 130);
  for (int s = 130; s < 240; s += 10) {
    const auto sections = log->shard.take_sections(true);
    auto again = std::make_unique<SmallJob>(heat_pack());
    again->restore(*log, sections, log->end());
    log = std::move(again);
    fill(*log, s, s + 10);
  }
  CHECK(log->shard.digests() == whole.shard.digests());
  CHECK(log->shard.row_digests() == whole.shard.row_digests());
}

TEST_CASE("a pack that a shard began with, and that its log never named, is not asked for by a restart") {
  const auto configured =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "configured" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "20s" } },
        evaluate = function(job) return job.heat:last():above(50) end })lua");
  PacksByHash packs;
  packs.add(heat_pack());
  SmallJob log{heat_pack(), &packs};
  for (int i = 1; i < 40; ++i) sample(log, i, "heat", 90), log.beats(i, i);
  SmallJob second{configured, &packs};
  second.restore(log, log.shard.take_sections(true), log.end());
  sample(second, 41, "heat", 90);
  const auto sections = second.shard.take_sections(true);
  CHECK(second.shard.packs_in_use() == std::vector<std::string>{heat_pack().pack->hash});
  SmallJob third{heat_pack(), &packs};
  CHECK(third.shard.load(sections, second.end()));
}

TEST_CASE("sections are taken in turn, and only of jobs that changed") {
  SmallJob log{heat_pack(), nullptr, {.save_every = std::chrono::seconds{80}}};
  const auto heats = [&](const char* job, double from, double to) {
    for (double s = from; s < to; ++s) {
      EntryBuilder b;
      b.about(job);
      const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      log.consume(b.entry(), s);
      log.beats(s, s);
    }
  };
  heats("a", 1, 3);
  CHECK(log.shard.sections_due());
  CHECK(log.shard.take_sections().empty());  // a is a second old
  heats("a", 3, 4);
  CHECK(log.shard.take_sections().contains("a"));
  CHECK_FALSE(log.shard.sections_due());
  heats("a", 4, 20);
  CHECK_FALSE(log.shard.take_sections().contains("a"));
  heats("a", 20, 130);
  CHECK(log.shard.take_sections().contains("a"));
  EntryBuilder b;
  b.about("a");
  b.event(SmallJob::at(131), EntryBuilder::job(), "end", {});
  log.consume(b.entry(), 131);
  log.beats(132, 400);
  auto kept = log.shard.take_sections(true);
  CHECK(kept.contains("a"));
  log.beats(401, 520);
  CHECK_FALSE(log.shard.take_sections().contains("a"));
  const auto later = log.shard.take_sections(true);
  CHECK(later.contains(""));
  CHECK_FALSE(later.contains("a"));  // it is over: nothing changes any more
  kept[""] = later.at("");
  check_restored(log, kept, log.end());
}

TEST_CASE("a section that is torn is refused with the name of its subject") {
  SmallJob log{heat_pack()};
  sample(log, 1, "heat", 1);
  auto sections = log.shard.take_sections(true);
  auto bytes = sections.at("job").bytes();
  bytes.resize(bytes.size() / 2);
  sections["job"] = bytes;
  SmallJob again{heat_pack()};
  const auto refused = again.shard.load(sections, log.end());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("subject job") != std::string::npos);
  sections.erase("");
  CHECK_FALSE(SmallJob{heat_pack()}.shard.load(sections, log.end()));
}

TEST_CASE("a job that has no clock yet is saved so that it can be loaded") {
  stream::Duplicates remembered, loaded;
  remembered.forget(stream::long_ago);
  stream::Writer out;
  remembered.save(out);
  stream::Reader in{out.bytes()};
  loaded.load(in);
  CHECK(in.status());
  CHECK(loaded.remembered_until() == stream::long_ago);
}
