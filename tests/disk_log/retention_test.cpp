#include "adapters/disk_log/retention.h"

#include <doctest/doctest.h>

#include <string>

#include "adapters/journal/journal.h"
#include "tests/scratch.h"

using namespace tocsin;
using namespace tocsin::adapters;
using disk_log::delete_segments;

namespace {

stream::Time at(std::int64_t second) { return stream::at_nanoseconds(second * 1'000'000'000); }

// Five segments with one entry each, appended in the seconds 1 to 5.
struct FiveSegments {
  FiveSegments() {
    auto writer = journal::Writer::open(scratch / "journal", {.segment_bytes = 64});
    REQUIRE(writer);
    const std::string payload(76, 'x');
    for (std::int64_t second = 1; second <= 5; ++second)
      REQUIRE(writer->append(std::as_bytes(std::span{payload}), at(second)));
    end = writer->end();
  }
  std::size_t deleted(const disk_log::Retention& retention) const {
    const auto directory = journal::OpenDirectory::open(scratch / "journal");
    REQUIRE(directory);
    const auto count = delete_segments(*directory, retention, end);
    REQUIRE(count);
    return *count;
  }
  test::Scratch scratch;
  stream::Position end{};
};

constexpr std::uint64_t no_limit = UINT64_MAX;
constexpr stream::Position everything{UINT64_MAX};

}  // namespace

TEST_CASE("segments go whose entries are all older than retention, and the newest stays") {
  const FiveSegments log;
  CHECK(log.deleted({at(3), no_limit, everything}) == 1);  // the second one may have an entry of second 3, or later
  CHECK(log.deleted({at(100), no_limit, everything}) == 3);
  CHECK(log.deleted({at(100), no_limit, everything}) == 0);
}

TEST_CASE("the oldest segments go while the rest is as much as may stay") {
  const FiveSegments log;
  CHECK(log.deleted({{}, 300, everything}) == 2);
  CHECK(log.deleted({{}, 300, everything}) == 0);
}

TEST_CASE("what a restart needs stays, however old and much it is") {
  const FiveSegments log;
  CHECK(log.deleted({at(100), 0, stream::Position{199}}) == 1);
  CHECK(log.deleted({at(100), 0, stream::Position{200}}) == 1);
}
