// Windows over "earlier": the attempts of a job before the one that is judged.
#include <doctest/doctest.h>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::Truth;

namespace {

const char* signals = R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank", source = "sensor" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true },
      step = { kind = "step", unit = "count", owner = "rank" },
      phase = { kind = "state", unit = "text", owner = "rank" },
      load = { kind = "gauge", unit = "none", owner = "node" },
      fault = { kind = "event", unit = "none", owner = "rank", source = "log", fields = { code = "count", what = "text" } } })lua";

std::string rule(const std::string& name, const std::string& per, const std::string& signal, const std::string& answer,
                 const std::string& more = ", least = 1") {
  return "rule \"" + name + "\" { per = \"" + per + "\", every = \"5s\", needs = { x = signal \"" + signal +
         "\" { over = \"earlier\"" + more + " } }, evaluate = function(job) return job.x:" + answer + " end }\n";
}

struct Job {
  explicit Job(const std::string& rules, stream::PackSource* packs = nullptr)
      : log{SmallJob::load(signals, rules), packs} {}

  void event(double s, const std::string& name, std::vector<EntryBuilder::Field> fields = {},
             EntryBuilder::Member member = EntryBuilder::job()) {
    EntryBuilder b;
    b.event(SmallJob::at(s), std::move(member), name, fields, name == "fault" ? "log" : "");
    log.consume(b, s);
  }
  void sample(double s, std::uint32_t rank, std::vector<EntryBuilder::Value> values, std::string node = {}) {
    EntryBuilder b;
    b.sample(SmallJob::at(s), {stream::Level::rank, rank, std::move(node), {}}, values);
    log.consume(b, s);
  }
  // An attempt whose heat goes from one value to the other, a value a second, with beats.
  void attempt(double from, double to, double low, double high) {
    event(from, "start", {{"world_size", 2, {}, false}});
    for (double s = from + 1; s < to; ++s) {
      sample(s, 0, {{"heat", low + (high - low) * (s - from) / (to - from), {}, false}});
      sample(s, 1, {{"heat", 7, {}, false}});
      log.beats(s + 0.1, s + 0.1);
    }
  }
  void end(double s) { event(s, "end", {{"reason", 0, "failed", true}}); }

  SmallJob log;
};

}  // namespace

TEST_CASE("in the first attempt nothing is known of values before it, but that there were none") {
  Job job{rule("high", "rank", "heat", "max():above(5)") + rule("none", "rank", "heat", "count():is(0)") +
          rule("faults", "rank", "fault", "count():is(0)", "")};
  job.attempt(0, 60, 1, 10);
  CHECK_FALSE(job.log.ever("high", 1, Truth::yes));
  CHECK(job.log.last("high", 1) == Truth::unknown);
  CHECK(job.log.last("none", 1) == Truth::yes);
  CHECK(job.log.last("faults", 1) == Truth::yes);
}

TEST_CASE("nothing is known of the earlier attempts until all of them are over") {
  Job job{rule("most", "rank", "heat", "max():above(19)") + rule("some", "rank", "heat", "count():at_least(0)")};
  job.attempt(0, 60, 1, 21);
  job.end(60);
  job.attempt(61, 180, 1, 5);
  job.end(180);
  CHECK(job.log.last("some", 1) == Truth::unknown);
  job.attempt(181, 250, 1, 5);  // the first is over, and the second is not
  CHECK(job.log.last("most", 1) == Truth::unknown);
  CHECK(job.log.last("some", 1) == Truth::unknown);
  job.log.beats(251, 320);
  CHECK(job.log.last("most", 1) == Truth::yes);
  CHECK(job.log.last("some", 1) == Truth::yes);
}

TEST_CASE("an attempt that is over is among the earlier ones, and one that goes on is not") {
  Job job{rule("high", "rank", "heat", "max():above(19)")};
  job.attempt(0, 60, 1, 21);
  job.end(60);
  job.attempt(61, 150, 30, 40);
  CHECK(job.log.last("high", 1) == Truth::unknown);  // until two minutes after its end, the first can still get records
  job.log.beats(151, 200);
  CHECK(job.log.last("high", 1) == Truth::yes);
  CHECK(job.log.last("high", 2) == Truth::no);
}

