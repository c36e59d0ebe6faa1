#include "adapters/runtime/shard_loop.h"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_run.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::runtime::ShardLoop;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

const std::vector<std::string>& expected() {
  static const std::vector<std::string> reports = judge(log(), pack()).transitions;
  return reports;
}

// Ends with the log, as `replay` does, and remembers what it was asked for.
class Owner final : public ShardLoop::Owner {
 public:
  Result<stream::LoadedPack> first_pack() override { return first(); }
  bool goes_on() override { return !ended; }
  void wait(std::chrono::milliseconds) override { ++waits, on_wait(); }
  void say(const std::string& line) override { lines.push_back(line); }
  bool wait_for_more() override { return false; }

  std::function<Result<stream::LoadedPack>()> first = [] { return pack(); };
  std::function<void()> on_wait = [] {};
  bool ended = false;
  int waits = 0;
  std::vector<std::string> lines;
};

// A store that answers with an error as long as there is one.
struct Gate final : stream::BundleSink {
  explicit Gate(MemoryStore& store) : behind(&store) {}
  Result<void> keep(const stream::Bundle& bundle) override {
    ++asked;
    return error ? Result<void>{*error} : behind->keep(bundle);
  }
  MemoryStore* behind;
  std::optional<Error> error;
  int asked = 0;
};

struct World {
  World() = default;
  ShardLoop::Options options() const {
    return {.beside = false, .patient = true, .pace = std::chrono::milliseconds{0}};
  }
  adapters::runtime::ShardRunner::Ports ports() { return {entries, gate, packs, &store, true}; }
  MemoryStore store;
  Gate gate{store};
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  Owner owner;
};

}  // namespace

TEST_CASE("a loop publishes what the shard reports, on a thread of the sink's own or without") {
  for (const bool beside : {false, true}) {
    World world;
    auto options = world.options();
    options.beside = beside;
    ShardLoop loop{world.ports(), world.owner, options};
    REQUIRE(loop.restore());
    REQUIRE(loop.run());
    REQUIRE(loop.drain());
    CHECK(world.store.published() == expected());
    CHECK(world.owner.lines.empty());
    CHECK(loop.runner().shard().sealed());
  }
}

TEST_CASE("behind a sink that keeps nothing, judging stops at a number of reports and goes on when it does again") {
  World world;
  auto options = world.options();
  options.most_reports = 3;
  options.entries_a_step = 1;
  world.gate.error = Error{Errc::io, "the broker does not answer"};
  ShardLoop loop{world.ports(), world.owner, options};
  std::optional<stream::Position> stopped_at;
  world.owner.on_wait = [&] {
    const auto position = loop.runner().position();
    CHECK(stopped_at.value_or(position) == position);
    CHECK(loop.runner().reports_waiting() >= options.most_reports);
    CHECK(loop.runner().reports_waiting() <= 2 * options.most_reports);
    stopped_at = position;
    if (world.owner.waits == 5) world.gate.error.reset();
  };
  REQUIRE(loop.restore());
  REQUIRE(loop.run());
  REQUIRE(loop.drain());
  CHECK(world.owner.waits == 5);
  CHECK(world.owner.lines == std::vector<std::string>{"the broker does not answer"});  // once, however often it failed
  CHECK(world.store.published() == expected());
}

TEST_CASE("without patience, a sink that keeps nothing ends the loop, and the reports are still there") {
  World world;
  auto options = world.options();
  options.patient = false;
  options.most_reports = 3;
  world.gate.error = Error{Errc::io, "the disk is full"};
  ShardLoop loop{world.ports(), world.owner, options};
  REQUIRE(loop.restore());
  REQUIRE(loop.run());
  const auto drained = loop.drain();
  REQUIRE_FALSE(drained);
  CHECK(drained.error().message == "the disk is full");
  CHECK(loop.reports_waiting() >= options.most_reports);
}

TEST_CASE("a bundle that may have been kept ends the loop and is not handed over again") {
  World world;
  world.gate.error = Error{Errc::refused, "fenced"};
  ShardLoop loop{world.ports(), world.owner, world.options()};
  REQUIRE(loop.restore());
  const auto ran = loop.run();
  REQUIRE_FALSE(ran);
  CHECK(ran.error().code == Errc::io);  // a new start finds what was kept
  const int asked = world.gate.asked;
  world.gate.error.reset();
  CHECK_FALSE(loop.drain());
  CHECK(world.gate.asked == asked);
}

