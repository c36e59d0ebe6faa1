#include "adapters/journal/alert_history.h"

#include <doctest/doctest.h>

#include "adapters/journal/directory.h"
#include "tests/journal/directory.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;

namespace {

struct Directory : TestDirectory {
  Directory() { fs::create_directories(path()); }
};

}  // namespace

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
        "{\"id\":\"0000000000000007\",\"number\":1,\"rule\":\"x\"}\n{\"id\":\"0000000000000007\",\"number\":2,\"rule\":"
        "\"x\"}\n"
        "{\"id\":\"ffffffffffffffff\",\"number\":0,\"verdict\":{\"family\":\"C2\"}}\n");
}

TEST_CASE("each sync appends, and an object of several lines becomes one") {
  Directory directory;
  auto history = AlertHistory::open(directory.path());
  REQUIRE(history->add(1, 1, "{\n\"rule\":\"a\"\n}"));
  REQUIRE(history->sync());
  REQUIRE(history->add(2, 1, R"({"rule":"b"})"));
  REQUIRE(history->sync());
  CHECK(*read_whole(directory.path() / "alerts.jsonl") ==
        "{\"id\":\"0000000000000001\",\"number\":1, \"rule\":\"a\" "
        "}\n{\"id\":\"0000000000000002\",\"number\":1,\"rule\":\"b\"}\n");
  CHECK(AlertHistory::open(directory.path())->size() == 2);
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
        "{\"id\":\"0000000000000001\",\"number\":1,\"rule\":\"a\"}\n{\"id\":\"0000000000000002\",\"number\":1,\"rule\":"
        "\"b\"}\n");
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
  CHECK(*read_whole(file) == "{\"id\":\"0000000000000001\",\"number\":1,\"rule\":\"a\"}\n");
  CHECK_FALSE(*history->add(1, 1, R"({"rule":"a"})"));
  CHECK(*history->add(2, 1, R"({"rule":"b"})"));
}

TEST_CASE("a history that may not grow without end begins another file, and knows what the two newest hold") {
  Directory directory;
  const std::string line = R"({"rule":"a","shows":"forty bytes of text, more or less"})";
  {
    auto history = AlertHistory::open(directory.path(), 200);
    for (std::uint64_t id = 1; id <= 5; ++id) {
      REQUIRE(history->add(id, 1, line));
      REQUIRE(history->sync());
    }
    CHECK_FALSE(*history->add(1, 1, line));
  }
  auto history = AlertHistory::open(directory.path(), 200);
  REQUIRE(history);
  CHECK(history->size() == 5);
  CHECK_FALSE(*history->add(1, 1, line));
  CHECK_FALSE(*history->add(5, 1, line));
  for (std::uint64_t id = 6; id <= 8; ++id) {
    REQUIRE(history->add(id, 1, line));
    REQUIRE(history->sync());
  }
  CHECK(*history->add(1, 1, line));  // it is in neither any more
  CHECK_FALSE(*history->add(8, 1, line));
}