TEST_CASE("three attempts are merged: number, extremes, first, last, mean and median") {
  Job job{rule("count", "rank", "heat", "count():is(118)") + rule("least", "rank", "heat", "min():below(1.2)") +
          rule("most", "rank", "heat", "max():above(39)") + rule("first", "rank", "heat", "first():below(1.2)") +
          rule("last", "rank", "heat", "last():above(39)") + rule("mean", "rank", "heat", "mean():above(20)") +
          rule("mid", "rank", "heat", "median():above(10)") + rule("spread", "rank", "heat", "stddev():above(14)") +
          rule("unlike", "rank", "heat", "stddev():above(16)") + rule("tail", "rank", "heat", "last(3):above(39)")};
  job.attempt(0, 60, 1, 10);
  job.end(60);
  job.attempt(200, 260, 30, 40);
  job.end(260);
  job.attempt(400, 420, 100, 100);
  for (const char* name : {"count", "least", "most", "first", "last", "mean", "mid", "spread", "tail"}) {
    INFO(name);
    CHECK(job.log.last(name, 1) == Truth::yes);
  }
  CHECK(job.log.last("unlike", 1) == Truth::no);
  CHECK(job.log.last("mean", 2) == Truth::no);
}

TEST_CASE("of losses the steps are those of the earlier attempts, and a scripted rule reads the same") {
  Job job{rule("low", "job", "loss", "min():below(2.1)") + rule("far", "rank", "step", "max():is(59)") +
          "rule \"asked\" { per = \"job\", every = \"5s\", needs = { x = signal \"loss\" { over = \"earlier\", least = "
          "1 } }, "
          "evaluate = function(job) local least = job.x:min() if least:number() then return least:below(2.1) end "
          "return least:below(0) end }"};
  const auto train = [&](double from, double to, double first) {
    job.event(from, "start", {{"world_size", 1, {}, false}});
    for (double s = from + 1; s < to; ++s) {
      job.sample(s, 0, {{"loss", first - (s - from) * 0.1, {}, false}, {"step", s - from, {}, false}});
      job.log.beats(s + 0.1, s + 0.1);
    }
  };
  train(0, 60, 8);
  CHECK_FALSE(job.log.ever("asked", 0, Truth::yes));
  train(200, 220, 8);
  job.log.beats(221, 400);
  CHECK(job.log.last("low", 0) == Truth::yes);
  CHECK(job.log.last("far", 1) == Truth::yes);
  CHECK(job.log.last("asked", 0) == Truth::yes);
}

TEST_CASE("texts of earlier attempts are compared as texts, whatever their numbers are") {
  Job job{rule("was", "rank", "phase", "last():is(\"eval\")") +
          "rule \"went\" { per = \"rank\", every = \"5s\", needs = { x = signal \"fault\" { over = \"earlier\" } }, "
          "evaluate = function(job) return job.x:last(\"what\"):is(\"fan\") end }" +
          rule("again", "rank", "fault", "where { what = \"fan\" }:count():at_least(2)", "")};
  const auto phases = [&](double from, std::vector<const char*> names) {
    job.event(from, "start", {{"world_size", 1, {}, false}});
    for (const char* name : names) job.sample(++from, 0, {{"phase", 0, name, true}});
    for (const char* what : {"power", "fan"})
      job.event(++from, "fault", {{"what", 0, what, true}}, EntryBuilder::rank(0));
    job.log.beats(from + 1, from + 40);
  };
  phases(0, {"train", "save", "eval"});
  job.end(60);
  job.log.beats(61, 199);
  phases(200, {"eval", "idle"});
  CHECK(job.log.last("was", 1) == Truth::yes);
  CHECK(job.log.last("went", 1) == Truth::yes);
  CHECK(job.log.last("again", 1) == Truth::no);
  job.end(260);
  job.log.beats(261, 399);
  phases(400, {"x"});
  CHECK(job.log.last("was", 1) == Truth::no);
  CHECK(job.log.last("again", 1) == Truth::yes);
}

TEST_CASE("that no event came is known where its source was live throughout every earlier attempt") {
  for (const bool covered : {true, false}) {
    Job job{rule("none", "rank", "fault", "count():is(0)", "")};
    const auto attempt = [&](double from, bool live) {
      job.event(from, "start", {{"world_size", 1, {}, false}});
      for (double s = from; s < from + 60; ++s) {
        job.sample(s, 0, {{"heat", 1, {}, false}});
        EntryBuilder b;
        b.coverage("log", {});
        if (live && static_cast<int>(s) % 10 == 0) job.log.consume(b, s);
        job.log.beats(s + 0.1, s + 0.1);
      }
    };
    attempt(0, true);
    attempt(300, covered);
    attempt(600, true);
    job.log.beats(661, 700);
    CHECK(job.log.last("none", 1) == (covered ? Truth::yes : Truth::unknown));
  }
}

