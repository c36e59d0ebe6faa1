#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "adapters/runtime/shard_runner.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_run.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::runtime::ShardRunner;

namespace {

// A runner with all that it needs but the store, which outlives it.
struct Run {
  explicit Run(MemoryStore& store)
      : entries(log()),
        packs(pack()),
        runner(pack(), {entries, store, packs, &store}, {.save_every = std::chrono::seconds{12}}) {}
  MemoryLog entries;
  MemoryPacks packs;
  ShardRunner runner;
};

// To the end of the log, handing over whenever there is something.
void finish(ShardRunner& runner) {
  while (*runner.step(100) > 0) (void)runner.hand_over();
  while (runner.waits()) (void)runner.hand_over();
}

const MemoryStore& healthy() {
  static MemoryStore store;
  static const bool ran = [] {
    Run run{store};
    finish(run.runner);
    return true;
  }();
  (void)ran;
  return store;
}

}  // namespace

TEST_CASE("a runner publishes what the shard reports, and hands over sections with the packs that they name") {
  CHECK(healthy().published() == judge(log(), pack()).transitions);
  CHECK(healthy().published().size() > 6);
  CHECK(healthy().stored().sections.size() == 4);
  REQUIRE(healthy().stored().packs.size() == 1);
  CHECK(healthy().stored().packs[0].text == pack().pack->text);
  CHECK(healthy().bundles() > 6);
}

TEST_CASE(
    "a sink that fails at random in the end publishes exactly what a healthy one does, and keeps the same state") {
  const std::uint64_t first = test::seed(1);
  for (std::uint64_t round = 0; round < 6; ++round) {
    CAPTURE(first + round);
    std::mt19937_64 random{first + round};
    MemoryStore store{std::uniform_real_distribution<>{0.3, 0.98}(random), random()};
    Run run{store};
    while (*run.runner.step(1 + random() % 200) > 0)
      if (random() % 2) (void)run.runner.hand_over();
    finish(run.runner);
    CHECK(store.published() == healthy().published());
    CHECK(store.stored().sections == healthy().stored().sections);
    CHECK(run.runner.position() == stream::Position{log().messages.size()});
  }
}

TEST_CASE(
    "runners that are dropped at random places over a sink that fails at random publish what one does that is not") {
  const std::uint64_t first = test::seed(1);
  for (std::uint64_t round = 0; round < 3; ++round) {
    CAPTURE(first + round);
    std::mt19937_64 random{first + round};
    MemoryStore store{0.4, random()};
    auto run = std::make_unique<Run>(store);
    for (int drops = 0; drops < 12;) {
      if (*run->runner.step(1 + random() % 100) == 0) break;
      (void)run->runner.hand_over();
      if (random() % 8) continue;
      ++drops;
      run = std::make_unique<Run>(store);
      REQUIRE(run->runner.restore());
    }
    finish(run->runner);
    CHECK(store.published() == healthy().published());
    CHECK(run->runner.shard().digests() == judge(log(), pack()).digests);
  }
}

TEST_CASE(
    "a log that cannot be read and a state that cannot be loaded are returned, and nothing that was judged is lost") {
  MemoryStore store;
  Run run{store};
  run.entries.fails_at = log().messages.size() / 2;
  stream::Result<std::size_t> read{1};
  while ((read = run.runner.step(100)) && *read > 0) {}
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "the log cannot be read");
  run.entries.fails_at.reset();
  finish(run.runner);
  CHECK(store.published() == healthy().published());

  MemoryStore torn;
  REQUIRE(torn.keep({.reports = {}, .sections = {{"", std::vector{std::byte{1}}}}, .packs = {}, .position = {}}));
  CHECK_FALSE(Run{torn}.runner.restore());
}

TEST_CASE("a runner without a store for snapshots hands over reports alone") {
  MemoryStore store;
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  ShardRunner runner{pack(), {entries, store, packs}};
  REQUIRE(runner.restore());
  finish(runner);
  CHECK(store.published() == healthy().published());
  CHECK(store.stored().sections.empty());
}

