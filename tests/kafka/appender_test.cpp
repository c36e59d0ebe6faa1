#include "adapters/kafka/appender.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "adapters/kafka/topic_settings.h"
#include "tests/kafka/mock_cluster.h"

using namespace tocsin::adapters;
using namespace std::chrono_literals;

TEST_CASE("what was delivered waits no more, also where nothing is appended after it") {
  const MockCluster cluster;
  const auto appender = kafka::Appender::open(cluster.address());
  REQUIRE(appender);
  const std::byte value[] = {std::byte{1}};
  for (int i = 0; i < 12; ++i) REQUIRE((*appender)->append(kafka::topic::telemetry, 0, {}, value));
  const auto until = std::chrono::steady_clock::now() + 30s;
  while ((*appender)->waiting() > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(10ms);
  CHECK((*appender)->waiting() == 0);
}
