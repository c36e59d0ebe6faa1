// An attempt that several programs report, each for its own ranks: one `wrap` on each node of a job.
#include <doctest/doctest.h>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

const stream::LoadedPack& heat_pack() {
  static const stream::LoadedPack pack = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank", source = "sensor" },
      end_reason = { kind = "state", unit = "text", owner = "job" } })lua",
                                                        R"lua(
      rule "hot" { family = "B3", per = "rank", every = "5s", needs = { heat = signal "heat" { over = "20s" } },
        shows = "rank {rank} is hot",
        evaluate = function(job) return job.heat:last():above(50) end }
      rule "failed" { family = "A1", per = "job", every = "end", needs = { why = signal "end_reason" { over = "10m" } },
        shows = "failed", evaluate = function(job) return job.why:last():is("failed") end })lua");
  return pack;
}

// Writers of one job: writer 0 has rank 0, writer 1 has rank 1, and so on.
struct Writers {
  SmallJob log{heat_pack()};
  std::uint64_t offset = 0;
  int parts = 2;

  void write(EntryBuilder& b, int writer, int run, double s) {
    const std::string name = name_of(writer, run), source = "journal/" + name;
    b.about("job", name);
    stream::Entry entry = b.entry();
    entry.origin_source = source, entry.origin_offset = ++offset, entry.arrival = SmallJob::at(s);
    log.consume(entry, s);
  }
  static std::string name_of(int writer, int run) { return "w" + std::to_string(writer) + "-" + std::to_string(run); }
  void start(int writer, int run, double s, std::string_view step = "0") {
    EntryBuilder b;
    const std::string part = std::to_string(writer);
    const EntryBuilder::Field fields[] = {{"part", 0, part, true},
                                          {"parts", static_cast<double>(parts), {}, false},
                                          {"step", 0, step, true},
                                          {"world_size", static_cast<double>(parts), {}, false}};
    b.event(SmallJob::at(s), EntryBuilder::job(), "start", fields);
    write(b, writer, run, s);
  }
  void end(int writer, int run, double s, std::string_view reason) {
    EntryBuilder b;
    const EntryBuilder::Field fields[] = {{"reason", 0, reason, true}};
    b.event(SmallJob::at(s), EntryBuilder::job(), "end", fields);
    write(b, writer, run, s);
  }
  void heat(int writer, int run, double s, double value = 10) {
    EntryBuilder b;
    const EntryBuilder::Value values[] = {{"heat", value, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(static_cast<std::uint32_t>(writer)), values);
    write(b, writer, run, s);
  }
  void watermark(int writer, int run, stream::Time read, double clock) {
    EntryBuilder b;
    b.watermark("journal/" + name_of(writer, run), read);
    log.consume(b.entry(), clock);
  }
  void source_ends(int writer, int run, double s) { watermark(writer, run, stream::source_ended, s); }
  // Each ends for this reason; its log ends a second later.
  void finish(std::initializer_list<int> writers, int run, double s, std::string_view reason) {
    for (const int writer : writers) end(writer, run, s, reason);
    for (const int writer : writers) source_ends(writer, run, s + 1);
  }
  // They start, and go on.
  void train(std::initializer_list<int> writers, int run, double from, double to) {
    for (const int writer : writers) start(writer, run, from);
    go_on(from + 1, to, writers, run);
  }
  // These writers go on, a value and a watermark a second.
  void go_on(double from, double to, std::initializer_list<int> writers, int run = 1) {
    for (double s = from; s < to; ++s) {
      for (const int writer : writers) heat(writer, run, s);
      for (const int writer : writers) watermark(writer, run, SmallJob::at(s), s);
      log.beats(s, s);
    }
  }
  void wait(double from, double to) { log.beats(from, to); }
  [[nodiscard]] std::vector<std::string> verdicts() const {
    std::vector<std::string> all;
    for (const stream::Verdict& v : log.collector.verdicts)
      all.push_back(v.attempt + " " + v.end_reason + " " +
                    std::to_string(static_cast<int>(stream::seconds(v.ended - SmallJob::at(0)))));
    return all;
  }
};

using Verdicts = std::vector<std::string>;

}  // namespace

TEST_CASE("two writers of one step report one attempt, which ends when both have, however long the second goes on") {
  Writers w;
  w.start(0, 1, 0), w.start(1, 1, 2);
  w.go_on(3, 60, {0, 1});
  w.finish({0}, 1, 60, "completed");
  w.go_on(61, 300, {1});
  CHECK(w.verdicts().empty());
  w.finish({1}, 1, 300, "completed");
  w.wait(302, 500);
  CHECK(w.verdicts() == Verdicts{"w0-1 completed 300"});
  CHECK(w.log.shard.counters().strays == 0);
}

TEST_CASE("an attempt whose first writer failed and whose second was cancelled has failed") {
  Writers w;
  w.train({0, 1}, 1, 0, 60);
  w.end(0, 1, 60, "failed");
  w.go_on(60, 66, {1});
  w.end(1, 1, 66, "cancelled");
  w.source_ends(0, 1, 67), w.source_ends(1, 1, 67);
  w.wait(68, 300);
  CHECK(w.verdicts() == Verdicts{"w0-1 failed 66"});
}

TEST_CASE("an attempt ends two minutes after its last end if the other writer's node is gone") {
  Writers w;
  w.train({0, 1}, 1, 0, 60);
  w.go_on(60, 80, {0});  // node 1 has lost its power
  w.finish({0}, 1, 80, "failed");
  w.wait(82, 600);
  CHECK(w.verdicts() == Verdicts{"w0-1 failed 200"});
}

