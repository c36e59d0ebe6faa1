// What is shown of a job while it runs.
#include <doctest/doctest.h>

#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;
using stream::SubjectFigures;

namespace {

const stream::LoadedPack& shipped() {
  static const stream::LoadedPack pack{dsl::load(*dsl::read_pack(TOCSIN_SOURCE_DIR "/rules")).pack, nullptr};
  return pack;
}

void begin(SmallJob& job, double s, unsigned ranks) {
  EntryBuilder start;
  const EntryBuilder::Field size[] = {{"world_size", static_cast<double>(ranks), {}, false}};
  start.event(SmallJob::at(s), EntryBuilder::job(), "start", size);
  job.consume(start, s);
}

// One step of each rank at this second; the last rank computes twice as long as the others.
void step(SmallJob& job, double s, double number, unsigned ranks) {
  EntryBuilder b;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const EntryBuilder::Value values[] = {{"step", number, {}, false},
                                          {"step_time", 1.0, {}, false},
                                          {"compute_time", rank + 1 == ranks ? 0.8 : 0.4, {}, false},
                                          {"loss", 3 - number / 100, {}, false}};
    b.sample(SmallJob::at(s), EntryBuilder::rank(rank), values);
  }
  b.beat();
  job.consume(b, s);
}

void steps(SmallJob& job, double from, double to, double first, unsigned ranks = 4) {
  for (double s = from; s < to; ++s) step(job, s, first + s - from, ranks);
}

