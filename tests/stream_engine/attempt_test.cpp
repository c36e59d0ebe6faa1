// One attempt of a job: what its events say of its end, its members and its labels.
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
      cold = { kind = "gauge", unit = "none", owner = "rank", source = "fridge" },
      took = { kind = "gauge", unit = "seconds", owner = "rank", aliases = { took_ms = 0.001 } },
      fault = { kind = "event", unit = "none", owner = "rank", source = "log" } })lua";

std::string rule(const std::string& name, const std::string& head, const std::string& signal,
                 const std::string& answer) {
  return "rule \"" + name + "\" { family = \"B3\", per = \"rank\", every = \"5s\", " + head +
         " needs = { x = signal \"" + signal +
         "\" { over = \"20s\" } }, evaluate = function(job) return job.x:" + answer + " end }\n";
}

const stream::LoadedPack& heat_pack() {
  static const stream::LoadedPack pack = SmallJob::load(signals, rule("hot", "", "heat", "last():above(50)"));
  return pack;
}

struct Event {
  std::string name;
  double time, arrival;
  std::vector<EntryBuilder::Field> fields = {};
  EntryBuilder::Member member = EntryBuilder::job();
  std::string attempt = {};
};

void consume(SmallJob& log, const Event& event) {
  EntryBuilder b;
  b.about("job", event.attempt);
  b.event(SmallJob::at(event.time), event.member, event.name, event.fields);
  log.consume(b.entry(), event.arrival);
}

void heat(SmallJob& log, double s, double value, const char* attempt = "") {
  EntryBuilder b;
  b.about("job", attempt);
  const EntryBuilder::Value values[] = {{"heat", value, {}, false}};
  b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
  log.consume(b.entry(), s);
}

}  // namespace

TEST_CASE("an attempt ends when its end event says, not when that arrives, and not before it began") {
  for (const auto& [given, ended] : {std::pair{30.0, 30.0}, std::pair{40.0, 33.0}, std::pair{-5.0, 0.0}}) {
    SmallJob log{heat_pack()};
    consume(log, {"start", 0, 0});
    heat(log, 1, 10);
    consume(log, {"end", given, 33});
    log.beats(34, 200);
    REQUIRE(log.collector.verdicts.size() == 1);
    CHECK(log.collector.verdicts[0].ended == SmallJob::at(ended));
  }
}

