// What is known of a window or an attempt that outgrew its limits.
#include <doctest/doctest.h>

#include <functional>
#include <initializer_list>
#include <memory>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

namespace {

const stream::LoadedPack& limits_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      boom = { kind = "event", unit = "none", owner = "rank", source = "log", fields = { code = "none", why = "text" } },
      quiet = { kind = "event", unit = "none", owner = "rank", source = "log" },
      phase = { kind = "state", unit = "text", owner = "rank" } })lua",
                                                        R"lua(
      rule "many" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:count():above(69999) & job.x:count():below(70001) end }
      rule "again" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:repeats("why"):above(1) end }
      rule "last" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "5m" } },
        evaluate = function(job) return job.x:last("code"):above(0) end }
      rule "ready" { per = "rank", every = "10s", needs = { x = signal "phase" { over = "1m" } },
        evaluate = function(job) return job.x:last():is("ready") end }
      rule "other" { per = "rank", every = "10s", needs = { x = signal "phase" { over = "1m" } },
        evaluate = function(job) return job.x:last():is("(other)") end })lua");
  return pack;
}

constexpr double day = 86'400;
constexpr std::size_t two_jobs = 150u << 10;  // of state: a third one is refused

// An event of rank 0, or what begins and ends a job.
void record(SmallJob& log, const std::string& job, double s, const char* event = "boom") {
  EntryBuilder b;
  b.about(job);
  b.event(SmallJob::at(s), event == std::string{"boom"} ? EntryBuilder::rank(0) : EntryBuilder::job(), event, {});
  log.consume(b.entry(), s);
}

// So many events of a rank, evenly between two times, with fields as given.
void feed_events(SmallJob& job, std::uint32_t rank, int many, double from, double to,
                 const std::function<std::vector<EntryBuilder::Field>(int)>& fields) {
  for (int i = 0; i < many;) {
    EntryBuilder b;
    double s = from;
    for (int batch = 0; batch < 500 && i < many; ++batch, ++i) {
      s = from + (to - from) * i / many;
      b.event(SmallJob::at(s), EntryBuilder::rank(rank), "boom", fields(i));
    }
    job.consume(b, s);
    job.beats(s, s);
  }
}

}  // namespace

TEST_CASE("a count of a window that outgrew its room stays exact, and the limit is counted") {
  SmallJob job{limits_pack()};
  feed_events(job, 1, 3, 1, 4, [](int) { return std::vector<EntryBuilder::Field>{{"code", 5, {}, false}}; });
  feed_events(job, 0, 70'000, 5, 250, [](int) { return std::vector<EntryBuilder::Field>{{"code", 0, {}, false}}; });
  job.beats(251, 262);
  CHECK(job.last("many", 1) == Truth::yes);
  CHECK(job.last("last", 2) == Truth::yes);  // of a rank whose events were let go for those of another
  CHECK(job.shard.counters().event_limit > 4000);
  const auto sections = job.shard.take_sections(true);
  const auto handed_over = job.end();
  job.beats(263, 300);
  CHECK(job.last("many", 1) == Truth::yes);
  CHECK(job.last("last", 2) == Truth::yes);
  job.beats(301, 330);  // the first have left
  CHECK(job.last("many", 1) == Truth::no);
  CHECK(job.last("last", 2) != Truth::yes);
  job.beats(331, 570);

  SmallJob restored{limits_pack()};
  restored.restore(job, sections, handed_over);
  CHECK(restored.digest() == job.digest());
}

TEST_CASE("a text beyond the limit is unknown, not another text, and is counted") {
  SmallJob job{limits_pack()};
  const auto say = [&](double s, std::string_view phase) {
    EntryBuilder b;
    const EntryBuilder::Value value[] = {{"phase", 0, phase, true}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
    job.consume(b, s);
    job.beats(s, s);
  };
  say(1, "ready");
  std::vector<std::string> texts;
  for (int i = 0; i < 66'000; ++i) texts.push_back("text " + std::to_string(i));
  const auto why = [&](int i) {
    return std::vector<EntryBuilder::Field>{{"why", 0, texts[static_cast<std::size_t>(i)], true}};
  };
  feed_events(job, 0, 66'000, 2, 30, why);
  CHECK(job.shard.counters().text_limit == 66'001 - 65'536);
  job.beats(31, 41);
  CHECK(job.last("again", 1) == Truth::no);
  CHECK(job.last("ready", 1) == Truth::yes);
  say(42, "a new phase");
  job.beats(43, 53);
  CHECK(job.last("ready", 1) == Truth::unknown);
  CHECK(job.last("other", 1) == Truth::unknown);
  say(54, "ready");
  job.beats(55, 65);
  CHECK(job.last("ready", 1) == Truth::yes);
}

TEST_CASE("a rank beyond the limit is counted, and the others of its block are read as if it were not there") {
  const auto pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "celsius", owner = "rank", source = "gpus" } })lua",
                                   R"lua(
      rule "hot" { per = "rank", every = "10s", needs = { x = signal "heat" { over = "1m" } },
        evaluate = function(job) return job.x:last():above(90) end })lua");
  const auto read = [&](std::initializer_list<std::uint32_t> ranks) {
    auto job = std::make_unique<SmallJob>(pack);
    for (double s = 1; s < 30; ++s) {
      EntryBuilder b;
      for (const std::uint32_t rank : ranks) {
        const EntryBuilder::Value value[] = {{"heat", rank == 2 ? 95.0 : 60.0, {}, false}};
        b.sample(SmallJob::at(s), EntryBuilder::rank(rank), value);
      }
      job->consume(b, s);
      job->beats(s, s);
    }
    return job;
  };
  const auto with = read({0, 1, stream::Topology::most_ranks, 2}), without = read({0, 1, 2});
  CHECK(with->counted().member_limit == 29);
  CHECK(without->shard.counters().member_limit == 0);
  CHECK(with->last("hot", 1) == Truth::no);
  CHECK(with->last("hot", 3) == Truth::yes);
  CHECK(with->digest() == without->digest());
}