TEST_CASE("a node of an earlier attempt is known by its name, whatever its place in the columns") {
  Job job{rule("hot", "node", "load", "max():above(50)")};
  const auto attempt = [&](double from, std::vector<std::pair<const char*, double>> nodes) {
    job.event(from, "start");
    for (double s = from + 1; s < from + 30; ++s)
      for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
        job.sample(s, rank, {{"load", nodes[rank].second, {}, false}}, nodes[rank].first);
    job.log.beats(from + 30, from + 40);
  };
  attempt(0, {{"n1", 90}, {"n2", 10}});
  job.end(41);
  job.log.beats(42, 199);
  attempt(200, {{"n3", 10}, {"n2", 10}, {"n1", 10}});
  const Truth expected[] = {Truth::unknown, Truth::no, Truth::yes};
  for (std::size_t slot = 0; slot < 3; ++slot) CHECK(job.log.last("hot", slot) == expected[slot]);
}

TEST_CASE("a restart between attempts, and during the second, changes nothing") {
  const std::string rules =
      rule("high", "rank", "heat", "max():above(19)") + rule("mid", "rank", "heat", "median():above(9)") +
      rule("tail", "rank", "heat", "last(4):above(9)") + rule("was", "rank", "phase", "last():is(\"eval\")");
  for (const double stop : {100.0, 190.0, 230.0}) {
    Job job{rules};
    job.attempt(0, 60, 1, 21);
    job.sample(59.5, 0, {{"phase", 0, "eval", true}});
    job.end(60);
    stream::Shard::Sections sections;
    stream::Position handed_over{};
    const auto until = [&](double from, double to) {
      for (double s = from; s < to; ++s) {
        if (s == stop) sections = job.log.shard.take_sections(true), handed_over = job.log.end();
        job.log.beats(s, s);
        if (s > 200 && s < 260) job.sample(s + 0.5, 0, {{"heat", 3, {}, false}});
      }
    };
    until(61, 200);
    job.event(200, "start", {{"world_size", 2, {}, false}});
    until(201, 500);
    CHECK(job.log.last("high", 1) == Truth::yes);
    CHECK(job.log.last("was", 1) == Truth::yes);
    Job again{rules};
    again.log.restore(job.log, sections, handed_over);
    CHECK(again.log.shard.digests() == job.log.shard.digests());
    CHECK(again.log.last("high", 1) == Truth::yes);
    CHECK(again.log.last("was", 1) == Truth::yes);
  }
}

TEST_CASE("a need over earlier that a reload adds has the attempts that end after it, from then on") {
  PacksByHash packs;
  const auto more = SmallJob::load(
      signals, rule("high", "rank", "heat", "max():above(19)") + rule("mild", "rank", "heat", "min():above(12)"));
  const std::string hash = packs.add(more);
  Job job{rule("other", "node", "load", "max():above(1000)"), &packs};
  job.attempt(0, 60, 1, 5);
  job.end(60);
  job.log.beats(61, 199);
  EntryBuilder b;
  b.pack(hash, SmallJob::at(230), "");
  job.attempt(200, 229, 10, 15);
  job.log.consume(b.entry(), 229);
  for (double s = 231; s < 260; ++s) {
    job.sample(s, 0, {{"heat", 20, {}, false}});
    job.log.beats(s + 0.1, s + 0.1);
  }
  CHECK(job.log.last("high", 1) == Truth::unknown);
  job.end(260);
  job.log.beats(261, 399);
  job.attempt(400, 420, 1, 1);
  CHECK(job.log.last("high", 1) == Truth::yes);
  CHECK(job.log.last("mild", 1) == Truth::yes);  // of the second attempt: the first was over before the need was there
}

TEST_CASE("a pack without the need forgets what the earlier attempts had for it") {
  PacksByHash packs;
  const std::string with = rule("high", "rank", "heat", "max():above(19)");
  const std::string plain =
      "rule \"plain\" { per = \"rank\", every = \"5s\", needs = { x = signal \"heat\" { over = \"20s\" } }, "
      "evaluate = function(job) return job.x:last():above(1) end }";
  const std::string first = packs.add(SmallJob::load(signals, with)),
                    second = packs.add(SmallJob::load(signals, plain));
  Job job{with, &packs};
  job.attempt(0, 60, 1, 21);
  job.end(60);
  job.log.beats(61, 199);
  job.attempt(200, 220, 1, 2);
  CHECK(job.log.last("high", 1) == Truth::yes);
  for (const auto& [hash, at] : {std::pair{second, 230.0}, {first, 240.0}}) {
    job.log.reload(hash, at, at - 1);
    for (double s = at; s < at + 9; ++s) job.sample(s, 0, {{"heat", 3, {}, false}}), job.log.beats(s + 0.1, s + 0.1);
  }
  CHECK(job.log.last("high", 1) == Truth::unknown);
}