TEST_CASE("a step that is to end with reports hands them over at the entry that made them") {
  // After how many entries how many reports were published.
  using Published = std::vector<std::pair<std::uint64_t, std::size_t>>;
  const auto published_by = [](std::size_t most_entries, bool until_reports) {
    MemoryStore store;
    Run run{store};
    Published published;
    while (*run.runner.step(most_entries, ShardRunner::ticks_a_step, until_reports) > 0) {
      REQUIRE(run.runner.hand_over());
      const std::size_t now = store.published().size();
      if (published.empty() ? now > 0 : now > published.back().second) published.emplace_back(run.runner.judged(), now);
    }
    CHECK(store.published() == healthy().published());
    return published;
  };
  const Published one_by_one = published_by(1, false);
  CHECK(one_by_one.size() > 3);
  CHECK(published_by(1'000, true) == one_by_one);
  CHECK(published_by(1'000, false) != one_by_one);
}

TEST_CASE("one step runs no more ticks than it may, however long the log was silent, and the results are the same") {
  GeneratedLog silent = generate({.seed = 7, .jobs = 2, .ranks = 4, .seconds = 120});
  schemas::EntryBuilder beat;
  beat.beat();
  silent.messages.resize(silent.messages.size() / 2);  // before the jobs end
  silent.messages.push_back(
      {schemas::encode(beat.entry()), silent.messages.back().arrival + std::chrono::hours{2}, ""});
  MemoryStore store;
  MemoryLog entries{silent};
  MemoryPacks packs{pack()};
  ShardRunner runner{pack(), {entries, store, packs, &store}};
  std::uint64_t ticks = 0;
  int steps = 0;
  for (;; ++steps) {
    const auto worked = runner.step(1'000, 50);
    REQUIRE(worked);
    if (*worked == 0) break;
    (void)runner.hand_over();
    CHECK(runner.shard().counters().ticks - ticks <= 50);
    ticks = runner.shard().counters().ticks;
  }
  CHECK(ticks > 4'000);
  CHECK(steps >= static_cast<int>(ticks / 50));
  CHECK(runner.judged() == silent.messages.size());
  CHECK(runner.shard().digests() == judge(silent, pack()).digests);
  CHECK(store.published() == judge(silent, pack()).transitions);
}

TEST_CASE(
    "what waits is kept at once, also where an entry takes several steps: nothing that was not kept looks like a "
    "commit") {
  MemoryStore store;
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  ShardRunner runner{pack(), {entries, store, packs, &store, true}};
  while (*runner.step(1'000, 3) > 0) {  // the seal ends three jobs
    if (!runner.waits()) continue;
    const int before = store.bundles();
    REQUIRE(runner.hand_over());
    CHECK(store.bundles() == before + 1);
  }
  CHECK(store.published() == healthy().published());
}

TEST_CASE(
    "where the state comes with the reports, its position alone keeps a dropped runner's reports from coming twice") {
  const std::uint64_t first = test::seed(1);
  std::vector<std::string> expected;
  for (std::uint64_t round = 0; round < 5; ++round) {
    CAPTURE(first + round);
    std::mt19937_64 random{first + round};
    PositionStore store;
    MemoryLog entries{log()};
    MemoryPacks packs{pack()};
    const auto begin = [&] {
      return std::make_unique<ShardRunner>(pack(), ShardRunner::Ports{entries, store, packs, &store, true});
    };
    auto runner = begin();
    int drops = 0;
    while (*runner->step(1 + random() % 60, 1 + random() % 9) > 0) {
      REQUIRE(runner->hand_over());
      if (round == 0 || drops == 12 || random() % 6) continue;
      ++drops;
      (void)runner->step(random() % 60);  // judged, and not handed over
      REQUIRE(entries.seek({}));
      runner = begin();
      REQUIRE(runner->restore());
    }
    REQUIRE(runner->hand_over_all());
    if (round == 0) expected = store.published;
    CHECK(expected.size() > 6);
    CHECK(store.published == expected);
    CHECK(runner->shard().digests() ==
          judge(log(), pack()).digests);  // the seal was judged to its end, in however many steps
  }
}

TEST_CASE("a step ends where a restore ends, before anything is judged that was not handed over") {
  MemoryStore store;
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  stream::Position handed_over{};
  {
    ShardRunner runner{pack(), {entries, store, packs, &store}};
    REQUIRE(*runner.step(5) == 5);  // of a log so young that no section is due where the restore ends
    REQUIRE(runner.hand_over_all());
    handed_over = runner.position();
  }
  REQUIRE(entries.seek({}));
  ShardRunner runner{pack(), {entries, store, packs, &store}};
  REQUIRE(runner.restore());
  REQUIRE(runner.shard().restoring());
  while (runner.shard().restoring()) REQUIRE(*runner.step(1'000'000, 1'000'000) > 0);
  CHECK(runner.position() == handed_over);
  CHECK(runner.reports_waiting() == 0);
}

TEST_CASE(
    "a runner has something to hand over whenever the partition is to be shown as its own, at the position that it "
    "has") {
  PositionStore store;
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  ShardRunner runner{pack(), {entries, store, packs, &store, true}};
  runner.renew();
  CHECK_FALSE(runner.waits());  // nothing was read
  for (int i = 0; i < 20; ++i) {
    REQUIRE(*runner.step(1) == 1);
    REQUIRE(runner.hand_over());
    runner.renew();
    CHECK(runner.waits());
    REQUIRE(runner.hand_over());
    CHECK((*store.newest())->position == runner.position());
  }
}

namespace {

// A sink that keeps the texts of packs, as a state does.
class TextStore final : public stream::BundleSink, public stream::SnapshotStore {
 public:
  stream::Result<void> keep(const stream::Bundle& bundle) override {
    if (std::exchange(fails, false)) return stream::Error{stream::Errc::io, "the disk is full"};
    for (const auto& pack : bundle.packs) {
      given += pack.text.empty() ? 0 : 1;
      if (pack.text.empty()) CHECK(texts.contains(pack.hash));
      else texts[pack.hash] = pack.text;
    }
    bundles += bundle.sections.empty() ? 0 : 1;
    return {};
  }
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return texts.contains(hash); }
  stream::Result<std::optional<stream::Stored>> newest() override { return std::optional<stream::Stored>{}; }

  bool fails = true;
  int given = 0, bundles = 0;
  std::map<std::string, std::string, std::less<>> texts;
};

}  // namespace

TEST_CASE("the text of a pack is handed over once, and a sink that has it gets its name") {
  TextStore store;
  MemoryLog entries{log()};
  MemoryPacks packs{pack()};
  ShardRunner runner{pack(), {entries, store, packs, &store}, {.save_every = std::chrono::seconds{12}}};
  finish(runner);
  CHECK(store.bundles > 6);
  CHECK(store.given == 1);
  CHECK(store.texts == decltype(store.texts){{pack().pack->hash, pack().pack->text}});
}