TEST_CASE("a new job is refused while the others take all room for state, and jobs that are there go on") {
  SmallJob log{limits_pack(), nullptr, {.most_state = two_jobs}};
  record(log, "a", 0), record(log, "b", 1);
  CHECK(log.shard.state_bytes() >= two_jobs);
  for (int i = 0; i < 3; ++i) record(log, "c", 2 + i);
  record(log, "d", 5), record(log, "a", 6), record(log, "cluster", 7);
  CHECK(log.shard.subjects() == 3);
  CHECK(log.shard.counters().events == 4);
  CHECK(log.shard.counters().state_limit == 4);
  CHECK(log.shard.take_refused_jobs() == std::map<std::string, std::uint64_t>{{"c", 3}, {"d", 1}});
  CHECK(log.shard.take_refused_jobs().empty());
  record(log, "a", 8, "end");
  log.beats(9, 200);
  record(log, "e", 201);  // a is over
  CHECK(log.shard.digests().contains("e"));
  for (int i = 0; i < 1000; ++i) record(log, "job" + std::to_string(i), 202);
  const auto refused = log.shard.take_refused_jobs();
  CHECK(refused.size() == 101);
  CHECK(refused.at("") == 900);
}

TEST_CASE("whether there was room for a job is decided once, however often it is restarted") {
  for (const bool refused : {true, false}) {
    SmallJob log{limits_pack(), nullptr, {.most_state = two_jobs}};
    record(log, "a", 0, "start");
    record(log, "b", 1);
    if (!refused) record(log, "a", 2, "end"), log.beats(3, 200);
    else log.beats(3, 100);
    record(log, "b", 200);
    auto kept = log.shard.take_sections(true);
    const double s = 201;
    record(log, "c", s);
    CHECK(log.shard.counters().state_limit == refused);
    // From here on, a decision about c would be another.
    if (refused) record(log, "a", s + 1, "end"), log.beats(s + 2, s + day + 300);
    else record(log, "b", s + 1), record(log, "d", s + 1);
    for (auto& [name, content] : log.shard.take_own_section()) kept[name] = content;
    const stream::Position handed_over = log.end();
    log.beats(s + day + 301, s + day + 310);
    SmallJob again{limits_pack(), nullptr, {.most_state = two_jobs}};
    again.restore(log, kept, handed_over);
    CHECK(again.shard.digests() == log.shard.digests());
    CHECK(again.shard.state_bytes() == log.shard.state_bytes());
  }
}

TEST_CASE("a restart does not wait for the source of records that were refused before there was room for their job") {
  const auto heat_pack =
      SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua", R"lua(
      rule "hot" { per = "rank", every = "5s", needs = { heat = signal "heat" { over = "20s" } },
        evaluate = function(job) return job.heat:min():above(50) end })lua");
  PacksByHash packs;
  packs.add(heat_pack);
  SmallJob log{limits_pack(), &packs, {.most_state = two_jobs}};
  const auto heats = [&](const std::string& source, double from, double to) {
    for (double s = from; s < to; ++s) {
      EntryBuilder b;
      b.about("job");
      const EntryBuilder::Value values[] = {{"heat", 90, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      stream::Entry entry = b.entry();
      entry.origin_source = source, entry.origin_offset = static_cast<std::uint64_t>(s);
      entry.arrival = SmallJob::at(s);
      log.consume(entry, s);
    }
    EntryBuilder b;
    b.watermark(source, SmallJob::at(to));
    log.consume(b.entry(), to);
  };
  record(log, "a", 0), record(log, "b", 1), record(log, "a", 2, "end");
  log.beats(3, 100);
  heats("first/0", 101, 102);
  log.beats(103, 140);  // a is over
  heats("second/0", 141, 150);
  log.reload(heat_pack.pack->hash, 150, 150);
  heats("second/0", 151, 170);
  const auto sections = log.shard.take_sections(true);
  const auto handed_over = log.end();
  heats("second/0", 171, 180);
  CHECK(log.shard.counters().state_limit == 1);
  CHECK(log.last("hot", 1) == Truth::yes);
  SmallJob again{limits_pack(), &packs, {.most_state = two_jobs}};
  again.restore(log, sections, handed_over);
  CHECK(again.last("hot", 1) == Truth::yes);
  CHECK(again.shard.digests() == log.shard.digests());
}
