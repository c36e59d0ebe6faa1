#include "adapters/disk_log/log_clock.h"

#include <doctest/doctest.h>

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::disk_log::LogClock;

namespace {

const stream::Time noon = stream::at_nanoseconds(1'795'608'000'000'000'000);
const std::chrono::steady_clock::time_point start{};

}  // namespace

TEST_CASE("the log's time is the wall clock's, and never before its newest entry") {
  LogClock clock{noon};
  CHECK(clock.now(noon - 1h, start) == noon);
  CHECK(clock.now(noon + 2s, start + 1s) == noon + 2s);
  CHECK(clock.now(noon + 1h, start + 2s) == noon + 1h);  // set forward, or the machine slept
}

TEST_CASE("after the clock was set back the log's time goes on at half speed until the clock has caught up") {
  LogClock clock{noon};
  CHECK(clock.now(noon, start) == noon);
  CHECK(clock.now(noon - 10s, start + 10s) == noon + 5s);
  CHECK(clock.now(noon + 4s, start + 24s) == noon + 12s);
  CHECK(clock.now(noon + 20s, start + 40s) == noon + 20s);
  CHECK(clock.now(noon + 21s, start + 41s) == noon + 21s);
}
