#include "adapters/kafka/record.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "adapters/kafka/appender.h"
#include "adapters/kafka/partition_reader.h"
#include "adapters/kafka/topic_settings.h"
#include "adapters/kafka/topics.h"
#include "schemas/codec.h"
#include "tests/journal/directory.h"
#include "tests/kafka/mock_cluster.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// Ten entries of a job.
void fill(const MockCluster& cluster) {
  const auto appender = kafka::Appender::open(cluster.address());
  REQUIRE(appender);
  for (int i = 0; i < 10; ++i) {
    schemas::EntryBuilder builder;
    builder.about("job", "1", "node");
    builder.line(stream::at_nanoseconds(1'790'000'000'000'000'000), schemas::EntryBuilder::job(),
                 "step " + std::to_string(i));
    REQUIRE((*appender)->append(kafka::topic::telemetry, 0, "job", schemas::encode(builder.entry())));
  }
  const auto flushed = (*appender)->flush(30s);
  REQUIRE((flushed && *flushed));
}

kafka::RecordOptions options_for(const MockCluster& cluster, const TestDirectory& directory) {
  kafka::RecordOptions options;
  options.from = cluster.address();
  options.partition = 0;
  options.journal = directory.path();
  return options;
}

}  // namespace

TEST_CASE("a partition is copied to its end") {
  MockCluster cluster;
  fill(cluster);
  TestDirectory directory;
  const auto recorded = kafka::record(options_for(cluster, directory));
  REQUIRE(recorded);
  CHECK(recorded->entries == 10);
  CHECK(recorded->jobs == std::set<std::string>{"job"});
}

TEST_CASE("of a copy for a job it is known how much the job has in it, and which others are there") {
  MockCluster cluster;
  fill(cluster);
  for (const auto& [job, entries] : {std::pair{"job", 10u}, std::pair{"jbo", 0u}}) {
    CAPTURE(job);
    TestDirectory directory;
    auto options = options_for(cluster, directory);
    options.partition = -1;
    options.subject = job;
    const auto recorded = kafka::record(options);
    REQUIRE(recorded);
    CHECK(recorded->of_subject == entries);
    CHECK(recorded->jobs.contains("job") == (entries == 0));
    CHECK(recorded->partition == "tocsin.telemetry/0");
  }
}

TEST_CASE("a copy ends with the reason where the brokers send nothing any more, at its pack or behind it") {
  for (const std::size_t fetches : {0u, 1u}) {  // that succeed: the first one looks for the pack
    CAPTURE(fetches);
    MockCluster cluster;
    fill(cluster);
    TestDirectory directory;
    auto options = options_for(cluster, directory);
    options.patience = 500ms;
    std::vector answers(fetches, RD_KAFKA_RESP_ERR_NO_ERROR);
    answers.resize(500, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    cluster.fails(MockCluster::fetch, answers);
    const auto begun = Clock::now();
    const auto count = kafka::record(options);
    REQUIRE_FALSE(count);
    CHECK(count.error().code == stream::Errc::io);
    CHECK_MESSAGE(
        count.error().message.find("tocsin.telemetry/0 cannot be read on from offset 0: the brokers send nothing") !=
            std::string::npos,
        count.error().message);
    CHECK(Clock::now() - begun < 10s);
    CHECK(std::filesystem::exists(directory.path() / "lock") == (fetches > 0));  // the journal is made behind the pack
  }
}

TEST_CASE("a copy is made where brokers that were away do not know their partitions for a moment") {
  for (const auto code : {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE}) {
    CAPTURE(code);
    MockCluster cluster;
    fill(cluster);
    TestDirectory directory;
    cluster.fails(MockCluster::list_offsets, std::vector(4, code));
    const auto recorded = kafka::record(options_for(cluster, directory));
    REQUIRE_MESSAGE(recorded, recorded.error().message);
    CHECK(recorded->entries == 10);
  }
}

TEST_CASE("a reader goes on where the brokers do not know its topic for a moment") {
  MockCluster cluster;
  fill(cluster);
  const auto topic = kafka::TopicReader::open(cluster.address({{"topic.metadata.refresh.interval.ms", "100"}}),
                                              kafka::topic::telemetry, kafka::TopicReader::Isolation::committed);
  REQUIRE(topic);
  kafka::PartitionReader reader{**topic, 0};
  REQUIRE(reader.start(0));
  const auto read = [&](int most, std::chrono::seconds within) {
    int seen = 0;
    for (const auto until = Clock::now() + within; seen < most && Clock::now() < until;) {
      const auto message = reader.next(10ms);
      REQUIRE_MESSAGE(message, message.error().message);
      if (*message != nullptr) ++seen;
    }
    return seen;
  };
  CHECK(read(10, 10s) == 10);
  cluster.says_of("telemetry", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  CHECK(read(1, 2s) == 0);
  cluster.says_of("telemetry", RD_KAFKA_RESP_ERR_NO_ERROR);
  fill(cluster);
  CHECK(read(10, 20s) == 10);
}

TEST_CASE("a topic is read to its end, or the reason says that the brokers send nothing any more") {
  MockCluster cluster;
  fill(cluster);
  int records = 0;
  const auto take = [&](const kafka::TopicRecord&) { ++records; };
  CHECK(kafka::read_topic(cluster.address(), kafka::topic::telemetry, take, 10s));
  CHECK(records == 10);
  cluster.fails(MockCluster::fetch, std::vector(500, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
  const auto read = kafka::read_topic(cluster.address(), kafka::topic::telemetry, take, 500ms);
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "tocsin.telemetry/0 cannot be read on from offset 0: the brokers send nothing");
}