TEST_CASE("a rule that repeats its answer for want of records is judged anew once the attempt before is over") {
  Job job{rule("high", "rank", "heat", "max():above(19)")};
  job.log.shard.observe({});  // a rule that somebody looks at never repeats
  job.attempt(0, 60, 1, 21);
  job.end(60);
  job.event(61, "start", {{"world_size", 2, {}, false}});
  job.log.beats(62, 170);
  CHECK(job.log.shard.counters().repeated > 0);
  CHECK(job.log.collector.transitions.empty());
  job.log.beats(171, 200);
  CHECK(job.log.collector.transitions.size() == 1);
}

TEST_CASE("where a reload asks for more of a need over earlier, it has the attempts that end after it alone") {
  PacksByHash packs;
  const std::string high = rule("high", "rank", "heat", "max():above(19)");
  const std::string hash = packs.add(SmallJob::load(signals, high + rule("mid", "rank", "heat", "median():above(10)")));
  Job job{high, &packs};
  job.attempt(0, 60, 20, 21);
  job.end(60);
  job.log.beats(61, 199);
  job.attempt(200, 204, 12, 12);
  job.log.reload(hash, 205, 204);
  for (double s = 206; s < 260; ++s) job.sample(s, 0, {{"heat", 12, {}, false}}), job.log.beats(s + 0.1, s + 0.1);
  CHECK(job.log.last("high", 1) == Truth::yes);
  CHECK(job.log.last("mid", 1) == Truth::unknown);
  job.end(260);
  job.log.beats(261, 399);
  job.attempt(400, 420, 1, 1);
  CHECK(job.log.last("mid", 1) == Truth::yes);
  CHECK(job.log.last("high", 1) == Truth::no);  // of the first, whose median nobody kept, nothing is left
}

TEST_CASE("a rank that comes late in an attempt has what the earlier ones had of it") {
  Job job{rule("high", "rank", "heat", "max():above(6)")};
  job.attempt(0, 60, 1, 5);
  job.end(60);
  job.log.beats(61, 199);
  job.event(200, "start");
  for (double s = 201; s < 230; ++s) {
    for (const std::uint32_t rank : {0u, 1u})
      if (rank == 0 || s > 215) job.sample(s, rank, {{"heat", 1, {}, false}});
    job.log.beats(s + 0.1, s + 0.1);
  }
  CHECK(job.log.last("high", 1) == Truth::no);
  CHECK(job.log.last("high", 2) == Truth::yes);
}

TEST_CASE("a text of an earlier attempt is the same text where this one had texts of its own before") {
  Job job{rule("was", "rank", "phase", "last():is(\"eval\")")};
  const auto phases = [&](double from, std::vector<const char*> names) {
    job.event(from, "start", {{"world_size", 1, {}, false}});
    for (const char* name : names) job.sample(++from, 0, {{"phase", 0, name, true}});
  };
  phases(0, {"train", "eval"});
  job.end(60);
  phases(61, {"warm", "idle", "load"});
  job.log.beats(65, 250);
  CHECK(job.log.last("was", 1) == Truth::yes);
}

TEST_CASE("of events the first is that of the first attempt, and the last that of the last") {
  Job job{rule("began", "rank", "fault", "first(\"code\"):is(1)", "") +
          rule("went", "rank", "fault", "last(\"code\"):is(4)", "")};
  double from = 0;
  for (const double code : {1.0, 3.0}) {
    job.event(from, "start", {{"world_size", 1, {}, false}});
    for (const double more : {0.0, 1.0})
      job.event(from + 1 + more, "fault", {{"code", code + more, {}, false}}, EntryBuilder::rank(0));
    job.end(from + 10);
    job.log.beats(from + 11, from + 199);
    from += 200;
  }
  job.event(from, "start", {{"world_size", 1, {}, false}});
  job.log.beats(from + 1, from + 20);
  CHECK(job.log.last("began", 1) == Truth::yes);
  CHECK(job.log.last("went", 1) == Truth::yes);
}
