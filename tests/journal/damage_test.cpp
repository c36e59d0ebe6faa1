// What is torn or damaged in a journal.
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <string>

#include "adapters/journal/directory.h"
#include "adapters/journal/journal.h"
#include "tests/journal/directory.h"
#include "tests/journal/frames.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::adapters::journal;
namespace fs = std::filesystem;

TEST_CASE("a torn tail is cut at every length, counted, and written over") {
  for (std::size_t kept = 0; kept < 24 + 11; ++kept) {
    TestDirectory directory;
    std::uint64_t whole = 0;
    {
      auto writer = Writer::open(directory.path());
      REQUIRE(writer->append(bytes("whole"), at(1)));
      whole = static_cast<std::uint64_t>(*writer->append(bytes("to be torn!"), at(2)));
    }
    fs::resize_file(newest_segment(directory.path()), whole + kept);
    auto reader = Reader::open(directory.path());
    CHECK(read_all(*reader) == std::vector<std::string>{"whole"});  // a reader waits at it

    auto writer = Writer::open(directory.path());
    REQUIRE(writer);
    CHECK(writer->cut_bytes() == kept);
    CHECK(fs::file_size(newest_segment(directory.path())) == whole);
    CHECK(writer->last_arrival() == at(1));
    REQUIRE(writer->append(bytes("instead"), at(3)));
    CHECK(read_all(*reader) == std::vector<std::string>{"instead"});
    CHECK(reader->corrupt_frames() == 0);
  }
}

TEST_CASE("a corrupt frame costs that frame, and is counted") {
  const std::vector<std::string> all{"first", "second", "third"};
  std::uint64_t second = 0, third = 0;
  for (int offset = 0; offset < 24 + 6; ++offset) {
    TestDirectory directory;
    {
      auto writer = Writer::open(directory.path());
      REQUIRE(writer->append(bytes(all[0]), at(1)));
      second = static_cast<std::uint64_t>(*writer->append(bytes(all[1]), at(2)));
      third = static_cast<std::uint64_t>(*writer->append(bytes(all[2]), at(3)));
    }
    damage(newest_segment(directory.path()), second + static_cast<std::uint64_t>(offset), "\xEE");
    auto reader = Reader::open(directory.path());
    CHECK(read_all(*reader) == std::vector<std::string>{"first", "third"});
    CHECK(reader->corrupt_frames() == 1);
    CHECK(reader->corrupt_bytes() == third - second);
  }
}

TEST_CASE("what is corrupt before whole frames is no tail: the writer goes on behind them") {
  TestDirectory directory;
  std::uint64_t first = 0;
  {
    auto writer = Writer::open(directory.path());
    first = static_cast<std::uint64_t>(*writer->append(bytes("first"), at(1)));
    REQUIRE(writer->append(bytes("second"), at(2)));
  }
  damage(newest_segment(directory.path()), first + 26, "\xEE");
  auto writer = Writer::open(directory.path());
  CHECK(writer->cut_bytes() == 0);
  REQUIRE(writer->append(bytes("third"), at(3)));
  CHECK(read_all(directory.path()) == std::vector<std::string>{"second", "third"});
}

TEST_CASE("a frame inside a payload, or at another place, is none") {
  TestDirectory directory;
  std::string frame;
  {
    auto writer = Writer::open(directory.path());
    REQUIRE(writer->append(bytes("forged"), at(1)));
    frame = *read_whole(newest_segment(directory.path()));
  }
  TestDirectory other;
  {
    auto writer = Writer::open(other.path());
    REQUIRE(writer->append(bytes(frame + frame), at(1)));
    REQUIRE(writer->append(bytes("real"), at(2)));
  }
  damage(newest_segment(other.path()), 8, "\xEE");
  CHECK(read_all(other.path()) == std::vector<std::string>{"real"});
}

TEST_CASE("a segment whose end is lost costs its frames, and the next one is read") {
  TestDirectory directory;
  auto writer = Writer::open(directory.path(), {.segment_bytes = 60, .most_bytes = 0});
  for (int i = 0; i < 6; ++i) REQUIRE(writer->append(bytes("frame " + std::to_string(i)), at(i)));  // 31 bytes each
  const auto found = segments_of(directory.path());
  REQUIRE(found.size() == 6);
  fs::resize_file(found[2].path, 10);
  auto reader = Reader::open(directory.path());
  CHECK(read_all(*reader).size() == 5);
  CHECK(reader->corrupt_frames() == 1);
  CHECK(reader->corrupt_bytes() == 31);
}

