// What the service shows of its jobs.
#include <doctest/doctest.h>

#include "adapters/service/job_list.h"
#include "adapters/service/job_watch.h"
#include "dsl/load/loader.h"
#include "schemas/codec.h"
#include "tests/prometheus/examples.h"

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::prometheus::JobFigures;
using adapters::service::JobList;
using adapters::service::JobWatch;
using adapters::service::StepRate;
using schemas::EntryBuilder;

namespace {

stream::Time at(double s) { return stream::at_nanoseconds(1'790'000'000'000'000'000) + stream::from_seconds(s); }

struct Nowhere final : stream::AlertSink {
  void transition(const stream::AlertTransition&) override {}
  void verdict(const stream::Verdict&) override {}
};

// A shard under the shipped rules, and whoever watches its jobs.
struct Watched {
  Nowhere sink;
  stream::Shard shard{{dsl::load(*dsl::read_pack(TOCSIN_SOURCE_DIR "/rules")).pack, nullptr}, nullptr, sink};
  JobWatch watch;
  JobWatch::Clock::time_point now{};
  std::uint64_t position = 0;

  void consume(EntryBuilder& builder, double s) {
    stream::Entry entry = builder.entry();
    entry.appended = entry.arrival = at(s);
    entry.position = static_cast<stream::Position>(position), entry.next = static_cast<stream::Position>(++position);
    shard.consume(entry);
  }
  void step(const std::string& job, double s, double number, const char* more = nullptr, double value = 0) {
    EntryBuilder b;
    b.about(job);
    std::vector<EntryBuilder::Value> values{{"step", number, {}, false}};
    if (more != nullptr) values.push_back({more, value, {}, false});
    b.sample(at(s), EntryBuilder::rank(0), values);
    consume(b, s);
  }
  void rest(const std::string& job, double s) {
    EntryBuilder b;
    b.about(job);
    const EntryBuilder::Value values[] = {{"process_cpu", 0, {}, false}};
    b.sample(at(s), EntryBuilder::rank(0), values);
    b.beat();
    consume(b, s);
  }
  std::vector<JobFigures> look() {
    now += 1h;
    for (;;)
      if (auto jobs = watch.look(shard, now)) return *jobs;
  }
};

}  // namespace

TEST_CASE("a rate of steps is known from the second change on, and falls while a job stands still") {
  StepRate rate;
  CHECK_FALSE(rate.look(10, at(0), at(0)));
  CHECK_FALSE(rate.look(10, at(0), at(1)));
  CHECK(rate.look(12, at(1), at(1)) == 2);
  for (int s = 2; s <= 200; ++s) (void)rate.look(10 + 2 * s, at(s), at(s));
  CHECK(rate.look(410, at(200), at(201)) == doctest::Approx(2));
  const auto slow = rate.look(410, at(200), at(230));
  REQUIRE(slow);
  CHECK(*slow < 1.5);
  CHECK(*slow > 1);
  CHECK(rate.look(410, at(200), at(261)) == 0);
  CHECK_FALSE(rate.look(300, at(300), at(300)));  // from a checkpoint: what was before is another run of steps
  CHECK(rate.look(301, at(301), at(301)) == 1);
}

TEST_CASE("a job that prints a step every five minutes has a rate, too") {
  StepRate rate;
  (void)rate.look(100, at(0), at(0));
  (void)rate.look(200, at(300), at(300));
  CHECK(*rate.look(200, at(300), at(500)) == doctest::Approx(100.0 / 300));
}

TEST_CASE("a job is starting, running, hung and ended") {
  Watched w;
  EntryBuilder begun;
  begun.about("llama");
  const EntryBuilder::Field size[] = {{"world_size", 1, {}, false}};
  begun.event(at(0), EntryBuilder::job(), "start", size);
  w.consume(begun, 0);
  CHECK(w.look().at(0).state == "starting");
  for (int s = 1; s <= 120; ++s) {
    w.step("llama", s, s, "loss", s < 60 ? 3 : 2.5);
    if (s % 10 == 0) (void)w.look();
  }
  JobFigures job = w.look().at(0);
  CHECK(job.job == "llama");
  CHECK(job.state == "running");
  CHECK(job.step == 120);
  CHECK(job.steps_per_second == doctest::Approx(1));
  CHECK(job.loss == 2.5);
  CHECK(job.goodput > 0.95);
  CHECK(job.firing == std::map<stream::Severity, std::uint64_t>{{stream::Severity::info, 0},
                                                                {stream::Severity::warning, 0},
                                                                {stream::Severity::critical, 0}});
  for (int s = 121; s <= 420; ++s) w.rest("llama", s);
  job = w.look().at(0);
  CHECK(job.state == "hung");
  CHECK(job.steps_per_second == 0);
  CHECK(job.firing.at(stream::Severity::critical) == 1);
  REQUIRE(job.alerts.size() == 1);
  CHECK(job.alerts[0].family.starts_with("C"));
  CHECK(job.goodput == doctest::Approx(120.0 / 420).epsilon(0.02));
  CHECK(*job.gpu_seconds_lost == doctest::Approx(300).epsilon(0.02));  // one rank
  EntryBuilder end;
  end.about("llama");
  end.event(at(421), EntryBuilder::job(), "end", {});
  w.consume(end, 421);
  CHECK(w.look().at(0).state == "ended");
}

