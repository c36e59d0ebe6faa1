#include "adapters/kafka/placement_records.h"

#include <doctest/doctest.h>

using namespace tocsin;
using namespace tocsin::adapters::kafka;

TEST_CASE("a place in the topic is read as it was written, and what is damaged is none") {
  const Stay stay{stream::at_nanoseconds(1'790'000'000'000'000'000), stream::at_nanoseconds(1'790'000'010'000'000'001)};
  const std::string key = placement_key({"n 1", "job/7"}), text = placement_text(stay);
  const auto place = place_of(key);
  REQUIRE(place);
  CHECK(place->node == "n 1");
  CHECK(place->job == "job/7");
  const auto read = stay_of(text);
  REQUIRE(read);
  CHECK(read->first == stay.first);
  CHECK(read->last == stay.last);
  for (const char* bad : {"", "x", "\tb", "a\t"}) CHECK(!place_of(bad));
  for (const char* bad : {"", "1", "1 ", " 1", "2 1", "1 2x", "-1 2", "1 99999999999999999999"}) CHECK(!stay_of(bad));
  CHECK(can_be_placed("n1"));
  CHECK(!can_be_placed(""));
  CHECK(!can_be_placed("a\tb"));
}

TEST_CASE("an allocation in the topic is read as it was written, and is no place") {
  const Stay time{stream::at_nanoseconds(1'790'000'000'000'000'000), stream::at_nanoseconds(1'790'000'010'000'000'001)};
  const std::string key = allocation_key("job/7");
  CHECK(allocated_job(key) == "job/7");
  CHECK(!place_of(key));
  for (const char* other : {"", "\t", "n1\tb", "x"}) CHECK(!allocated_job(other));
  for (const char* nodes : {"", "n[1-3],x"}) {
    const std::string text = allocation_text({time, nodes});
    const auto read = allocation_of(text);
    REQUIRE(read);
    CHECK(read->time.first == time.first);
    CHECK(read->time.last == time.last);
    CHECK(read->nodes == nodes);
  }
  for (const char* bad : {"", "1", "1 ", "2 1 n1", "1 2 ", "x 2 n1", "1 x n1"}) CHECK(!allocation_of(bad));
}
