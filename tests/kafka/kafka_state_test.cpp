#include "adapters/kafka/kafka_state.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "adapters/kafka/appender.h"
#include "adapters/kafka/topic_settings.h"
#include "tests/kafka/mock_cluster.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// So many records of the state of partition 0, that a reader gets one at a time.
kafka::Address filled(MockCluster& cluster, int records) {
  const auto appender = kafka::Appender::open(cluster.address({{"batch.num.messages", "1"}}));
  REQUIRE(appender);
  const std::byte value[] = {std::byte{1}};
  for (int i = 0; i < records; ++i)
    REQUIRE((*appender)->append(kafka::topic::state, 0, "0/pack/" + std::to_string(i), value));
  const auto flushed = (*appender)->flush(30s);
  REQUIRE((flushed && *flushed));
  return cluster.address({{"fetch.message.max.bytes", "1"}});
}

stream::Result<std::optional<stream::Position>> nothing() { return std::optional<stream::Position>{}; }

}  // namespace

TEST_CASE("a state is read to its end as long as records come, however many") {
  MockCluster cluster;
  const auto topic =
      kafka::TopicReader::open(filled(cluster, 60), kafka::topic::state, kafka::TopicReader::Isolation::uncommitted);
  REQUIRE(topic);
  cluster.answers_after(50);
  kafka::KafkaState state{**topic, 0, nothing, {}, 1000ms};
  const auto begun = Clock::now();
  const auto newest = state.newest();
  CHECK_MESSAGE(newest, (newest ? "" : newest.error().message));
  CHECK(Clock::now() - begun > 2s);  // else this shows nothing
}

TEST_CASE("whoever gives a partition back does not wait for its state to be read") {
  MockCluster cluster;
  const auto topic =
      kafka::TopicReader::open(filled(cluster, 60), kafka::topic::state, kafka::TopicReader::Isolation::uncommitted);
  REQUIRE(topic);
  cluster.answers_after(100);
  const auto begun = Clock::now();
  kafka::KafkaState state{**topic, 0, nothing, [&] { return Clock::now() > begun + 1s; }};
  const auto newest = state.newest();
  REQUIRE_FALSE(newest);
  CHECK(newest.error().code == stream::Errc::io);
  CHECK(Clock::now() - begun < 4s);
}

TEST_CASE("where the brokers are gone, a question about a partition's offsets ends in time") {
  MockCluster cluster;
  const auto topic =
      kafka::TopicReader::open(filled(cluster, 3), kafka::topic::state, kafka::TopicReader::Isolation::uncommitted);
  REQUIRE(topic);
  const kafka::PartitionReader reader{**topic, 0};
  const auto range = reader.range();
  REQUIRE(range);
  CHECK(range->oldest == 0);
  CHECK(range->end == 3);
  cluster.goes_down();
  const auto begun = Clock::now();
  CHECK(!reader.range());
  CHECK(Clock::now() - begun < 15s);
}