TEST_CASE("all jobs of a shard are published together, however many looks that takes, and at most once a second") {
  Watched w;
  for (std::size_t i = 0; i < 2 * JobWatch::jobs_a_look; ++i) w.step("job" + std::to_string(i), 1, 5);
  w.now += 1h;
  CHECK_FALSE(w.watch.look(w.shard, w.now));
  CHECK_FALSE(w.watch.look(w.shard, w.now));
  const auto jobs = w.watch.look(w.shard, w.now);
  REQUIRE(jobs);
  CHECK(jobs->size() == 2 * JobWatch::jobs_a_look);
  CHECK_FALSE(w.watch.look(w.shard, w.now));
  CHECK_FALSE(w.watch.look(w.shard, w.now + 900ms));
}

TEST_CASE("the list of jobs has the figures that are known, and can be asked for some") {
  JobList list;
  JobFigures llama;
  llama.job = "llama", llama.attempt = "1", llama.state = "hung";
  llama.step = 1200, llama.loss = stream::measured_nan, llama.ranks = 16;
  llama.alerts = {
      {"collective_hang", "C2", stream::Severity::critical, {stream::Level::rank, 3, "n1", "", ""}, "rank 3 on n1"}};
  llama.step_time = {16, 17.6, 1, 1.125, 1.25, 1.5};
  llama.by_rank = {{3, "n1", 1199, stream::absent, 1.5}};
  llama.undecided = {{"throttle", {"sm_clock"}}};
  JobFigures quiet;
  quiet.job = "qui\"et", quiet.state = "running";
  list.publish(0, test::published({llama}));
  list.publish(7, test::published({quiet}));
  const std::string first =
      R"({"job":"llama","attempt":"1","state":"hung","partition":0,"ranks":16,"step":1200,"loss":"NaN",)"
      R"("step_time":{"ranks":16,"least":1,"median":1.125,"p90":1.25,"greatest":1.5},)"
      R"("alerts":[{"rule":"collective_hang","family":"C2","severity":"critical","rank":3,"node":"n1","who":"rank 3 on n1"}],)"
      R"("by_rank":[{"rank":3,"node":"n1","step":1199,"compute_time":1.5}]})";
  const std::string second =
      R"({"job":"qui\"et","attempt":"","state":"running","partition":7,"alerts":[],"by_rank":[]})";
  CHECK(*list.json({}) == "[" + first + "," + second + "]");
  CHECK(*list.json({{"limit", "1"}}) == "[" + first + "]");
  CHECK(*list.json({{"limit", "0"}}) == "[]");
  CHECK(*list.json({{"state", "running"}}) == "[" + second + "]");
  CHECK(*list.json({{"state", "ended"}}) == "[]");
  CHECK(list.json({{"state", "hanging"}}).error().message == "state is starting, running, hung, unobserved or ended");
  const std::string undecided = R"(,"undecided":[{"rule":"throttle","missing":["sm_clock"]}]})";  // of one job alone
  CHECK(*list.json({{"job", "llama"}}) == "[" + first.substr(0, first.size() - 1) + undecided + "]");
  CHECK(*list.json({{"job", "none"}}) == "[]");
  const std::string without_ranks = first.substr(0, first.find(",\"by_rank\""));
  CHECK(*list.json({{"by_rank", "no"}, {"limit", "1"}}) == "[" + without_ranks + "}]");
  CHECK(*list.json({{"job", "llama"}, {"by_rank", "no"}}) == "[" + without_ranks + undecided + "]");
  CHECK(list.json({{"by_rank", "maybe"}}).error().message == "by_rank is yes or no");
  CHECK(list.json({{"limit", "x"}}).error().message == "limit is not a whole number: ?limit=1000");
  CHECK(list.json({{"jobs", "x"}}).error().message ==
        "there is no parameter 'jobs'; known are job, state, by_rank, limit");
  JobFigures cluster;
  cluster.job = "cluster";
  list.publish(3, test::published({cluster}));
  CHECK(*list.json({{"state", "running"}}) == "[" + second + "]");
  CHECK(*list.json({{"job", "cluster"}}) == "[]");
  CHECK(adapters::service::jobs_json({cluster}) == "[]");
  list.withdraw(0);
  CHECK(*list.json({}) == "[" + second + "]");
}