TEST_CASE(
    "an end whose event says a time more than ten minutes before it arrived is placed at its arrival, and counted, as "
    "other events are") {
  for (const auto& [given, ended] :
       {std::pair{2'400.0, 2'400.0}, std::pair{2'399.0, 3'000.0}, std::pair{-1e9, 3'000.0}}) {
    SmallJob log{heat_pack()};
    consume(log, {"start", 0, 0});
    for (int i = 1; i < 3'000; i += 10) heat(log, i, 10);
    consume(log, {"end", given, 3'000});
    log.beats(3'001, 3'200);
    REQUIRE(log.collector.verdicts.size() == 1);
    CHECK(log.collector.verdicts[0].ended == SmallJob::at(ended));
    CHECK(log.shard.counters().corrected_times == (given == ended ? 0 : 1));
  }
}

TEST_CASE("a second end event changes nothing") {
  SmallJob log{heat_pack()};
  consume(log, {"start", 0, 0});
  heat(log, 1, 10);
  consume(log, {"end", 30, 30, {{"reason", 0, "completed", true}}});
  consume(log, {"end", 40, 40, {{"reason", 0, "failed", true}}});
  log.beats(41, 200);
  REQUIRE(log.collector.verdicts.size() == 1);
  CHECK(log.collector.verdicts[0].ended == SmallJob::at(30));
  CHECK(log.collector.verdicts[0].end_reason == "completed");
}

TEST_CASE("a start without a name begins an attempt whose name no other has, whatever attempts were named before") {
  SmallJob log{heat_pack()};
  consume(log, {"start", 0, 0, {}, EntryBuilder::job(), "2"});
  consume(log, {"start", 5, 5});
  heat(log, 6, 90);
  log.beats(7, 30);
  consume(log, {"start", 31, 31});
  heat(log, 32, 10, "2");
  log.beats(33, 60);
  consume(log, {"end", 61, 61});
  log.beats(62, 300);
  std::vector<std::string> names;
  for (const auto& verdict : log.collector.verdicts) names.push_back(verdict.attempt);
  CHECK(names == std::vector<std::string>{"2", "3", "4"});
}

TEST_CASE("a stray that names an attempt that is over begins none") {
  SmallJob log{heat_pack()};
  heat(log, 1, 10, "first");
  consume(log, {"end", 2, 2, {}, EntryBuilder::job(), "first"});
  heat(log, 3, 10, "second");
  log.beats(4, 300);
  REQUIRE(log.collector.verdicts.size() == 1);
  heat(log, 301, 90, "first");
  CHECK(log.shard.counters().strays == 1);
  log.beats(302, 400);
  CHECK(log.collector.transitions.empty());
  CHECK(log.collector.verdicts.size() == 1);
}

TEST_CASE("a rule for some jobs runs only where the start's labels say so") {
  const auto pack =
      SmallJob::load(signals, rule("hot", "jobs = { partition = \"X\", user = \"ann\" },", "heat", "last():above(50)"));
  const auto runs = [&](std::vector<EntryBuilder::Field> labels) {
    SmallJob log{pack};
    consume(log, {"start", 0, 0, std::move(labels)});
    for (int i = 1; i < 30; ++i) heat(log, i, 90), log.beats(i, i);
    return log.answers.contains("hot");
  };
  const EntryBuilder::Field x{"labels.partition", 0, "X", true}, y{"labels.partition", 0, "Y", true},
      ann{"labels.user", 0, "ann", true};
  CHECK(runs({x, ann}));
  CHECK_FALSE(runs({y, ann}));
  CHECK_FALSE(runs({x}));
  CHECK_FALSE(runs({}));
}

TEST_CASE("an alert of a rule for some jobs outlives a reload, and ends where the new jobs leave its job out") {
  const auto states = [](const std::string& after) {
    PacksByHash packs;
    const auto pack = [](const std::string& jobs, const std::string& more = "") {
      return SmallJob::load(signals,
                            rule("hot", "jobs = { partition = " + jobs + " },", "heat", "last():above(50)") + more);
    };
    const std::string hash = packs.add(pack(after, rule("more", "", "cold", "age():above(1000)")));
    SmallJob log{pack("\"X\""), &packs};
    consume(log, {"start", 0, 0, {{"labels.partition", 0, "X", true}}});
    for (int i = 1; i < 120; ++i) {
      if (i == 40) log.reload(hash, 45, 40);
      heat(log, i, 90), log.beats(i, i);
    }
    std::vector<std::string> seen;
    for (const auto& t : log.collector.transitions)
      seen.push_back(std::string{name(t.state)} + " " + std::string{name(t.reason)});
    return seen;
  };
  using Strings = std::vector<std::string>;
  CHECK(states("\"X\"") == Strings{"firing "});
  CHECK(states("{ \"X\", \"Z\" }") == Strings{"firing "});
  CHECK(states("\"Z\"") == Strings{"firing ", "resolved rule removed"});
}

TEST_CASE("jobs takes lists, stars, and what a label must not be") {
  const auto runs = [](const std::string& jobs, std::vector<EntryBuilder::Field> labels) {
    SmallJob log{SmallJob::load(signals, rule("hot", "jobs = { " + jobs + " },", "heat", "last():above(50)"))};
    consume(log, {"start", 0, 0, std::move(labels)});
    for (int i = 1; i < 30; ++i) heat(log, i, 90), log.beats(i, i);
    return log.answers.contains("hot");
  };
  const auto named = [](const char* name) { return std::vector<EntryBuilder::Field>{{"labels.name", 0, name, true}}; };
  CHECK(runs("name = { \"a\", \"b\" }", named("b")));
  CHECK_FALSE(runs("name = { \"a\", \"b\" }", named("c")));
  CHECK(runs("name = \"llama-*\"", named("llama-7b")));
  CHECK(runs("name = \"*a*b\"", named("ab-ab")));
  CHECK_FALSE(runs("name = \"a*a\"", named("a")));
  CHECK_FALSE(runs("name = \"llama-*\"", named("my-llama-7b")));
  CHECK(runs("name = \"!debug*\"", named("llama")));
  CHECK(runs("name = \"!debug*\"", {}));
  CHECK_FALSE(runs("name = \"!debug*\"", named("debug-2")));
  CHECK_FALSE(runs("name = { \"llama-*\", \"!*-test\" }", named("llama-test")));
  CHECK(runs("name = { \"llama-*\", \"!*-test\" }", named("llama-7b")));
  CHECK_FALSE(runs("name = { \"*\", \"!*-test\" }", {}));
}

TEST_CASE("a text names labels of the job, and leaves out those that it does not have") {
  SmallJob log{SmallJob::load(
      signals, rule("hot", "summary = \"s\", shows = \"job of {job.user}[ on {job.partition}][, {job.name}]\",", "heat",
                    "last():above(50)"))};
  consume(log, {"start", 0, 0, {{"labels.user", 0, "ann", true}, {"labels.name", 0, "llama", true}}});
  for (int i = 1; i < 30; ++i) heat(log, i, 90), log.beats(i, i);
  REQUIRE(log.collector.transitions.size() == 1);
  CHECK(log.collector.transitions[0].shows == "job of ann, llama");
}

TEST_CASE("a member event says on which node and in which rack a rank is") {
  SmallJob log{heat_pack()};
  consume(log, {"member", 0, 0, {{"node", 0, "n7", true}, {"rack", 0, "r2", true}}, EntryBuilder::rank(0)});
  for (int i = 1; i < 30; ++i) heat(log, i, 90), log.beats(i, i);
  REQUIRE(log.collector.transitions.size() == 1);
  CHECK(log.collector.transitions[0].member.node == "n7");
  CHECK(log.collector.transitions[0].member.rack == "r2");
}

TEST_CASE("a line's value under another name of its signal has that name's factor") {
  const auto pack = SmallJob::load(
      signals, rule("slow", "", "took", "last():above(0.1)") + rule("late", "", "took", "last():above(1)"),
      "pattern \"took\" { line = [[took (?P<ms>NUM)]], samples = { took_ms = \"ms\" } }");
  SmallJob log{pack};
  for (int i = 1; i < 30; ++i) {
    EntryBuilder b;
    b.line(SmallJob::at(i), EntryBuilder::rank(0), "took 200");
    log.consume(b, i);
    log.beats(i, i);
  }
  CHECK(log.last("slow", 1) == Truth::yes);
  CHECK(log.last("late", 1) == Truth::no);
}

TEST_CASE("blocks of one layout cover the sources that each of them names") {
  const auto pack = SmallJob::load(signals, rule("quiet", "", "cold", "age():above(3)"));
  SmallJob log{pack};
  consume(log, {"start", 0, 0, {{"world_size", 2, {}, false}}});
  for (int i = 1; i < 60; ++i) {
    EntryBuilder b;
    b.about("job");
    const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(i), EntryBuilder::rank(0), values, "sensor");
    b.sample(SmallJob::at(i), EntryBuilder::rank(1), values, "fridge");
    log.consume(b.entry(), i);
    log.beats(i, i);
  }
  CHECK(log.last("quiet", 1) == Truth::unknown);
  CHECK(log.last("quiet", 2) == Truth::yes);
}

TEST_CASE("a shard that is given its rules ignores the packs of its log") {
  PacksByHash packs;
  const auto other = SmallJob::load(signals, rule("other", "", "heat", "last():above(50)"));
  const std::string hash = packs.add(other);
  for (const bool ignore : {false, true}) {
    SmallJob log{heat_pack(), &packs, {.ignore_packs = ignore}};
    log.reload(hash, 5, 1);
    for (int i = 2; i < 30; ++i) heat(log, i, 90), log.beats(i, i);
    CHECK(log.answers.contains("other") != ignore);
  }
}

TEST_CASE("sections are taken until they have so many bytes, and at once of a job whose pack changed") {
  PacksByHash packs;
  const std::string hash = packs.add(SmallJob::load(signals, rule("other", "", "heat", "last():above(50)")));
  SmallJob log{heat_pack(), &packs, {.save_every = std::chrono::seconds{80}}};
  const auto heats = [&](double from, double to) {
    for (double s = from; s < to; ++s) {
      for (const char* job : {"a", "b", "c"}) {
        EntryBuilder b;
        b.about(job);
        const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
        b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
        log.consume(b.entry(), s);
      }
      log.beats(s, s);
    }
  };
  const auto jobs = [](const stream::Shard::Sections& sections) { return sections.size() - sections.count(""); };
  heats(1, 20);
  const auto first = log.shard.take_sections(false, 1);
  REQUIRE(jobs(first) == 1);
  CHECK(jobs(log.shard.take_sections(false, first.rbegin()->second.bytes().size() / 2)) == 1);
  CHECK(jobs(log.shard.take_sections()) == 1);
  heats(20, 30);
  CHECK(jobs(log.shard.take_sections()) == 0);
  log.reload(hash, 35, 30);
  heats(31, 50);
  CHECK(jobs(log.shard.take_sections()) == 3);
}

TEST_CASE("what a take of sections leaves behind is due a moment later, not a second") {
  PacksByHash packs;
  const std::string hash = packs.add(SmallJob::load(signals, rule("other", "", "heat", "last():above(50)")));
  SmallJob log{heat_pack(), &packs, {.save_every = std::chrono::seconds{80}}};
  for (double s = 1; s < 50; ++s) {
    for (const char* job : {"a", "b", "c"}) {
      EntryBuilder b;
      b.about(job);
      const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
      log.consume(b.entry(), s);
    }
    EntryBuilder b;
    b.beat();
    if (s == 30) b.pack(hash, SmallJob::at(35), "");
    log.consume(b.entry(), s);
    if (s == 20) (void)log.shard.take_sections(true);
  }
  std::vector<double> taken;  // the seconds at which sections of jobs were taken, one at a time
  for (double s = 50; s < 52; s += 0.0625) {
    log.beats(s, s);
    if (!log.shard.sections_due()) continue;
    if (const auto sections = log.shard.take_sections(false, 1); sections.size() > sections.count(""))
      taken.push_back(s);
  }
  CHECK(taken == std::vector<double>{50, 50.125, 50.25});
  CHECK(log.shard.take_sections(true).size() > 1);
}

TEST_CASE(
    "no sections are due at the entry at which jobs change their pack, and they are a moment later, however often that "
    "is") {
  PacksByHash packs;
  const stream::LoadedPack first = heat_pack();
  const std::string hashes[] = {packs.add(first),
                                packs.add(SmallJob::load(signals, rule("other", "", "heat", "last():above(50)")))};
  SmallJob log{first, &packs, {.save_every = std::chrono::seconds{80}}};
  const auto entry = [&](double s, std::string_view pack) {
    EntryBuilder b;
    b.about("a");
    const EntryBuilder::Value values[] = {{"heat", 1, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(0), values);
    if (!pack.empty()) b.pack(pack, SmallJob::at(s), "");
    log.consume(b.entry(), s);
  };
  for (double s = 1; s < 31; ++s) entry(s, {});
  (void)log.shard.take_sections(true);
  entry(30.5, hashes[1]);  // in force at the next entry
  entry(31, {});
  CHECK_FALSE(log.shard.sections_due());
  entry(31.125, {});
  REQUIRE(log.shard.sections_due());
  CHECK(log.shard.take_sections().contains("a"));
  double last = 31.125;
  for (int i = 0; i < 80; ++i) {
    const double s = 32 + 0.0625 * i;
    entry(s, hashes[i % 2]);
    if (!log.shard.sections_due()) continue;
    CHECK(s - last <= 2.0625);
    last = s;
    CHECK(log.shard.take_sections().contains("a"));
  }
  CHECK(last > 34);
}
