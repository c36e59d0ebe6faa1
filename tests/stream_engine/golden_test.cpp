// A journal with the state that an engine left beside it, as the last format wrote them: today's engine goes on from
// there as if it had judged the journal from its beginning. After a change of the format: remove golden/state and run
// with TOCSIN_WRITE_GOLDEN=1.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <span>
#include <stdexcept>

#include "adapters/journal/follow.h"
#include "adapters/journal/journal.h"
#include "adapters/packs/pack_store.h"
#include "adapters/runtime/disk_sink.h"
#include "adapters/runtime/shard_runner.h"
#include "dsl/load/loader.h"
#include "dsl/load/text_definitions.h"
#include "tests/journal/directory.h"
#include "tests/runtime/fakes.h"
#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;
using namespace tocsin::adapters;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path{TOCSIN_SOURCE_DIR} / "tests/stream_engine/golden";

// Its rules were written when a rule without `shows` was no error yet.
stream::LoadedPack compiled(const dsl::PackFiles& files) {
  auto loaded = dsl::load(files);
  if (!loaded.pack) throw std::runtime_error("the golden pack does not load: " + dsl::list(loaded.problems));
  return {loaded.pack, dsl::compile_text(files).extraction};
}

// The journal up to its end. Without a state: from its beginning.
Reported judged(const fs::path& journal, const stream::LoadedPack& pack, stream::SnapshotStore* state) {
  journal::Follower log{*journal::Reader::open(journal)};
  MemoryStore kept;
  packs::PackStore store;
  store.add(pack);
  runtime::ShardRunner runner{pack, {log, kept, store, state}};
  const auto restored = runner.restore();
  if (!restored) throw std::runtime_error(restored.error().message);
  while (*runner.step(100) > 0) {}
  REQUIRE(runner.hand_over());
  return {runner.shard().digests(), runner.shard().row_digests(), kept.published()};
}

void write_golden() {
  const GeneratedLog log = join(generate({.seed = 12, .jobs = 2, .ranks = 3, .seconds = 80, .grain = 1}));
  TestDirectory directory;
  {
    auto writer = journal::Writer::open(directory.path());
    for (const auto& message : log.messages) REQUIRE(writer->append(message.bytes, message.arrival));
  }
  const auto pack = compiled(*dsl::read_pack(golden / "pack"));
  journal::StateStore state{directory.path()};
  journal::Follower entries{*journal::Reader::open(directory.path())};
  runtime::DiskSink sink{*journal::AlertHistory::open(directory.path()), state,
                         [](const stream::Report&, std::string_view) {}};
  packs::PackStore store;
  store.add(pack);
  runtime::ShardRunner runner{pack, {entries, sink, store, &state}, {.save_every = std::chrono::seconds{12}}};
  while (runner.judged() + 20 < log.messages.size() && *runner.step(1) > 0) REQUIRE(runner.hand_over());
  fs::create_directories(golden / "state");
  for (const char* kept : {"00000000000000000000.journal", "state"})
    fs::copy(directory.path() / kept, golden / "state" / kept, fs::copy_options::recursive);
}

// A copy that a test may change.
struct Copy {
  Copy() {
    if (std::getenv("TOCSIN_WRITE_GOLDEN") != nullptr && !fs::exists(golden / "state")) write_golden();
    fs::copy(golden / "state", directory.path(), fs::copy_options::recursive);
  }
  TestDirectory directory;
};

}  // namespace

TEST_CASE("a state that the last format wrote is gone on from as if there had been none") {
  const Copy copy;
  journal::StateStore state{copy.directory.path()};
  const auto stored = state.newest();
  REQUIRE_MESSAGE((stored && *stored), (stored ? "there is none" : stored.error().message));
  CHECK((*stored)->sections.size() == 3);
  REQUIRE((*stored)->packs.size() == 1);
  const auto pack = compiled(*dsl::pack_files((*stored)->packs[0].text));
  // The pack that it names is found beside it, whatever the engine begins with.
  const auto other = compiled({{"signals.lua", "signals { any = { kind = \"liveness\", owner = \"rank\" } }"}});
  const Reported resumed = judged(copy.directory.path(), other, &state),
                 whole = judged(copy.directory.path(), pack, nullptr);
  for (const auto& line : resumed.transitions) MESSAGE(line);
  CHECK(resumed.transitions.size() > 3);
  REQUIRE(resumed.transitions.size() < whole.transitions.size());
  const auto later = whole.transitions.end() - static_cast<std::ptrdiff_t>(resumed.transitions.size());
  CHECK(std::vector<std::string>(later, whole.transitions.end()) == resumed.transitions);
  CHECK(resumed.rows == whole.rows);
}

TEST_CASE("no bytes in a section crash an engine that loads it and goes on") {
  const Copy copy;
  const auto stored = *journal::StateStore{copy.directory.path()}.newest();
  REQUIRE(stored);
  const auto pack = compiled(*dsl::pack_files(stored->packs[0].text));
  packs::PackStore store;
  store.add(pack);
  std::mt19937_64 random{test::seed(1)};
  int loaded = 0;
  for (int round = 0; round < 200; ++round) {
    stream::Bundle bundle{
        .reports = {}, .sections = stored->sections, .packs = stored->packs, .position = stored->position};
    for (auto& [name, content] : bundle.sections) {
      auto bytes = content.bytes();
      for (auto changes = random() % 4; changes > 0; --changes) {
        const std::size_t at = random() % bytes.size();
        if (random() % 2) bytes[at] = static_cast<std::byte>(random());
        else
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(4, bytes.size() - at),
                      std::byte{0xFF});
      }
      content = std::move(bytes);
    }
    MemoryStore state;
    REQUIRE(state.keep(bundle));
    journal::Follower log{*journal::Reader::open(copy.directory.path())};
    runtime::ShardRunner runner{pack, {log, state, store, &state}};
    if (!runner.restore()) continue;
    ++loaded;
    (void)runner.step(50);
    (void)runner.hand_over();
  }
  CHECK(loaded > 0);
}
