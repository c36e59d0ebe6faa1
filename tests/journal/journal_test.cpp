#include "adapters/journal/journal.h"

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <random>
#include <string>

#include "adapters/journal/directory.h"
#include "adapters/journal/follow.h"
#include "tests/journal/directory.h"
#include "tests/journal/frames.h"
#include "tests/journal/full_disk.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;

TEST_CASE("space that the disk does not have is not reserved, and space that it has is not part of the journal") {
  TestDirectory directory;
  fs::create_directories(directory.path());
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    MESSAGE("not allowed to mount");
    return;
  }
  {
    auto writer = Writer::open(directory.path() / "journal");
    REQUIRE(writer);
    REQUIRE(writer->append(bytes("one"), at(1)));
    const auto reserved = writer->reserve(1u << 20);
    REQUIRE_FALSE(reserved);
    CHECK(reserved.error().message.find("No space left on device") != std::string::npos);
    CHECK(writer->reserve(128u << 10));
    REQUIRE(writer->append(bytes("two"), at(2)));
    auto reader = Reader::open(directory.path() / "journal");
    REQUIRE(reader);
    for (const std::string expected : {"one", "two"}) {
      const auto frame = reader->next();
      REQUIRE((frame && *frame));
      CHECK(text(**frame) == expected);
    }
    CHECK_FALSE(*reader->next());
    CHECK(reader->corrupt_bytes() == 0);
  }
  CHECK(::umount(directory.path().c_str()) == 0);
}

TEST_CASE("space beyond the size that the process may make a file is not reserved") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path());
  REQUIRE(writer);
  const FullDisk full{8192};
  CHECK(writer->reserve(4096));
  const auto reserved = writer->reserve(1u << 20);
  REQUIRE_FALSE(reserved);
  CHECK(reserved.error().message.find("File too large") != std::string::npos);
}

TEST_CASE("what was appended is read back in order, with positions that lead from one to the next") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path());
  REQUIRE(writer);
  std::vector<stream::Position> positions;
  for (int i = 0; i < 100; ++i) positions.push_back(*writer->append(bytes("payload " + std::to_string(i)), at(i)));
  REQUIRE(writer->sync());

  auto reader = Reader::open(directory.path());
  REQUIRE(reader);
  stream::Position expected{};
  for (std::size_t i = 0; i < 100; ++i) {
    const auto frame = reader->next();
    REQUIRE((frame && *frame));
    CHECK((*frame)->position == positions[i]);
    CHECK((*frame)->position == expected);
    CHECK((*frame)->arrival == at(static_cast<std::int64_t>(i)));
    CHECK(text(**frame) == "payload " + std::to_string(i));
    expected = (*frame)->next;
  }
  CHECK_FALSE(*reader->next());
}

TEST_CASE("arrivals never fall, also over a restart") {
  TestDirectory directory;
  {
    auto writer = Writer::open(directory.path());
    REQUIRE(writer->append(bytes("a"), at(10)));
    REQUIRE(writer->append(bytes("b"), at(5)));
  }
  auto writer = Writer::open(directory.path());
  CHECK(writer->last_arrival() == at(10));
  REQUIRE(writer->append(bytes("c"), at(1)));
  auto reader = Reader::open(directory.path());
  for (int i = 0; i < 3; ++i) CHECK((*reader->next())->arrival == at(10));
}

TEST_CASE("the directory and its files are private to their owner") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path());
  REQUIRE(writer->append(bytes("secret"), at(1)));
  struct stat status {};
  REQUIRE(::stat(directory.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::stat(newest_segment(directory.path()).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a second writer is refused while the first one lives") {
  TestDirectory directory;
  auto first = Writer::open(directory.path());
  REQUIRE(first);
  auto second = Writer::open(directory.path());
  REQUIRE_FALSE(second);
  CHECK(second.error().code == stream::Errc::refused);
}

TEST_CASE("a reader follows what is appended later, also into the next segments") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 100, .most_bytes = 0});
  auto reader = Reader::open(directory.path());
  REQUIRE(reader);
  CHECK_FALSE(*reader->next());
  for (int i = 0; i < 50; ++i) {
    REQUIRE(writer->append(bytes(std::string(static_cast<std::size_t>(i), 'x')), at(i)));
    auto frame = reader->next();
    REQUIRE((frame && *frame));
    CHECK((*frame)->payload.size() == static_cast<std::size_t>(i));
    CHECK_FALSE(*reader->next());
  }
  CHECK(segments_of(directory.path()).size() > 10);
  CHECK(reader->corrupt_bytes() == 0);
}