TEST_CASE("a log that cannot be read is tried again by a patient loop, and ends another") {
  for (const bool patient : {true, false}) {
    World world;
    auto options = world.options();
    options.patient = patient;
    world.entries.fails_at = log().messages.size() / 2;
    world.owner.on_wait = [&] {
      if (world.owner.waits == 3) world.entries.fails_at.reset();
    };
    ShardLoop loop{world.ports(), world.owner, options};
    REQUIRE(loop.restore());
    CHECK(static_cast<bool>(loop.run()) == patient);
    CHECK(world.owner.waits == (patient ? 3 : 0));
    if (!patient) continue;
    CHECK(world.owner.lines == std::vector<std::string>{"the log cannot be read"});
    REQUIRE(loop.drain());
    CHECK(world.store.published() == expected());
  }
}

TEST_CASE("a failure to read that comes back after a success is logged again") {
  World world;
  world.entries.fails_at = 20;
  world.owner.on_wait = [&] {
    if (world.owner.waits == 2) world.entries.fails_at = 40;
    if (world.owner.waits == 4) world.entries.fails_at.reset();
  };
  auto options = world.options();
  options.entries_a_step = 1;
  ShardLoop loop{world.ports(), world.owner, options};
  REQUIRE(loop.restore());
  REQUIRE(loop.run());
  CHECK(world.owner.waits == 4);
  CHECK(world.owner.lines == std::vector<std::string>(2, "the log cannot be read"));
}

TEST_CASE("a state that cannot be restored ends a patient loop, too") {
  World world;
  world.owner.first = []() -> Result<stream::LoadedPack> { return Error{Errc::unknown_version, "it is newer"}; };
  world.owner.on_wait = [&] { world.owner.ended = true; };
  ShardLoop loop{world.ports(), world.owner, world.options()};
  const auto restored = loop.restore();
  REQUIRE_FALSE(restored);
  CHECK(restored.error().code == Errc::unknown_version);
  CHECK(world.owner.waits == 0);
}

TEST_CASE("a restore is tried again while the world refuses it, until the owner ends the loop") {
  World world;
  world.owner.first = [&]() -> Result<stream::LoadedPack> {
    if (world.owner.waits < 2) return Error{Errc::io, "the group has no coordinator"};
    return pack();
  };
  ShardLoop loop{world.ports(), world.owner, world.options()};
  REQUIRE(loop.restore());
  CHECK(world.owner.lines.size() == 1);
  CHECK(loop.run());

  World other;
  other.owner.first = []() -> Result<stream::LoadedPack> { return Error{Errc::io, "the group has no coordinator"}; };
  other.owner.on_wait = [&] { other.owner.ended = other.owner.waits == 2; };
  ShardLoop ended{other.ports(), other.owner, other.options()};
  CHECK(ended.restore());
  CHECK(ended.run());
  CHECK(ended.drain());
  CHECK(other.gate.asked == 0);
}

TEST_CASE("a rule that fails is lines once for each of its messages, not at each evaluation") {
  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  REQUIRE(files);
  (*files)["failing.lua"] = R"(rule "failing" { per = "job", every = "10s", summary = "fails",
    needs = { step = signal "step" { over = "30s" } },
    evaluate = function(job)
      local most = job.step:last():max("job"):number() or 0
      if most >= 0 then local y = nil + 1 end
      return job.step:last():max("job"):above(1)
    end })";
  const auto loaded = dsl::load(*files);
  REQUIRE(loaded.pack);
  World world;
  world.owner.first = [&] { return stream::LoadedPack{loaded.pack, pack().extraction}; };
  ShardLoop loop{world.ports(), world.owner, world.options()};
  REQUIRE(loop.restore());
  REQUIRE(loop.run());
  CHECK(loop.runner().shard().counters().quarantined > 1);
  REQUIRE(world.owner.lines.size() == 1);
  CHECK(world.owner.lines[0].starts_with("rule 'failing' failed and is disabled"));
  CHECK(world.owner.lines[0].find("failing.lua:5") != std::string::npos);
}

TEST_CASE("jobs for which there is no room are named in the log, at once and then those of a while in one line") {
  for (const auto pace : {std::chrono::milliseconds{0}, std::chrono::milliseconds{3'600'000}}) {
    World world;
    auto options = world.options();
    options.entries_a_step = 1;
    options.pace = pace;
    options.shard.most_state = 1;  // the first job takes it
    ShardLoop loop{world.ports(), world.owner, options};
    REQUIRE(loop.restore());
    REQUIRE(loop.run());
    CHECK(loop.runner().shard().subjects() == 1);
    const std::uint64_t refused = loop.runner().shard().counters().state_limit;
    const auto& lines = world.owner.lines;
    REQUIRE(refused > 2);
    REQUIRE(lines.size() == (pace.count() == 0 ? refused : 2));
    CHECK(lines[0].ends_with(" of the 0 MiB of limits.state_size; dropped 1 records, of 'job-1' (1)"));
    if (lines.size() == 2)
      CHECK(lines[1].find("; dropped " + std::to_string(refused - 1) + " records, of ") != std::string::npos);
  }
}
