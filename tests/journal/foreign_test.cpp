// A journal that comes from elsewhere: links, FIFOs and files of others stand where ours should.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "adapters/journal/alert_history.h"
#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"
#include "adapters/journal/state.h"
#include "tests/journal/directory.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;

namespace {

struct Foreign : TestDirectory {
  Foreign() {
    fs::create_directories(journal());
    fs::create_directories(outside());
    write(file(), "of somebody else");
  }
  [[nodiscard]] fs::path journal() const { return path() / "journal"; }
  [[nodiscard]] fs::path outside() const { return path() / "outside"; }
  [[nodiscard]] fs::path file() const { return outside() / "notes"; }
  [[nodiscard]] bool untouched() const {
    const auto names = OpenDirectory::open(outside())->names();
    return *names == std::vector<std::string>{"notes"} && *read_whole(file()) == "of somebody else";
  }
  static void write(const fs::path& to, const std::string& text) { std::ofstream{to, std::ios::binary} << text; }
};

stream::Bundle bundle() {
  stream::Bundle made;
  made.position = stream::Position{5};
  made.sections["job"] = std::vector<std::byte>(100);
  made.packs = {{"0123456789abcdef", "rule"}};
  return made;
}

}  // namespace

TEST_CASE("a state whose directories are links is refused, and nothing behind them is written or removed") {
  for (const char* linked : {"state", "state/packs"}) {
    Foreign foreign;
    REQUIRE(StateStore{foreign.journal()}.store(bundle()));
    fs::remove_all(foreign.journal() / linked);
    fs::create_directory_symlink(foreign.outside(), foreign.journal() / linked);
    StateStore store{foreign.journal()};
    CHECK_FALSE(store.newest());
    const auto stored = store.store(bundle());
    REQUIRE_FALSE(stored);
    CHECK(stored.error().message.find(linked) != std::string::npos);
    CHECK(
        stored.error().message.ends_with("a journal has files and directories of its own and no links: move it away"));
    CHECK(foreign.untouched());
  }
}

TEST_CASE("files of the state that are links are replaced, and what they lead to stays") {
  Foreign foreign;
  REQUIRE(StateStore{foreign.journal()}.store(bundle()));
  const fs::path state = foreign.journal() / "state";
  const std::string section = [&] {
    for (const auto& file : fs::directory_iterator{state})
      if (const std::string name = file.path().filename(); name.starts_with("section-")) return name;
    return std::string{};
  }();
  REQUIRE(section.ends_with("-1"));
  const fs::path next = state / (section.substr(0, section.size() - 1) + "2");
  for (const bool hard : {false, true})
    for (const fs::path& linked : {state / "manifest.new", next}) {
      fs::remove(linked);
      if (hard) fs::create_hard_link(foreign.file(), linked);
      else fs::create_symlink(foreign.file(), linked);
      stream::Bundle changed = bundle();
      changed.sections["job"] = std::vector<std::byte>(101);
      StateStore store{foreign.journal()};
      REQUIRE(store.store(linked == next ? changed : bundle()));
      CHECK(foreign.untouched());
      REQUIRE(*StateStore{foreign.journal()}.newest());
      fs::remove_all(state);
      REQUIRE(StateStore{foreign.journal()}.store(bundle()));
    }
}

TEST_CASE("a history that is a link is refused and what it leads to stays") {
  Foreign foreign;
  fs::create_symlink(foreign.file(), foreign.journal() / "alerts.jsonl");
  const auto history = AlertHistory::open(foreign.journal());
  REQUIRE_FALSE(history);
  CHECK(history.error().message.find("no links: move it away") != std::string::npos);
  CHECK(foreign.untouched());
}

TEST_CASE("a history or a segment that has another name elsewhere is read and never written") {
  for (const bool torn : {false, true}) {  // nothing, or what looks like the beginning of a line of ours
    Foreign foreign;
    const fs::path other = foreign.outside() / "other";
    Foreign::write(other, torn ? "{\"id\":\"0000" : "");
    fs::create_hard_link(other, foreign.journal() / "alerts.jsonl");
    fs::create_hard_link(other, foreign.journal() / segment_name(0));
    const auto history = AlertHistory::open(foreign.journal());
    REQUIRE_FALSE(history);
    CHECK(history.error().message.find("no links: move it away") != std::string::npos);
    CHECK(Reader::open(foreign.journal()));
    CHECK_FALSE(Writer::open(foreign.journal(), {}));
    CHECK(*read_whole(other) == (torn ? "{\"id\":\"0000" : ""));
  }
}

TEST_CASE("a history whose last line is not the beginning of an alert of ours stays as it is") {
  const std::string ours = "{\"id\":\"0000000000000001\",\"number\":1,\"rule\":\"a\"}\n";
  for (const std::string& last : {std::string{"some notes"}, std::string{"{\"id\":\"none\""}, std::string{"1234"}})
    for (const std::string& before : {std::string{}, ours}) {
      Foreign foreign;
      Foreign::write(foreign.journal() / "alerts.jsonl", before + last);
      const auto history = AlertHistory::open(foreign.journal());
      REQUIRE_FALSE(history);
      CHECK(history.error().message.find("byte " + std::to_string(before.size()) + " that is not an alert") !=
            std::string::npos);
      CHECK(*read_whole(foreign.journal() / "alerts.jsonl") == before + last);
    }
  for (std::size_t size = 0; size < ours.size(); ++size)  // each torn line of ours, and what a disk may have lost of it
    for (const std::size_t lost : {0, 3}) {
      Foreign foreign;
      Foreign::write(foreign.journal() / "alerts.jsonl", ours + ours.substr(0, size) + std::string(lost, '\0'));
      const auto history = AlertHistory::open(foreign.journal());
      REQUIRE(history);
      CHECK(history->cut_bytes() == size + lost);
      CHECK(*read_whole(foreign.journal() / "alerts.jsonl") == ours);
    }
}

TEST_CASE("a segment that is a FIFO or a link is an error for readers and writers, and blocks neither") {
  for (const bool fifo : {true, false}) {
    Foreign foreign;
    const fs::path segment = foreign.journal() / segment_name(0);
    if (fifo) REQUIRE(::mkfifo(segment.c_str(), 0600) == 0);
    else fs::create_symlink(foreign.file(), segment);
    const auto reader = Reader::open(foreign.journal());
    REQUIRE_FALSE(reader);
    CHECK(reader.error().message.find("no links: move it away") != std::string::npos);
    CHECK_FALSE(Writer::open(foreign.journal()));
    CHECK(foreign.untouched());
  }
}

TEST_CASE("a lock that is a FIFO or a link is an error for writers, and no sign of one for others") {
  for (const bool fifo : {true, false}) {
    Foreign foreign;
    const fs::path lock = foreign.journal() / "lock";
    if (fifo) REQUIRE(::mkfifo(lock.c_str(), 0600) == 0);
    else fs::create_symlink(foreign.file(), lock);
    CHECK_FALSE(is_written(foreign.journal()));
    CHECK_FALSE(Writer::open(foreign.journal()));
    CHECK(foreign.untouched());
  }
}

TEST_CASE("the journal's own directory may be reached through a link") {
  Foreign foreign;
  fs::create_directory_symlink(foreign.journal(), foreign.path() / "name");
  REQUIRE(Writer::open(foreign.path() / "name"));
  CHECK(Reader::open(foreign.path() / "name"));
  CHECK(StateStore{foreign.path() / "name"}.store(bundle()));
}
