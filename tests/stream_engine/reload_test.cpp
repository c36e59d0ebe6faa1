// Which pack judges when: the packs of a log lie on a timeline, and each job goes along it by its own clock.
#include <doctest/doctest.h>

#include <functional>

#include "stream/job/pack_timeline.h"
#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

// A pack whose one rule has this name.
stream::LoadedPack named_pack(const std::string& name) {
  return SmallJob::load(
      R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
      "rule \"" + name + R"lua(" { per = "rank", every = "1s", needs = { heat = signal "heat" { over = "20s" } },
                            evaluate = function(job) return job.heat:last():above(50) end })lua");
}

// A pack whose one rule, `counted`, holds where so many lines with `text` were found in a minute.
stream::LoadedPack counts_lines(const std::string& text, const std::string& continues, int times) {
  return SmallJob::load(
      R"lua(signals { boom = { kind = "event", unit = "none", owner = "rank", source = "log" } })lua",
      R"lua(rule "counted" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "1m" } },
                              evaluate = function(job) return job.x:count():is()lua" +
          std::to_string(times) + ") end }",
      "pattern \"p\" { line = [[" + text + "]], " + continues + "event = \"boom\" }");
}

struct Reloads {
  PacksByHash packs;
  stream::LoadedPack a = named_pack("a"), b = named_pack("b"), c = named_pack("c");
  SmallJob log{a, &packs};
  std::vector<std::pair<char, double>> spans;  // which rule ran from which T

  Reloads() {
    packs.add(a), packs.add(b), packs.add(c);
    log.shard.observe([this](const stream::RuleEvaluation& e) {
      if (spans.empty() || spans.back().first != e.rule.name[0])
        spans.emplace_back(e.rule.name[0], stream::seconds(e.tick - SmallJob::at(0)));
    });
  }
  void heats(double from, double to) {
    for (double s = from; s < to; ++s) {
      EntryBuilder b_;
      b_.about("job");
      const EntryBuilder::Value value[] = {{"heat", 1, {}, false}};
      b_.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
      log.consume(b_.entry(), s);
      log.beats(s, s);
    }
  }
  void reload(const stream::LoadedPack& pack, double from, double s) { log.reload(pack.pack->hash, from, s); }
  [[nodiscard]] std::string story() const {
    std::string text;
    for (const auto& [rule, from] : spans)
      text += std::string{rule} + " " + std::to_string(static_cast<int>(from)) + " ";
    return text;
  }
};

}  // namespace

TEST_CASE("naming the pack that is in force cancels the one that waits") {
  Reloads r;
  r.heats(1, 20);
  r.reload(r.b, 25, 20);
  r.heats(21, 23);
  r.reload(r.a, 27, 23);
  r.heats(24, 60);
  CHECK(r.story() == "a 2 ");
}

TEST_CASE("a pack that comes back after another judges again") {
  Reloads r;
  r.heats(1, 20);
  r.reload(r.b, 25, 20);
  r.heats(21, 26);
  r.reload(r.a, 40, 26);
  r.heats(27, 60);
  CHECK(r.story() == "a 2 b 20 a 35 ");  // by T + L: the lateness is 5 s
}

TEST_CASE("a job that has ended holds no pack back, as long as its end is remembered") {
  Reloads r;
  r.heats(1, 20);
  EntryBuilder end;
  end.about("job");
  end.event(SmallJob::at(20), EntryBuilder::job(), "end", {});
  r.log.consume(end.entry(), 20);
  r.log.beats(21, 200);
  r.reload(r.b, 205, 200);
  r.log.beats(201, 240);
  r.reload(r.c, 245, 240);
  r.log.beats(241, 280);
  CHECK(r.log.shard.packs_to_come() == std::vector<std::string>{r.c.pack->hash});
}

TEST_CASE("packs that wait are taken in the order of their from, not of their records") {
  Reloads r;
  r.heats(1, 20);
  r.reload(r.c, 40, 20);
  r.reload(r.b, 30, 21);
  r.heats(22, 60);
  CHECK(r.story() == "a 2 b 25 c 35 ");
}

TEST_CASE("a pack whose from is past takes effect where it is read") {
  Reloads r;
  r.heats(1, 20);
  r.reload(r.b, 5, 20);
  r.heats(21, 60);
  CHECK(r.story() == "a 2 b 16 ");
}