TEST_CASE("no byte of a header, whatever it becomes, makes a journal one of another version") {
  for (const int frames : {1, 2})
    for (int offset = 0; offset < 24; ++offset)
      for (int value = 0; value < 256; ++value) {
        const bool digit = offset == 3 && value >= '0' && value <= '9';
        if (!digit && value % 51 != 0) continue;
        TestDirectory directory;
        std::vector<std::string> rest;
        {
          auto writer = Writer::open(directory.path(), {.segment_bytes = frames == 1 ? 30u : 1'000u, .most_bytes = 0});
          for (const std::string payload : {"first", "second", "third"}) REQUIRE(writer->append(bytes(payload), at(1)));
        }
        const auto first = segments_of(directory.path()).front().path;
        std::string content = *read_whole(first);
        if (content[static_cast<std::size_t>(offset)] != static_cast<char>(value)) rest = {"second", "third"};
        else rest = {"first", "second", "third"};
        content[static_cast<std::size_t>(offset)] = static_cast<char>(value);
        REQUIRE(write_whole(first, content));
        CAPTURE(frames);
        CAPTURE(offset);
        CAPTURE(value);
        CHECK(read_all(directory.path()) == rest);
        auto writer = Writer::open(directory.path());
        REQUIRE(writer);
        REQUIRE(writer->append(bytes("after"), at(2)));
        rest.emplace_back("after");
        CHECK(read_all(directory.path()) == rest);
      }
}

TEST_CASE(
    "the newest segment's only frame with a damaged version is corrupt, and a segment of another version is refused") {
  TestDirectory directory;
  {
    auto writer = Writer::open(directory.path());
    REQUIRE(writer->append(bytes("one"), at(1)));
  }
  const auto segment = newest_segment(directory.path());
  damage(segment, 3, "2");
  CHECK(read_all(directory.path()).empty());
  // What another version writes has a form that is not known here.
  damage(segment, 8, "another checksum");
  auto reader = Reader::open(directory.path());
  REQUIRE(reader);
  const auto frame = reader->next();
  REQUIRE_FALSE(frame);
  CHECK(frame.error().message == "the journal " + directory.path().string() +
                                     " was written by another version of this program: read it with that one");
  CHECK(Writer::open(directory.path()).error().message ==
        segment.string() + " was written by another version of this program: use that one, or another directory");
}

TEST_CASE("random damage never crashes a reader or a writer, and what is read was written") {
  std::mt19937 random{tocsin::test::seed(20240817)};
  for (int round = 0; round < 300; ++round) {
    TestDirectory directory;
    std::vector<std::string> written;
    {
      auto writer = Writer::open(directory.path(), {.segment_bytes = 400, .most_bytes = 0});
      for (int i = 0; i < 20; ++i) {
        written.push_back(std::string(random() % 100, static_cast<char>('a' + i)));
        REQUIRE(writer->append(bytes(written.back()), at(i)));
      }
    }
    for (const auto& segment : segments_of(directory.path())) {
      if (random() % 2)
        damage(segment.path, random() % fs::file_size(segment.path),
               std::string(1 + random() % 30, static_cast<char>(random())));
      if (random() % 4 == 0) fs::resize_file(segment.path, random() % (fs::file_size(segment.path) + 1));
    }
    INFO("round " << round);
    const auto among = [&](const std::vector<std::string>& read) {
      std::size_t next = 0;
      for (const auto& payload : read) {
        while (next < written.size() && written[next] != payload) ++next;
        if (next++ >= written.size()) return false;
      }
      return true;
    };
    CHECK(among(read_all(directory.path())));
    auto writer = Writer::open(directory.path());
    REQUIRE(writer);
    REQUIRE(writer->append(bytes("after"), at(100)));
    written.push_back("after");
    const auto read = read_all(directory.path());
    CHECK(among(read));
    CHECK(read.back() == "after");
  }
}

TEST_CASE("thousands of bad frames in one segment are passed over with work that is linear in its size") {
  for (const std::size_t offset : {0, 5, 30}) {  // of the damage in a frame: its magic, its length, its payload
    TestDirectory directory;
    std::vector<std::uint64_t> positions;
    {
      auto writer = Writer::open(directory.path());
      for (int i = 0; i < 20'000; ++i)
        positions.push_back(static_cast<std::uint64_t>(
            *writer->append(bytes(std::string(326, static_cast<char>('a' + i % 26))), at(i))));
    }
    const auto segment = newest_segment(directory.path());
    {
      std::fstream file{segment, std::ios::in | std::ios::out | std::ios::binary};
      for (std::size_t i = 0; i < positions.size(); i += 2) {
        file.seekp(static_cast<std::streamoff>(positions[i] + offset));
        file.put('\x15');
      }
    }
    CAPTURE(offset);
    const std::uint64_t size = fs::file_size(segment);
    auto reader = Reader::open(directory.path());
    CHECK(read_all(*reader).size() == positions.size() / 2);
    CHECK(reader->corrupt_frames() == positions.size() / 2);
    CHECK(reader->examined_bytes() < 16 * size);  // a damaged length asks for a checksum of more than its frame
  }
}

TEST_CASE("a torn tail that is cut and written over while it lies in a reader's buffer costs nothing") {
  TestDirectory directory;
  std::uint64_t torn = 0;
  {
    auto writer = Writer::open(directory.path());
    REQUIRE(writer->append(bytes("whole"), at(1)));
    torn = static_cast<std::uint64_t>(*writer->append(bytes(std::string(500, 'x')), at(2)));
  }
  fs::resize_file(newest_segment(directory.path()), torn + 100);
  auto reader = Reader::open(directory.path());
  CHECK(text(**reader->next()) == "whole");  // the torn tail is buffered, too
  auto writer = Writer::open(directory.path());
  for (int i = 0; i < 10; ++i) REQUIRE(writer->append(bytes(std::string(150, 'y')), at(3)));
  CHECK(read_all(*reader).size() == 10);
  CHECK(reader->corrupt_bytes() == 0);
}
