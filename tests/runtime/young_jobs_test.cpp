// Restarts of the service while jobs are young: a job whose section was not saved yet is judged again from its first
// record.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "adapters/runtime/shard_runner.h"
#include "tests/runtime/fakes.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::runtime::ShardRunner;
using schemas::EntryBuilder;

namespace {

const stream::LoadedPack& pack() {
  static const stream::LoadedPack loaded = SmallJob::load(R"lua(signals {
      heat = { kind = "gauge", unit = "none", owner = "rank" } })lua",
                                                          R"lua(
      rule "hot" { family = "B3", per = "rank", every = "5s", needs = { heat = signal "heat" { over = "60s" } },
        shows = "rank {rank} on {node} is hot",
        evaluate = function(job) return job.heat:last():above(50) end }
      rule "anyone_hot" { family = "B3", per = "job", every = "5s", needs = { heat = signal "heat" { over = "60s" } },
        shows = "{who} is hot",
        evaluate = function(job)
          local hot = job.heat:max():above(50)
          return hot:any("job"), { who = hot }
        end })lua");
  return loaded;
}

// Messages a log gets, and the entries that a restore has read again.
class Log {
 public:
  void add(const EntryBuilder& builder, double s) {
    auto& b = const_cast<EntryBuilder&>(builder);
    log_.messages.push_back({schemas::encode(b.entry()), SmallJob::at(s), ""});
  }
  void beat(double s) {
    EntryBuilder b;
    b.beat();
    add(b, s);
  }
  void start(const std::string& job, double s, const std::string& attempt = {}) {
    EntryBuilder b;
    b.about(job, attempt);
    const EntryBuilder::Field size[] = {{"world_size", 2, {}, false}};
    b.event(SmallJob::at(s), EntryBuilder::job(), "start", size, "scheduler");
    for (std::uint32_t rank : {0, 1})
      b.event(SmallJob::at(s), {stream::Level::rank, rank, job + "-n" + std::to_string(rank), "0"}, "member", {},
              "scheduler");
    add(b, s);
  }
  void heat(const std::string& job, double s, double first, double second) {
    EntryBuilder b;
    b.about(job);
    for (std::uint32_t rank : {0, 1}) {
      const EntryBuilder::Value values[] = {{"heat", rank == 0 ? first : second, {}, false}};
      b.sample(SmallJob::at(s), EntryBuilder::rank(rank), values);
    }
    add(b, s);
  }
  void end(const std::string& job, double s) {
    EntryBuilder b;
    b.about(job);
    const EntryBuilder::Field why[] = {{"reason", 0, "failed", true}};
    b.event(SmallJob::at(s), EntryBuilder::job(), "end", why, "scheduler");
    add(b, s);
  }
  [[nodiscard]] const GeneratedLog& messages() const { return log_; }
  [[nodiscard]] std::size_t size() const { return log_.messages.size(); }

 private:
  GeneratedLog log_;
};

// A job of two ranks from `from` on: the second is hot for `hot` seconds from the fifth on. 0: it has no end.
void job_of(Log& log, const std::string& name, int s, int from, int seconds) {
  if (s < from || s > from + seconds) return;
  if (s == from) log.start(name, s + 0.1);
  else if (s == from + seconds) log.end(name, s + 0.1);
  else log.heat(name, s + 0.2, 10, s >= from + 5 && s < from + 25 ? 90 : 10);
}

// The service over what it keeps, an entry at a time, each bundle handed over at once.
struct Service {
  Service(const Log& log, PositionStore state)
      : store(std::move(state)),
        entries(log.messages()),
        packs(pack()),
        runner(pack(), {entries, store, packs, &store, true}) {
    REQUIRE(runner.restore());
    from = runner.position();
  }
  bool step() {
    const std::size_t judged = *runner.step(1, ShardRunner::ticks_a_step, true);
    REQUIRE(runner.hand_over());
    return judged > 0;
  }
  PositionStore store;
  MemoryLog entries;
  MemoryPacks packs;
  ShardRunner runner;
  stream::Position from{};  // where it began to read
};

}  // namespace

TEST_CASE("a service that is killed at any entry of young jobs reports what one does that is not") {
  // Before and behind the log's marks, half a minute apart; the second job ends before its first section is due.
  for (const int from : {57, 62, 90, 109, 118}) {
    CAPTURE(from);
    Log log;
    for (int s = 0; s < from + 200; ++s) {
      job_of(log, "long", s, from, 60);
      job_of(log, "short", s, from + 4, 13);
      log.beat(s + 0.9);
    }
    std::vector<PositionStore> kept;
    Service whole{log, {}};
    do kept.push_back(whole.store);
    while (whole.step());
    REQUIRE(whole.store.published.size() == 8);
    const auto first = static_cast<std::size_t>(from);
    for (std::size_t killed = first; killed < first + 150; ++killed) {
      CAPTURE(killed);
      Service again{log, kept.at(killed)};
      while (again.step()) {}
      CHECK(again.store.published == whole.store.published);
      CHECK(again.runner.shard().digests() == whole.runner.shard().digests());
    }
  }
}

TEST_CASE("a service that is killed again and again reads back no further each time") {
  Log log;
  for (int s = 0; s < 2000; ++s) {
    job_of(log, "job", s, 70, 3000);
    log.beat(s + 0.9);
  }
  PositionStore store;
  std::vector<std::uint64_t> read_again;
  for (std::uint64_t killed = 218; killed < log.size(); killed += 218) {
    Service service{log, store};
    while (static_cast<std::uint64_t>(service.runner.position()) < killed) REQUIRE(service.step());
    store = service.store;
    read_again.push_back(killed - static_cast<std::uint64_t>((Service{log, store}.from)));
  }
  // A section is five minutes old at most, its rows reach back for two, and a mark is half a minute older: two
  // entries a second.
  CHECK(*std::max_element(read_again.begin(), read_again.end()) <= 2 * (300 + 120 + 30));
}