TEST_CASE("a journal that is deleted while it is followed is an error, once all that was written is read") {
  TestDirectory directory;
  auto writer = *Writer::open(directory.path() / "journal", {});
  auto reader = *Reader::open(directory.path() / "journal");
  REQUIRE(writer.append(bytes("one"), at(1)));
  fs::remove_all(directory.path() / "journal");
  REQUIRE(writer.append(bytes("two"), at(2)));
  CHECK(text(**reader.next()) == "one");
  CHECK(text(**reader.next()) == "two");
  const auto end = reader.next();
  REQUIRE_FALSE(end);
  CHECK(end.error().message.ends_with("/journal was deleted while it was read"));
}

TEST_CASE("over the cap the oldest segments go, and a position that went with them is an error") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 1000, .most_bytes = 3000});
  for (int i = 0; i < 200; ++i) REQUIRE(writer->append(bytes(std::string(76, 'x')), at(i)));
  std::uint64_t size = 0;
  for (const auto& segment : segments_of(directory.path())) size += fs::file_size(segment.path);
  CHECK(size <= 3000);
  CHECK(size >= 2000);
  auto reader = Reader::open(directory.path());
  CHECK(read_all(*reader).size() == size / 100);
  CHECK(reader->seek(stream::Position{100}).error().code == stream::Errc::not_found);
  CHECK(reader->seek(stream::Position{0}));
}

TEST_CASE("each later segment begins with what is carried, and no cap takes it away") {
  TestDirectory directory;
  {
    auto writer = Writer::open(directory.path(), {.segment_bytes = 300, .most_bytes = 900});
    REQUIRE(writer->append(bytes("rules"), at(0)));
    writer->carry({message("rules")});
    for (int i = 1; i < 40; ++i) REQUIRE(writer->append(bytes(std::to_string(i)), at(i)));
  }
  auto read = read_all(directory.path());
  CHECK(segments_of(directory.path()).front().position > 0);
  CHECK(read.front() == "rules");
  CHECK(std::erase(read, "rules") == segments_of(directory.path()).size());
  CHECK(read.back() == "39");
  for (std::size_t i = 1; i < read.size(); ++i) CHECK(std::stoi(read[i]) == std::stoi(read[i - 1]) + 1);
}

TEST_CASE("the oldest position is where what is left begins") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 300, .most_bytes = 900});
  auto reader = Reader::open(directory.path());
  CHECK(*reader->oldest() == stream::Position{});
  for (int i = 0; i < 40; ++i) REQUIRE(writer->append(bytes(std::to_string(i)), at(i)));
  const auto oldest = reader->oldest();
  REQUIRE(oldest);
  CHECK(*oldest > stream::Position{});
  CHECK(reader->seek(*oldest));
  CHECK((**reader->next()).position == *oldest);
}

TEST_CASE("a writer that goes on in a segment without a frame begins it with what is carried") {
  TestDirectory directory;
  {
    auto writer = Writer::open(directory.path(), {.segment_bytes = 100, .most_bytes = 0});
    for (int i = 1; i < 10; ++i) REQUIRE(writer->append(bytes("frame"), at(i)));
  }
  fs::resize_file(newest_segment(directory.path()), 0);
  auto writer = Writer::open(directory.path());
  writer->carry({message("rules")});
  const auto position = writer->append(bytes("after"), at(20));
  REQUIRE(position);
  auto reader = Reader::open(directory.path());
  REQUIRE(reader->seek(*position));
  CHECK(text(**reader->next()) == "after");
  const auto read = read_all(directory.path());
  CHECK(read[read.size() - 2] == "rules");
}