SubjectFigures figures(const SmallJob& job) {
  const auto all = job.shard.figures("", 10);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("a job that steps shows its step, its loss and how its ranks compare") {
  SmallJob job{shipped()};
  begin(job, 0, 4);
  steps(job, 10, 110, 500);
  const SubjectFigures f = figures(job);
  CHECK(f.subject == "job");
  CHECK_FALSE(f.ended);
  CHECK(f.ranks == 4);
  CHECK(f.step == 599);
  CHECK(f.step_changed == SmallJob::at(109));
  CHECK(f.loss == doctest::Approx(3 - 5.94));  // values count once those of late collectors are there, too
  CHECK(f.step_time.median == 1);
  CHECK(f.compute_time.count == 4);
  CHECK(f.compute_time.sum == doctest::Approx(2.0));
  CHECK(f.compute_time.least == doctest::Approx(0.4));
  CHECK(f.compute_time.greatest == doctest::Approx(0.8));
  REQUIRE(f.by_rank.size() == 4);
  CHECK(f.by_rank[3].rank == 3);
  CHECK(f.by_rank[3].step == 599);
  CHECK(f.by_rank[3].compute_time == doctest::Approx(0.8));
  // Ten seconds went by before the first step.
  CHECK(stream::seconds(f.clock - f.start) == doctest::Approx(109));
  // Windows take the points of few members several at a time.
  CHECK(f.productive <= 100);
  CHECK(f.productive >= 91);
}

TEST_CASE("time in which a job stands still is not productive, and its alert is among what fires") {
  SmallJob job{shipped()};
  begin(job, 0, 4);
  steps(job, 1, 121, 1);
  for (double s = 121; s < 421; ++s) {  // its processes rest
    EntryBuilder b;
    const EntryBuilder::Value resting[] = {{"process_cpu", 0, {}, false}};
    for (std::uint32_t rank = 0; rank < 4; ++rank) b.sample(SmallJob::at(s), EntryBuilder::rank(rank), resting);
    b.beat();
    job.consume(b, s);
  }
  SubjectFigures f = figures(job);
  CHECK(f.productive == doctest::Approx(120).epsilon(0.02));
  CHECK(stream::seconds(f.clock - f.start) == doctest::Approx(420));
  REQUIRE(f.firing.size() == 1);
  CHECK(f.firing[0].family.starts_with("C"));
  CHECK(f.step_changed == SmallJob::at(120));

  steps(job, 421, 521, 121);
  f = figures(job);
  CHECK(f.productive == doctest::Approx(220).epsilon(0.02));
  for (const auto& alert : f.firing) CHECK(alert.rule == "straggler");
}

TEST_CASE("what is not known of a job is absent from its figures") {
  SmallJob job{shipped()};
  begin(job, 0, 2);
  job.beats(1, 5);
  SubjectFigures f = figures(job);
  CHECK(stream::is_absent(f.step));
  CHECK(stream::is_absent(f.loss));
  CHECK(stream::is_absent(f.productive));
  CHECK(f.step_time.count == 0);
  CHECK(f.ranks == 2);
  steps(job, 6, 8, 1, 2);  // one interval: too few to know what is usual
  f = figures(job);
  CHECK(f.step == 2);
  CHECK(stream::is_absent(f.productive));
}

TEST_CASE("the figures of a job that has ended stand still at its end") {
  SmallJob job{shipped()};
  begin(job, 0, 4);
  steps(job, 1, 61, 1);
  EntryBuilder end;
  end.event(SmallJob::at(61), EntryBuilder::job(), "end", {});
  job.consume(end, 61);
  job.beats(62, 100);
  const SubjectFigures f = figures(job);
  CHECK(f.ended);
  CHECK(f.clock == SmallJob::at(61));
  CHECK(f.step == 60);
}

TEST_CASE("figures go on after a restart where they were") {
  SmallJob before{shipped()}, after{shipped()};
  begin(before, 0, 4);
  steps(before, 1, 121, 1);
  const auto sections = before.shard.take_sections(true);
  after.restore(before, sections, before.end());
  before.beats(121, 121), after.log = before.log, after.read(after.log.size());
  const SubjectFigures a = figures(before), b = figures(after);
  CHECK(b.step == a.step);
  CHECK(b.loss == a.loss);
  CHECK(b.productive == a.productive);
  CHECK(b.compute_time.greatest == a.compute_time.greatest);
  CHECK(b.by_rank.size() == 4);
}

TEST_CASE("the figures of many jobs come in slices, by name") {
  SmallJob job{shipped()};
  for (const char* name : {"c", "a", "b"}) {
    EntryBuilder b;
    b.about(name);
    const EntryBuilder::Value values[] = {{"step", 1, {}, false}};
    b.sample(SmallJob::at(1), EntryBuilder::rank(0), values);
    job.consume(b.entry(), 1);
  }
  std::vector<std::string> names;
  for (std::string last; !names.empty() || last.empty();) {
    const auto slice = job.shard.figures(last, 2);
    if (slice.empty()) break;
    for (const auto& f : slice) names.push_back(last = f.subject);
  }
  CHECK(names == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("what fires in the cluster is shown, and it has no other figures") {
  SmallJob job{shipped()};
  for (const auto& [of, s] : {std::pair{"llama", 1.0}, {"mixtral", 5.0}}) {
    EntryBuilder b;
    b.about(stream::cluster_subject, of);
    const EntryBuilder::Field code[] = {{"code", 79, {}, false}};
    b.event(SmallJob::at(s), {stream::Level::gpu, 0, "n1", "0"}, "xid", code, "kernel_log");
    job.consume(b.entry(), s);
  }
  job.beats(6, 30);
  const SubjectFigures f = figures(job);
  CHECK(f.subject == "cluster");
  CHECK(stream::is_absent(f.step));
  REQUIRE(f.firing.size() == 1);
  CHECK(f.firing[0].rule == "gpu_xids_in_jobs");
}

TEST_CASE("a job of very many ranks shows how they are spread, and no rank of its own") {
  SmallJob job{shipped()};
  const auto ranks = static_cast<unsigned>(SubjectFigures::most_ranks + 1);
  begin(job, 0, ranks);
  steps(job, 1, 12, 1, ranks);
  const SubjectFigures f = figures(job);
  CHECK(f.by_rank.empty());
  CHECK(f.ranks == ranks);
  CHECK(f.compute_time.count == ranks);
  CHECK(f.compute_time.high == doctest::Approx(0.4));
  CHECK(f.compute_time.greatest == doctest::Approx(0.8));
}

TEST_CASE("the step that runs is productive as long as steps usually take, and no longer") {
  SmallJob job{shipped()};
  begin(job, 0, 2);
  for (int i = 1; i <= 10; ++i) step(job, 10.0 * i, i, 2), job.beats(10 * i + 1, 10 * i + (i < 10 ? 9 : 8));
  CHECK(figures(job).productive == doctest::Approx(98).epsilon(0.001));  // nine intervals, and 8 s since the last step
  job.beats(109, 140);
  CHECK(figures(job).productive == doctest::Approx(100).epsilon(0.001));
}

TEST_CASE("the step of a job is that of the rank that is furthest") {
  SmallJob job{shipped()};
  begin(job, 0, 3);
  EntryBuilder b;
  for (const auto& [rank, number] : {std::pair{0u, 5.0}, {1u, 7.0}, {2u, 6.0}}) {
    const EntryBuilder::Value values[] = {{"step", number, {}, false}};
    b.sample(SmallJob::at(1), EntryBuilder::rank(rank), values);
  }
  job.consume(b, 1);
  CHECK(figures(job).step == 7);
}

TEST_CASE("a job shows the rules that cannot decide, with the signals that never came and no others") {
  SmallJob job{shipped()};
  begin(job, 0, 4);
  steps(job, 10, 310, 500);
  const auto undecided = figures(job).undecided;
  const auto missing = [&undecided](std::string_view rule) {
    const auto found =
        std::find_if(undecided.begin(), undecided.end(), [rule](const auto& one) { return one.rule == rule; });
    REQUIRE(found != undecided.end());
    return found->missing;
  };
  const auto of_throttle = missing("throttle");
  CHECK(std::find(of_throttle.begin(), of_throttle.end(), "sm_clock") != of_throttle.end());
  for (const auto& one : undecided) {
    CAPTURE(one.rule);
    for (const char* came : {"step", "step_time", "compute_time", "loss", "step_gap"}) {
      CHECK(std::find(one.missing.begin(), one.missing.end(), came) == one.missing.end());
      CHECK(one.rule != "straggler");  // it has all that it needs
    }
  }
}

TEST_CASE("an undecided rule misses what the rules miss that it is built on, and no event whose source is covered") {
  SmallJob job{SmallJob::load(R"lua(signals {
      heat  = { kind = "gauge", unit = "celsius", owner = "rank" },
      cold  = { kind = "gauge", unit = "celsius", owner = "rank" },
      fault = { kind = "event", unit = "none", owner = "rank", source = "log" } })lua",
                              R"lua(
      rule "base" { per = "rank", severity = "none", every = "10s", needs = { heat = signal "heat" { over = "30s" } },
        evaluate = function(job) return job.heat:mean():above(90) end }
      rule "built" { per = "rank", every = "10s", needs = { base = finding "base" },
        evaluate = function(job) return job.base:now() end }
      rule "faults" { per = "rank", every = "10s", needs = { fault = signal "fault" { over = "30s" }, cold = signal "cold" { over = "30s" } },
        evaluate = function(job) return job.fault:count():above(0) | job.cold:mean():below(1) end })lua")};
  const auto look = [&job](bool covered) {
    for (double s = 1; s <= 60; ++s) {
      EntryBuilder b;
      if (covered) b.coverage("log", {});
      job.consume(b, s + (covered ? 60 : 0));
      job.beats(s + (covered ? 60 : 0), s + (covered ? 60 : 0));
    }
    return figures(job).undecided;
  };
  begin(job, 0, 2);
  using Rules = std::vector<stream::UndecidedRule>;
  CHECK(look(false) == Rules{{"built", {"heat"}}, {"faults", {"cold", "fault"}}});
  CHECK(look(true) == Rules{{"built", {"heat"}}, {"faults", {"cold"}}});
}

TEST_CASE("looking at a job's figures changes nothing of its state") {
  SmallJob seen{shipped()}, unseen{shipped()};
  for (SmallJob* job : {&seen, &unseen}) {
    begin(*job, 0, 4);
    if (job == &seen) (void)figures(*job);
    begin(*job, 1, 4);
  }
  CHECK(seen.shard.state_bytes() == unseen.shard.state_bytes());
  CHECK(seen.shard.take_sections(true) == unseen.shard.take_sections(true));
}
