#include "adapters/journal/state.h"

#include <doctest/doctest.h>

#include <fstream>

#include "adapters/journal/segments.h"
#include "tests/journal/directory.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;

namespace {

schemas::Snapshot snapshot(std::uint64_t position) {
  schemas::Snapshot made;
  made.position = stream::Position{position};
  made.clock = stream::at_nanoseconds(1000 + static_cast<std::int64_t>(position));
  made.marks = {{stream::Position{1}, stream::at_nanoseconds(10)}, {stream::Position{2}, stream::at_nanoseconds(20)}};
  made.pack_hash = "abc";
  made.sections[""] = {std::byte{1}, std::byte{2}};
  made.sections["job"] = {};
  made.sections[std::string("odd\0name", 8)] = std::vector<std::byte>(10'000, std::byte{7});
  return made;
}

struct Directory : TestDirectory {
  Directory() { fs::create_directories(path()); }
};

}  // namespace

TEST_CASE("the newest snapshot comes back as it was stored, and only two are kept") {
  Directory directory;
  SnapshotStore store{directory.path()};
  CHECK_FALSE(*store.newest());
  for (const std::uint64_t position : {5u, 1000u, 99u + 1000u}) REQUIRE(store.store(snapshot(position)));
  const auto newest = store.newest();
  REQUIRE((newest && *newest));
  CHECK((*newest)->position == stream::Position{1099});
  CHECK((*newest)->sections == snapshot(0).sections);
  CHECK((*newest)->marks == snapshot(0).marks);
  CHECK((*newest)->pack_hash == "abc");
  CHECK(std::distance(fs::directory_iterator{directory.path()}, fs::directory_iterator{}) == 2);
}

TEST_CASE("a torn snapshot gives way to the one before, and none whole is an error, never a beginning anew") {
  Directory directory;
  SnapshotStore store{directory.path()};
  REQUIRE(store.store(snapshot(5)));
  REQUIRE(store.store(snapshot(9)));
  const fs::path newer = directory.path() / ("snapshot-" + std::string(19, '0') + "9"),
                 older = directory.path() / ("snapshot-" + std::string(19, '0') + "5");
  fs::resize_file(newer, fs::file_size(newer) / 2);
  CHECK((*store.newest())->position == stream::Position{5});
  fs::resize_file(older, 3);
  REQUIRE_FALSE(store.newest());
  CHECK(store.newest().error().code == stream::Errc::torn);
}

TEST_CASE("a snapshot of a newer program is refused, also where an older one stands beside it") {
  Directory directory;
  SnapshotStore store{directory.path()};
  REQUIRE(store.store(snapshot(5)));
  auto newer = snapshot(9);
  newer.format = schemas::snapshot_format + 1;
  REQUIRE(store.store(newer));
  REQUIRE_FALSE(store.newest());
  CHECK(store.newest().error().code == stream::Errc::unknown_version);
}

TEST_CASE("no flipped bit of a snapshot passes unseen") {
  const auto bytes = *schemas::encode(snapshot(5));
  const auto before = snapshot(5);
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < bytes.size() * 8; i += i % 512 == 511 ? 4096 : 1) {
    auto flipped = bytes;
    flipped[i / 8] ^= std::byte{1} << i % 8;
    const auto read = schemas::decode_snapshot(flipped);
    if (read && (read->sections != before.sections || read->position != before.position || read->clock != before.clock ||
                 read->marks != before.marks || read->pack_hash != before.pack_hash || read->format != before.format))
      ++accepted;
  }
  CHECK(accepted == 0);
}

TEST_CASE("a transition that is in the history is not written again, also after a restart") {
  Directory directory;
  {
    auto history = AlertHistory::open(directory.path());
    REQUIRE(history);
    CHECK(*history->add(7, 1, R"({"id":"0000000000000007","number":1,"rule":"x"})"));
    CHECK_FALSE(*history->add(7, 1, R"({"id":"0000000000000007","number":1,"rule":"x"})"));
    CHECK(*history->add(7, 2, R"({"id":"0000000000000007","number":2,"rule":"x"})"));
    CHECK(*history->add(~0ull, 0, R"({"verdict":{"family":"C2"}})"));
    REQUIRE(history->sync());
  }
  auto history = AlertHistory::open(directory.path());
  REQUIRE(history);
  CHECK(history->size() == 3);
  CHECK_FALSE(*history->add(7, 2, "{}"));
  CHECK_FALSE(*history->add(~0ull, 0, "{}"));
  CHECK(*read_whole(directory.path() / "alerts.jsonl") ==
        "{\"id\":\"0000000000000007\",\"number\":1,\"rule\":\"x\"}\n{\"id\":\"0000000000000007\",\"number\":2,\"rule\":\"x\"}\n"
        "{\"id\":\"ffffffffffffffff\",\"number\":0,\"verdict\":{\"family\":\"C2\"}}\n");
}

TEST_CASE("what was added and not synced is new again after a restart") {
  Directory directory;
  {
    auto history = AlertHistory::open(directory.path());
    REQUIRE(history->add(1, 1, R"({"rule":"a"})"));
    REQUIRE(history->sync());
    REQUIRE(history->add(2, 1, R"({"rule":"b"})"));
  }
  auto history = AlertHistory::open(directory.path());
  REQUIRE(history);
  CHECK(history->size() == 1);
  CHECK(*history->add(2, 1, R"({"rule":"b"})"));
  REQUIRE(history->sync());
  CHECK(*read_whole(directory.path() / "alerts.jsonl") ==
        "{\"id\":\"0000000000000001\",\"number\":1,\"rule\":\"a\"}\n{\"id\":\"0000000000000002\",\"number\":1,\"rule\":\"b\"}\n");
}

TEST_CASE("a torn last line of the history is cut, and its transition is new again") {
  Directory directory;
  {
    auto history = AlertHistory::open(directory.path());
    REQUIRE(history->add(1, 1, R"({"rule":"a"})"));
    REQUIRE(history->add(2, 1, R"({"rule":"b"})"));
    REQUIRE(history->sync());
  }
  const fs::path file = directory.path() / "alerts.jsonl";
  fs::resize_file(file, fs::file_size(file) - 3);
  auto history = AlertHistory::open(directory.path());
  REQUIRE(history);
  CHECK(history->cut_bytes() > 0);
  CHECK_FALSE(*history->add(1, 1, R"({"rule":"a"})"));
  CHECK(*history->add(2, 1, R"({"rule":"b"})"));
}
