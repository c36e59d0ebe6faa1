#include "adapters/runtime/disk_sink.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/journal/directory.h"
#include "tests/journal/full_disk.h"

using namespace tocsin;
using namespace tocsin::adapters;
using stream::Position;

namespace {

stream::Report alert(std::uint64_t id) {
  stream::AlertTransition transition;
  transition.id = id, transition.number = 1;
  transition.rule = "straggler", transition.subject = "job";
  return transition;
}

stream::Bundle bundle(std::uint64_t position, std::vector<stream::Report> reports, std::size_t section_bytes = 0) {
  stream::Bundle made{.reports = std::move(reports), .sections = {}, .packs = {}, .position = Position{position}};
  if (section_bytes != 0) made.sections[""] = std::vector<std::byte>(section_bytes, std::byte{1});
  return made;
}

struct Disk {
  Disk() { std::filesystem::create_directories(directory.path()); }
  [[nodiscard]] runtime::DiskSink sink() {
    return {*journal::AlertHistory::open(directory.path()), state,
            [this](const stream::Report& report, std::string_view) {
              published.push_back(std::get<stream::AlertTransition>(report).id);
            }};
  }
  TestDirectory directory;
  journal::StateStore state{directory.path()};
  std::vector<std::uint64_t> published;
};

}  // namespace

TEST_CASE("what the history has is not published again, also after a restart") {
  Disk disk;
  REQUIRE(disk.sink().keep(bundle(1, {alert(1), alert(2)})));
  auto sink = disk.sink();
  REQUIRE(sink.keep(bundle(2, {alert(2), alert(3)})));
  REQUIRE(sink.keep(bundle(3, {alert(3)})));
  CHECK(disk.published == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE(
    "the verdict of a job that was forgotten and came back is published, although its attempts have the names of those "
    "before") {
  Disk disk;
  std::vector<std::int64_t> ended;
  const auto sink = [&] {
    return runtime::DiskSink{*journal::AlertHistory::open(disk.directory.path()), disk.state,
                             [&](const stream::Report& report, std::string_view) {
                               ended.push_back(stream::nanoseconds(std::get<stream::Verdict>(report).ended));
                             }};
  };
  const auto verdict = [](std::int64_t at) {
    stream::Verdict made;
    made.subject = "job", made.attempt = "1", made.ended = stream::at_nanoseconds(at);
    return made;
  };
  REQUIRE(sink().keep(bundle(1, {verdict(100)})));
  REQUIRE(sink().keep(bundle(2, {verdict(100), verdict(200)})));
  CHECK(ended == std::vector<std::int64_t>{100, 200});
}

TEST_CASE("a report whose history cannot be synced is published once it can, and once") {
  Disk disk;
  auto sink = disk.sink();
  {
    const FullDisk full{10};
    CHECK_FALSE(sink.keep(bundle(1, {alert(1)})));
    CHECK_FALSE(sink.keep(bundle(2, {alert(1), alert(2)})));
  }
  CHECK(disk.published.empty());
  REQUIRE(sink.keep(bundle(3, {alert(1), alert(2), alert(3)})));
  CHECK(disk.published == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE(
    "a report that is in the history is published although the state cannot be stored, and the state is stored with "
    "the next try") {
  Disk disk;
  auto sink = disk.sink();
  {
    const FullDisk full{8'000};
    CHECK_FALSE(sink.keep(bundle(1, {alert(1)}, 10'000)));
  }
  CHECK(disk.published == std::vector<std::uint64_t>{1});
  CHECK_FALSE(*disk.state.newest());
  REQUIRE(sink.keep(bundle(2, {alert(1), alert(2)}, 10'000)));
  CHECK(disk.published == std::vector<std::uint64_t>{1, 2});
  CHECK((*disk.state.newest())->position == Position{2});
}

TEST_CASE("a bundle without sections leaves the state as it is") {
  Disk disk;
  auto sink = disk.sink();
  REQUIRE(sink.keep(bundle(1, {alert(1)}, 100)));
  REQUIRE(sink.keep(bundle(2, {alert(2)})));
  CHECK((*disk.state.newest())->position == Position{1});
}