TEST_CASE("what is due before from runs under the old pack, and all else under the new one") {
  Reloads r;
  r.heats(1, 20);
  r.reload(r.b, 25, 20);
  r.log.beats(21, 24);
  r.log.beats(300, 300);  // nothing was read in between
  CHECK(r.story() == "a 2 b 20 ");
}

TEST_CASE("a re-keyed job changes packs by its own clock") {
  Reloads r;
  const auto heat = [&](double s) {
    EntryBuilder b;
    b.about("job");
    const EntryBuilder::Value value[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
    stream::Entry entry = b.entry();
    entry.origin_source = "node/0", entry.origin_offset = static_cast<std::uint64_t>(s),
    entry.arrival = SmallJob::at(s);
    r.log.consume(entry, s);
  };
  for (double s = 1; s < 50; ++s) {
    if (s == 20) r.reload(r.b, 25, 20);
    heat(s);
  }
  r.log.relay_watermark(24, 50);
  CHECK(r.story() == "a 2 ");
  r.log.beats(51, 60);
  CHECK(r.story() == "a 2 ");  // the log is far beyond `from`, the job is not
  r.log.relay_watermark(49, 61);
  CHECK(r.story() == "a 2 b 20 ");
}

TEST_CASE("a line is read under the newest pack whose from had passed when it arrived, although its job is behind") {
  PacksByHash packs;
  const auto before = counts_lines("boom", "", 3), after = counts_lines("bang", "", 3);
  packs.add(before), packs.add(after);
  SmallJob log{before, &packs};
  const auto line = [&](double s, const char* text) { log.relay_line(s, s, text); };
  line(1, "begins");
  log.reload(after.pack->hash, 25, 20);
  line(24, "boom"), line(24, "bang");
  line(30, "bang"), line(30, "boom"), line(31, "bang");
  log.relay_watermark(60, 61);
  CHECK(log.last("counted", 1) == stream::Truth::yes);
}

TEST_CASE("what was begun to be read under a pack that is cancelled ends at its time") {
  PacksByHash packs;
  const auto before = counts_lines("boom", "continues = [[^ ]], lines = 3, ", 1),
             after = counts_lines("bang", "continues = [[^ ]], lines = 3, ", 1);
  packs.add(before), packs.add(after);
  SmallJob log{before, &packs};
  log.relay_line(1, 1, "begins");
  log.reload(after.pack->hash, 25, 20);
  log.relay_line(26, 21, "bang");  // its source is ahead of this log
  log.reload(before.pack->hash, 27, 22);
  log.relay_watermark(60, 61);
  CHECK(log.last("counted", 1) == stream::Truth::yes);
}

namespace {

// Two packs whose patterns and parsers are the same. Their rule `counted` holds where a traceback that ended in
// `main` was found within a minute, and one step at least, and none of an evaluation's bar.
struct Commented {
  static stream::LoadedPack load(const std::string& comment, const std::string& more = "") {
    return SmallJob::load(
        R"lua(signals { boom = { kind = "event", unit = "none", owner = "rank", source = "log", fields = { place = "text" } },
                        step = { kind = "step", unit = "count", owner = "rank" } })lua",
        "-- " + comment + R"lua(
        rule "counted" { per = "rank", every = "10s", needs = { x = signal "boom" { over = "1m" } },
          evaluate = function(job) return job.x:where { place = "main" }:count():is(1) end }
        rule "steps" { per = "rank", every = "10s", needs = { x = signal "step" { over = 4, least = 1 } },
          evaluate = function(job) return job.x:min():above(500) end })lua",
        "-- " + comment + R"lua(
        pattern "trace" { line = [[^Traceback]], continues = [[^ ]], lines = 9, event = "boom", texts = { place = { find = [[in (\w+)]] } } }
        parser "bar" { line = [[^(?P<step>INT)/(?P<total>INT)]], same = "total", samples = { step = "step" } }
        )lua" +
            more);
  }
  PacksByHash packs;
  stream::LoadedPack before = load("before"), after = load("after"),
                     other = load("other", "pattern \"other\" { line = [[^bang]], event = \"boom\" }");
  SmallJob log{before, &packs};
  Commented() {
    packs.add(before), packs.add(after), packs.add(other);
    REQUIRE(before.pack->hash != after.pack->hash);
  }
  void line(double s, const std::string& text) {
    EntryBuilder b;
    b.line(SmallJob::at(s), EntryBuilder::rank(0), text);
    log.consume(b, s);
  }
  // The second line of a traceback, and an evaluation's bar within a training's, come after `reload`.
  void run(const std::function<void()>& reload) {
    log.beats(1, 20);
    line(20.5, "699/1000");
    line(24.5, "Traceback");
    log.beats(20.6, 24.6);
    reload();
    line(25.5, "  in main");
    line(25.6, "11/50");
    log.beats(26, 50);
  }
};

}  // namespace

