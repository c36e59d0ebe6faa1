#include "adapters/disk_log/pack_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/scratch.h"

using namespace tocsin;
using adapters::disk_log::PackFile;
using Outgoing = adapters::service::PackRecords::Outgoing;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }

auto opened(const test::Scratch& scratch) {
  return PackFile::open(scratch.path(), [] { return stream::Time{}; });
}

// KEY=VALUE of each record from this offset on; KEY- where it was removed.
std::vector<std::string> read(PackFile& file, std::int64_t from = 0) {
  std::vector<std::string> all;
  REQUIRE(file.read(from, [&](const auto& record) {
    all.push_back(std::string{record.key} + (record.tombstone ? "-" : "=") +
                  std::string{reinterpret_cast<const char*>(record.value.data()), record.value.size()});
  }));
  return all;
}

}  // namespace

TEST_CASE("the newest value of each key is there after a restart, in the order in which they were written") {
  const test::Scratch scratch;
  {
    auto file = opened(scratch);
    REQUIRE(file);
    REQUIRE((*file)->write(std::vector<Outgoing>{{"a", bytes("1")}, {"b", bytes("2")}}));
    REQUIRE((*file)->write(std::vector<Outgoing>{{"a", bytes("3")}}));
    CHECK(read(**file, 2) == std::vector<std::string>{"a=3"});
  }
  auto file = opened(scratch);
  REQUIRE(file);
  CHECK(read(**file) == std::vector<std::string>{"b=2", "a=3"});
}

TEST_CASE("a reader that has read up to an offset sees that a key was removed, and one that begins does not") {
  const test::Scratch scratch;
  auto file = opened(scratch);
  REQUIRE(file);
  REQUIRE((*file)->write(std::vector<Outgoing>{{"a", bytes("1")}}));
  REQUIRE((*file)->write(std::vector<Outgoing>{{"a", {}}, {"b", bytes("2")}}));
  CHECK(read(**file, 1) == std::vector<std::string>{"a-", "b=2"});
  auto again = opened(scratch);
  REQUIRE(again);
  CHECK(read(**again) == std::vector<std::string>{"b=2"});
}

TEST_CASE("a damaged file is an error that names it and says what to do") {
  const test::Scratch scratch;
  {
    auto file = opened(scratch);
    REQUIRE(file);
    REQUIRE((*file)->write(std::vector<Outgoing>{{"a", bytes("1")}}));
  }
  std::fstream{scratch / "packs", std::ios::in | std::ios::out | std::ios::binary}.seekp(17).put('x');
  const auto file = opened(scratch);
  REQUIRE_FALSE(file);
  CHECK(file.error().message.find((scratch / "packs").string() + " is damaged") != std::string::npos);
}
