// What counts as a change of the rules in a directory, and when it is noticed.
#include "adapters/service/reloader.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace std::chrono_literals;
using tocsin::adapters::service::RuleWatch;
namespace fs = std::filesystem;

namespace {

// A directory of rules, and a clock that the test moves.
struct Rules {
  fs::path folder = fs::temp_directory_path() / ("tocsin_watch_" + std::to_string(getpid()));
  fs::path rules = folder / "rules";
  RuleWatch::Clock::time_point now{100s};

  Rules() {
    fs::remove_all(folder);
    fs::create_directories(rules);
    write("a.lua", "one");
  }
  ~Rules() { fs::remove_all(folder); }
  void write(const fs::path& name, const std::string& text) const {
    const fs::path other = rules / (name.string() + ".tmp");
    std::ofstream{other} << text;
    fs::rename(other, rules / name);  // a new inode: the clock of the file system may be coarse
  }
  // Looks every quarter of a second for so long; how many changes were reported.
  int changes(RuleWatch& watch, std::chrono::milliseconds time) {
    int count = 0;
    for (const auto end = now + time; now < end; now += 250ms) count += watch.changed(now) ? 1 : 0;
    return count;
  }
};

}  // namespace

TEST_CASE("a change is reported once, when a second has passed without another") {
  Rules rules;
  RuleWatch watch{{rules.rules}};
  CHECK(rules.changes(watch, 3s) == 0);
  rules.write("a.lua", "two");
  CHECK(rules.changes(watch, 1s) == 0);
  CHECK(rules.changes(watch, 500ms) == 1);
  CHECK(rules.changes(watch, 3s) == 0);
}

TEST_CASE("many changes one after another are one") {
  Rules rules;
  RuleWatch watch{{rules.rules}};
  for (int i = 0; i < 20; ++i) {
    rules.write("file" + std::to_string(i) + ".lua", "x");
    CHECK(rules.changes(watch, 500ms) == 0);
  }
  CHECK(rules.changes(watch, 2s) == 1);
}

TEST_CASE(
    "files that come, go, or are replaced by others of the same size are changes; other files and hidden ones are "
    "none") {
  Rules rules;
  RuleWatch watch{{rules.rules}};
  rules.write("b.lua", "x");
  CHECK(rules.changes(watch, 2s) == 1);
  rules.write("b.lua", "y");
  CHECK(rules.changes(watch, 2s) == 1);
  fs::remove(rules.rules / "b.lua");
  CHECK(rules.changes(watch, 2s) == 1);
  fs::create_directory(rules.rules / "patterns");
  CHECK(rules.changes(watch, 2s) == 0);
  rules.write("patterns/c.lua", "x");
  CHECK(rules.changes(watch, 2s) == 1);
  rules.write("notes.md", "x");
  rules.write(".hidden.lua", "x");
  fs::create_directory(rules.rules / ".git");
  rules.write(".git/d.lua", "x");
  CHECK(rules.changes(watch, 2s) == 0);
}

TEST_CASE("a link to another directory is a change, be it within the rules or the rules themselves") {
  Rules rules;
  const fs::path mount = rules.folder / "mount", link = rules.folder / "current";
  for (const char* version : {"..1", "..2"}) {
    fs::create_directories(mount / version);
    std::ofstream{mount / version / "a.lua"} << "same";
  }
  fs::create_symlink("..1", mount / "..data");
  fs::create_symlink("..data/a.lua", mount / "a.lua");
  fs::create_directory_symlink(rules.rules, link);
  RuleWatch watch{{mount, link}};
  fs::create_symlink("..2", mount / "..data_tmp");
  fs::rename(mount / "..data_tmp", mount / "..data");
  CHECK(rules.changes(watch, 2s) == 1);
  fs::create_directory_symlink(mount, rules.folder / "next");
  fs::rename(rules.folder / "next", link);
  CHECK(rules.changes(watch, 2s) == 1);
}

TEST_CASE("a change in a directory that a link among the rules leads to is noticed") {
  Rules rules;
  fs::create_directories(rules.folder / "site");
  fs::create_directory_symlink("../site", rules.rules / "site");
  RuleWatch watch{{rules.rules}};
  rules.write("site/b.lua", "x");
  CHECK(rules.changes(watch, 2s) == 1);
}

TEST_CASE("a directory that goes and comes back is two changes, and none where it is back at once") {
  Rules rules;
  RuleWatch watch{{rules.rules}};
  fs::rename(rules.rules, rules.folder / "away");
  CHECK(rules.changes(watch, 2s) == 1);
  fs::rename(rules.folder / "away", rules.rules);
  CHECK(rules.changes(watch, 2s) == 1);
  fs::rename(rules.rules, rules.folder / "away");
  CHECK(rules.changes(watch, 500ms) == 0);
  fs::rename(rules.folder / "away", rules.rules);
  CHECK(rules.changes(watch, 3s) == 0);
}

TEST_CASE("what was read on request is no change any more, and what was written after it is one") {
  Rules rules;
  RuleWatch watch{{rules.rules}};
  rules.write("a.lua", "two");
  const std::string before = watch.seen();
  watch.has_read(before);
  CHECK(rules.changes(watch, 2s) == 0);
  rules.write("a.lua", "three");
  watch.has_read(before);
  CHECK(rules.changes(watch, 2s) == 1);
}