TEST_CASE("a reload that leaves patterns and parsers as they are ends no record, and forgets no progress bar") {
  Commented c;
  SUBCASE("of a comment") {
    c.run([&] { c.log.reload(c.after.pack->hash, 25, 24.6); });
  }
  SUBCASE("again and again") {
    c.run([&] {
      c.log.reload(c.after.pack->hash, 24.8, 24.6), c.log.reload(c.before.pack->hash, 25, 24.7);
      c.log.reload(c.after.pack->hash, 25.2, 25.1);
    });
  }
  SUBCASE("and a restore") {
    stream::Shard::Sections sections;
    stream::Position handed_over{};
    c.run([&] {
      c.log.reload(c.after.pack->hash, 25, 24.6);
      c.log.beats(25.1, 25.1);
      sections = c.log.shard.take_sections(true), handed_over = c.log.end();
    });
    SmallJob again{c.before, &c.packs};
    again.restore(c.log, sections, handed_over);
    CHECK(again.digest() == c.log.digest());
    CHECK(again.shard.row_digests() == c.log.shard.row_digests());
  }
  CHECK(c.log.last("counted", 1) == stream::Truth::yes);
  CHECK(c.log.last("steps", 1) == stream::Truth::yes);
}

TEST_CASE("a reload of patterns ends the records that had begun, also where the old patterns come back") {
  Commented c;
  c.run([&] { c.log.reload(c.other.pack->hash, 24.8, 24.6), c.log.reload(c.before.pack->hash, 25.2, 25.1); });
  CHECK(c.log.last("counted", 1) == stream::Truth::no);
  CHECK(c.log.last("steps", 1) == stream::Truth::no);
}

TEST_CASE("a job that is behind reads on over a reload that leaves patterns and parsers as they are") {
  Commented c;
  c.log.relay_line(1, 1, "begins");
  c.log.relay_line(24.5, 24.5, "Traceback");
  c.log.reload(c.after.pack->hash, 25, 24.6);
  c.log.relay_line(25.5, 25.5, "  in main");  // its job's clock has not come to the reload
  c.log.relay_watermark(60, 61);
  CHECK(c.log.last("counted", 1) == stream::Truth::yes);
}

TEST_CASE("where a job is behind, a reload of patterns ends the records that had begun") {
  Commented c;
  c.log.relay_line(24.5, 24.5, "Traceback");
  c.log.reload(c.other.pack->hash, 24.8, 24.6), c.log.reload(c.before.pack->hash, 25.2, 25.1);
  c.log.relay_line(25.5, 25.5, "  in main");
  c.log.relay_watermark(60, 61);
  CHECK(c.log.last("counted", 1) == stream::Truth::no);
}

TEST_CASE("a pack that cannot be had leaves the one before it in force, and is counted") {
  Reloads r;
  r.packs.remove(r.b.pack->hash);
  r.heats(1, 20);
  r.reload(r.b, 25, 20);
  r.heats(21, 40);
  CHECK(r.story() == "a 2 ");
  CHECK(r.log.shard.counters().packs_refused == 1);
  r.reload(r.c, 45, 40);
  r.heats(41, 60);
  CHECK(r.story() == "a 2 c 40 ");
}

