#include "adapters/disk_log/disk_log.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "adapters/disk_log/disk_backend.h"
#include "adapters/journal/journal.h"
#include "tests/journal/full_disk.h"
#include "tests/scratch.h"

using namespace tocsin;
using namespace std::chrono_literals;
using namespace tocsin::adapters::disk_log;
using stream::Errc;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }

// A log, and what it says.
struct Opened {
  explicit Opened(const std::filesystem::path& directory, int partitions = 2)
      : log(DiskLog::open({.directory = directory,
                           .partitions = partitions,
                           .log = [this](const std::string& line) { lines.push_back(line); },
                           .warn = [this](const std::string& line) { lines.push_back(line); }})) {}
  std::vector<std::string> lines;
  stream::Result<std::unique_ptr<DiskLog>> log;
  DiskLog* operator->() { return log->get(); }
};

std::vector<std::string> messages(const std::filesystem::path& partition) {
  std::vector<std::string> all;
  auto reader = adapters::journal::Reader::open(partition);
  REQUIRE(reader);
  for (auto frame = reader->next(); frame && *frame; frame = reader->next())
    all.emplace_back(reinterpret_cast<const char*>((*frame)->payload.data()), (*frame)->payload.size());
  return all;
}

}  // namespace

TEST_CASE("what is appended can be read at once, and is durable after a flush") {
  const test::Scratch scratch;
  Opened log{scratch / "log"};
  REQUIRE(log.log);
  CHECK(log->end(1) == stream::Position{});
  REQUIRE(log->append(1, bytes("one")));
  CHECK(log->wait_for_more(1, {}, 0ms));
  CHECK_FALSE(log->wait_for_more(0, {}, 0ms));
  REQUIRE(log->append(1, bytes("two")));
  const auto flushed = log->flush(30s);
  REQUIRE(flushed);
  CHECK(*flushed);
  CHECK(messages(log->directory_of(1)) == std::vector<std::string>{"one", "two"});
  CHECK(messages(log->directory_of(0)).empty());
}

TEST_CASE("a torn tail is cut at the last whole entry, and the log of the program names it") {
  const test::Scratch scratch;
  std::filesystem::path segment;
  {
    Opened log{scratch / "log"};
    REQUIRE(log.log);
    REQUIRE(log->append(0, bytes("whole")));
    REQUIRE(log->append(0, bytes("torn")));
    for (const auto& file : std::filesystem::directory_iterator{log->directory_of(0)})
      if (file.path().extension() == ".journal") segment = file.path();
  }
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) - 1);
  Opened log{scratch / "log"};
  REQUIRE(log.log);
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0] == "partition 0: the last 27 bytes of the log were not written to their end and are cut off");
  REQUIRE(log->append(0, bytes("after")));
  CHECK(messages(log->directory_of(0)) == std::vector<std::string>{"whole", "after"});
}

TEST_CASE("one process uses a log at a time, and the number of partitions stays") {
  const test::Scratch scratch;
  {
    Opened log{scratch / "log"};
    REQUIRE(log.log);
    Opened second{scratch / "log"};
    REQUIRE_FALSE(second.log);
    CHECK(second.log.error().code == Errc::refused);
    CHECK(second.log.error().message == "process " + std::to_string(::getpid()) + " uses the log in " +
                                            (scratch / "log").string() +
                                            ": stop it, or name another directory in log.directory");
  }
  Opened other{scratch / "log", 3};
  REQUIRE_FALSE(other.log);
  CHECK(other.log.error().message.find("write log.partitions: 2") != std::string::npos);
  CHECK(Opened{scratch / "log"}.log);
}

TEST_CASE("a log whose file layout is lost begins with the partitions that are there, and with no others") {
  const test::Scratch scratch;
  REQUIRE(Opened{scratch / "log"}.log);
  std::filesystem::remove(scratch / "log" / "layout");
  Opened other{scratch / "log", 3};
  REQUIRE_FALSE(other.log);
  CHECK(other.log.error().code == Errc::refused);
  CHECK(other.log.error().message ==
        "the log in " + (scratch / "log").string() +
            " has no file layout any more: it has directories of 2 partitions, and log.partitions is 3: write "
            "log.partitions: 2, or restore that file");
  REQUIRE(Opened{scratch / "log"}.log);
  CHECK(std::filesystem::exists(scratch / "log" / "layout"));
}

TEST_CASE("a log without room refuses what is appended, says so once, and takes records again when there is room") {
  const test::Scratch scratch;
  Opened log{scratch / "log"};
  REQUIRE(log.log);
  DiskAppender appender{**log.log};
  {
    const FullDisk full{4096};
    const std::string large(8192, 'x');
    for (int tries = 0; tries < 3; ++tries) CHECK(appender.append(0, "job", bytes(large)).error().code == Errc::io);
    CHECK(appender.append(1, "job", bytes("small")).error().code == Errc::io);
    CHECK(appender.flush(0ms).error().message.find("make room on the disk") != std::string::npos);
    CHECK(appender.waiting() > 1'000'000);
  }
  while (!appender.append(0, "job", bytes("again"))) std::this_thread::yield();
  CHECK(messages(log->directory_of(0)) == std::vector<std::string>{"again"});
  REQUIRE(log.lines.size() == 2);
  CHECK(log.lines[0].find("nothing is taken until there is room") != std::string::npos);
  CHECK(log.lines[1].find("has room again") != std::string::npos);
}
