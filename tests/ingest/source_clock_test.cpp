#include "adapters/ingest/source_clock.h"

#include <doctest/doctest.h>

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::ingest::SourceClock;

TEST_CASE("arrivals never fall, lie never ahead of now, and never at or before what was announced as read") {
  constexpr auto now = stream::at_nanoseconds(1'790'000'000'000'000'000);
  SourceClock clock;
  CHECK_FALSE(clock.mark());
  CHECK(clock.arrival(now - 10s, now) == now - 10s);
  CHECK(clock.arrival(now - 12s, now) == now - 10s);
  CHECK(*clock.mark() == now - 10s - 1ms);
  CHECK(clock.arrival(now - 10s, now) == now - 10s);
  CHECK(clock.arrival(now + 1h, now) == now);
  CHECK(clock.arrival(std::nullopt, now + 1s) == now + 1s);
  clock.read_to_end(now + 5s);
  CHECK(*clock.mark() == now + 4s);
  CHECK(clock.arrival(now + 2s, now + 6s) == now + 4s + 1ms);
  clock.read_to_end(now);
  CHECK(*clock.mark() == now + 4s);
}

TEST_CASE("a partition without messages is read up to a second before it was asked for its end") {
  constexpr auto now = stream::at_nanoseconds(1'790'000'000'000'000'000);
  SourceClock clock;
  clock.read_to_end(now);
  CHECK(*clock.mark() == now - SourceClock::skew);
}