TEST_CASE("an attempt of which a writer never began has no reason to have ended, though the others completed") {
  Writers w;
  w.train({0}, 1, 0, 60);
  w.finish({0}, 1, 60, "completed");
  w.wait(62, 400);
  CHECK(w.verdicts() == Verdicts{"w0-1 unknown 180"});
}

TEST_CASE("an attempt ends two minutes after its last end if a writer never began, or was killed") {
  Writers w;
  w.parts = 3;
  w.train({0, 1}, 1, 0, 60);
  w.source_ends(1, 1, 60);  // sealed without an end
  w.go_on(60, 100, {0});
  CHECK(w.verdicts().empty());
  w.finish({0}, 1, 100, "failed");
  w.wait(102, 500);
  CHECK(w.verdicts() == Verdicts{"w0-1 failed 220"});
}

TEST_CASE("a writer that begins within half a minute of another's end joins its attempt") {
  Writers w;
  w.train({0}, 1, 0, 10);
  w.finish({0}, 1, 10, "completed");
  w.train({1}, 1, 35, 60);
  w.finish({1}, 1, 60, "completed");
  w.wait(62, 300);
  CHECK(w.verdicts() == Verdicts{"w0-1 completed 60"});
}

TEST_CASE("a writer that begins again begins the next attempt, and the others join it") {
  Writers w;
  w.train({0, 1}, 1, 0, 60);
  w.start(0, 2, 60);
  w.heat(1, 1, 60.5);  // the last of the attempt before
  w.start(1, 2, 61);
  w.go_on(62, 90, {0, 1}, 2);
  w.finish({0, 1}, 2, 90, "completed");
  w.source_ends(0, 1, 91), w.source_ends(1, 1, 91);
  w.wait(92, 400);
  REQUIRE(w.verdicts().size() == 2);
  CHECK(w.verdicts().back() == "w0-2 completed 90");
  w.heat(1, 2, 401), w.heat(0, 2, 402);
  CHECK(w.log.shard.counters().strays == 2);

  Writers early;  // before the other writer has begun at all
  early.start(0, 1, 0), early.start(0, 2, 2), early.start(1, 1, 3);
  early.finish({0}, 2, 10, "completed"), early.finish({1}, 1, 10, "completed");
  early.source_ends(0, 1, 11);
  early.wait(12, 400);
  REQUIRE(early.verdicts().size() == 2);
  CHECK(early.verdicts().back() == "w0-2 completed 10");
}

TEST_CASE(
    "a second run with the same name is another attempt: the first has all its writers, or ended half a minute ago") {
  Writers full;
  full.train({0, 1}, 1, 0, 20);
  full.train({2, 3}, 2, 20, 40);
  full.finish({2, 3}, 2, 40, "completed");
  full.source_ends(0, 1, 41), full.source_ends(1, 1, 41);
  full.wait(42, 300);
  REQUIRE(full.verdicts().size() == 2);
  CHECK(full.verdicts().back() == "w2-2 completed 40");

  Writers failed;
  failed.parts = 3;
  failed.start(0, 1, 0), failed.start(1, 1, 0);
  failed.finish({0, 1}, 1, 3, "failed");
  failed.wait(4, 60);
  failed.train({2, 0, 1}, 2, 61, 80);
  failed.finish({0, 1, 2}, 2, 80, "completed");
  failed.wait(82, 400);
  REQUIRE(failed.verdicts().size() == 2);
  CHECK(failed.verdicts().front().starts_with("w0-1 failed"));
  CHECK(failed.verdicts().back() == "w2-2 completed 80");
}

TEST_CASE("writers of another step are another attempt, also while the first lacks a writer") {
  Writers w;
  w.start(0, 1, 0, "0");
  w.start(1, 2, 1, "1"), w.start(0, 2, 2, "1");
  w.go_on(3, 60, {0, 1}, 2);
  w.finish({0, 1}, 2, 60, "completed");
  w.source_ends(0, 1, 61);
  w.wait(62, 300);
  REQUIRE(w.verdicts().size() == 2);
  CHECK(w.verdicts().back() == "w1-2 completed 60");
}

TEST_CASE("parts and their ends outlive a restart at any entry") {
  Writers w;
  w.parts = 3;
  w.start(0, 1, 0), w.start(1, 1, 2), w.start(2, 1, 2);
  w.go_on(3, 20, {0, 1, 2});
  w.heat(2, 1, 20, 90), w.go_on(20, 40, {0, 1, 2});
  w.finish({0}, 1, 40, "completed");
  w.go_on(41, 50, {1, 2});
  w.finish({1}, 1, 50, "cancelled");
  w.go_on(51, 60, {2});
  w.source_ends(2, 1, 60);
  w.wait(61, 400);
  REQUIRE(w.verdicts() == Verdicts{"w0-1 cancelled 170"});
  for (std::size_t cut = 5; cut < w.log.log.size(); cut += 7) {
    SmallJob before{heat_pack()};
    before.log = w.log.log;
    for (std::size_t number = 1; number <= cut; ++number) before.read(number);
    const auto sections = before.shard.take_sections(true);
    SmallJob after{heat_pack()};
    after.restore(w.log, sections, static_cast<stream::Position>(cut + 1));
    CAPTURE(cut);
    CHECK(after.shard.digests() == w.log.shard.digests());
    CHECK(after.shard.row_digests() == w.log.shard.row_digests());
    if (cut < 200) {
      REQUIRE(after.collector.verdicts.size() == 1);
      CHECK(after.collector.verdicts.front().ended == SmallJob::at(170));
    }
  }
}