TEST_CASE("seek leads to the frame at a position, in any segment") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 200, .most_bytes = 0});
  std::vector<stream::Position> positions;
  for (int i = 0; i < 40; ++i) positions.push_back(*writer->append(bytes(std::to_string(i)), at(i)));
  auto reader = Reader::open(directory.path());
  for (const std::size_t i : {39u, 0u, 17u, 18u, 3u}) {
    REQUIRE(reader->seek(positions[i]));
    CHECK(text(**reader->next()) == std::to_string(i));
  }
  CHECK(reader->seek(stream::Position{1'000'000}).error().code == stream::Errc::not_found);
}

TEST_CASE("a reader beside a writer never sees half a frame") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 5000, .most_bytes = 0});
  auto reader = Reader::open(directory.path());
  std::mt19937 random{tocsin::test::seed(7)};
  std::size_t appended = 0, read = 0;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2) {
      REQUIRE(writer->append(bytes(std::string(random() % 300, 'y')), at(i)));
      ++appended;
    } else if (const auto frame = *reader->next()) {
      ++read;
    } else {
      CHECK(read == appended);
    }
  }
  read += read_all(*reader).size();
  CHECK(read == appended);
  CHECK(reader->corrupt_bytes() == 0);
}

TEST_CASE("a frame without a payload is a frame, also as the last") {
  TestDirectory directory;
  {
    auto writer = Writer::open(directory.path());
    REQUIRE(writer->append(bytes("first"), at(1)));
    REQUIRE(writer->append({}, at(2)));
  }
  auto writer = Writer::open(directory.path());
  CHECK(writer->cut_bytes() == 0);
  CHECK(writer->last_arrival() == at(2));
  CHECK(read_all(directory.path()) == std::vector<std::string>{"first", ""});
}

TEST_CASE("files beside the segments that only look like them are left out") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path());
  REQUIRE(writer->append(bytes("first"), at(1)));
  const fs::path segment = newest_segment(directory.path());
  fs::copy_file(segment, directory.path() / (segment.stem().string() + "-copy.journal"));
  fs::copy_file(segment, directory.path() / "notes.journal");
  fs::copy_file(segment, directory.path() / (segment.filename().string() + ".bak"));
  CHECK(segments_of(directory.path()).size() == 1);
  CHECK(read_all(directory.path()) == std::vector<std::string>{"first"});
}

TEST_CASE("a file that cannot be written whole leaves the one before it, and nothing beside it") {
  TestDirectory directory;
  fs::create_directories(directory.path());
  const fs::path file = directory.path() / "kept";
  REQUIRE(write_whole(file, "before"));
  {
    const FullDisk full{100};
    CHECK(write_whole(file, std::string(1000, 'x')).error().code == stream::Errc::io);
  }
  CHECK(*read_whole(file) == "before");
  CHECK(std::distance(fs::directory_iterator{directory.path()}, fs::directory_iterator{}) == 1);
}

TEST_CASE("a follower passes over a message that is none, and counts it") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path());
  schemas::EntryBuilder builder;
  builder.about("job");
  builder.line(at(1), schemas::EntryBuilder::rank(3), "hello");
  REQUIRE(writer->append(schemas::encode(builder.entry()), at(1)));
  REQUIRE(writer->append(bytes("this is no envelope at all"), at(2)));
  REQUIRE(writer->append(schemas::encode(builder.entry()), at(3)));
  Follower follower{*Reader::open(directory.path())};
  for (const auto second : {1, 3}) {
    auto entry = follower.next();
    REQUIRE((entry && *entry));
    CHECK((*entry)->arrival == at(second));
    CHECK((*entry)->lines[0].text == "hello");
  }
  CHECK(*follower.next() == nullptr);
  CHECK(follower.undecodable() == 1);
}