TEST_CASE("rules at the end see the row that holds it, also where the rules were reloaded since") {
  const auto with = [](const std::string& comment) {
    return SmallJob::load(R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" },
                                          end_reason = { kind = "state", unit = "text", owner = "job" } })lua",
                          "-- " + comment + R"lua(
                            rule "failed" { per = "job", every = "end", needs = { ended = signal "end_reason" { over = "attempt" } },
                                evaluate = function(job) return job.ended:last():is("failed"):surely() end })lua");
  };
  const auto before = with("before"), after = with("after");
  for (const double from : {15., 25., 60., 140.}) {
    CAPTURE(from);
    PacksByHash packs;
    packs.add(before), packs.add(after);
    SmallJob log{before, &packs};
    for (int s = 1; s <= 20; ++s) {
      EntryBuilder heat;
      const EntryBuilder::Value value[] = {{"heat", 1, {}, false}};
      heat.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
      log.consume(heat, s);
      log.beats(s, s);
    }
    EntryBuilder end;
    const EntryBuilder::Field fields[] = {{"reason", 0, "failed", true}};
    end.event(SmallJob::at(20.3), EntryBuilder::job(), "end", fields);
    log.consume(end, 20.3);
    log.reload(after.pack->hash, from, 21);
    log.beats(22, 160);
    CHECK(log.last("failed", 0) == stream::Truth::yes);
  }
}

TEST_CASE("a timeline forgets what no job goes by any more, and keeps the rest through a section") {
  stream::PackTimeline timeline{"a"};
  CHECK(timeline.read("b", SmallJob::at(10), stream::Position{1}, SmallJob::at(1)));
  CHECK(timeline.read("c", SmallJob::at(20), stream::Position{2}, SmallJob::at(2)));
  CHECK_FALSE(timeline.read("c", SmallJob::at(30), stream::Position{3}, SmallJob::at(25)));
  timeline.forget_before(timeline.in_force(SmallJob::at(12)).key);
  CHECK(timeline.all().size() == 2);
  CHECK(timeline.in_force(SmallJob::at(12)).hash == "b");
  stream::Writer out;
  timeline.save(out);
  stream::PackTimeline loaded;
  stream::Reader in{out.bytes()};
  loaded.load(in);
  CHECK(loaded.in_force(SmallJob::at(21)).hash == "c");
  CHECK(loaded.in_force(SmallJob::at(21)).key == timeline.in_force(SmallJob::at(21)).key);
}

TEST_CASE("a reload that changes how late a rule runs leaves out none of its ticks, and repeats none") {
  const auto pack = [&](const char* yields) {
    return SmallJob::load(
        R"lua(signals { heat = { kind = "gauge", unit = "none", owner = "rank" },
                                          slow = { kind = "gauge", unit = "none", owner = "rank", lateness = "20s" } })lua",
        "rule \"a\" { per = \"rank\", every = \"1s\", " + std::string{yields} +
            R"lua( needs = { x = signal "heat" { over = "10s" } },
                            evaluate = function(job) return job.x:max():above(50) end }
                          rule "b" { per = "rank", every = "1s", needs = { x = signal "slow" { over = "10s" } },
                            evaluate = function(job) return job.x:max():above(50) end })lua");
  };
  const auto early = pack(""), late = pack("yields_to = { \"b\" },");
  for (const bool later : {true, false}) {
    CAPTURE(later);
    PacksByHash packs;
    packs.add(early), packs.add(late);
    const auto& first = later ? early : late;
    SmallJob log{first, &packs};
    std::vector<double> ticks;
    const auto watch = [&](SmallJob& job) {
      job.shard.observe([&](const stream::RuleEvaluation& e) {
        if (e.rule.name == "a") ticks.push_back(stream::seconds(e.tick - SmallJob::at(0)));
      });
    };
    const auto heats = [&](double from, double to) {
      for (double s = from; s < to; ++s) {
        EntryBuilder b;
        const EntryBuilder::Value value[] = {{"heat", 60, {}, false}};
        b.sample(SmallJob::at(s), EntryBuilder::rank(0), value);
        log.consume(b, s);
        log.beats(s, s);
      }
    };
    watch(log);
    heats(1, 60);
    log.reload((later ? late : early).pack->hash, 60, 60);
    heats(61, 65);
    const auto sections = log.shard.take_sections(true);
    const auto handed_over = log.end();
    heats(65, 120);
    REQUIRE(ticks.size() > 90);
    for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i] == ticks[i - 1] + 1);
    SmallJob again{first, &packs};
    again.restore(log, sections, handed_over);
    CHECK(again.shard.digests() == log.shard.digests());
  }
}
