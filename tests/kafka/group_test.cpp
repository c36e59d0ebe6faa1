#include "adapters/kafka/group.h"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "tests/kafka/mock_cluster.h"

using namespace std::chrono_literals;
using tocsin::adapters::kafka::Group;

namespace {

struct Assigned final : Group::Listener {
  std::vector<int> has;
  void assigned(const std::vector<int>& partitions) override {
    has.insert(has.end(), partitions.begin(), partitions.end());
  }
  void revoked(const std::vector<int>& partitions, bool) override {
    for (const int partition : partitions) std::erase(has, partition);
  }
};

}  // namespace

// The library's assertion on leaving there ended the process (its issue 4312).
TEST_CASE("leaving a group before it has given out its partitions ends the membership alone") {
  MockCluster cluster;
  SUBCASE("that come a moment later") { cluster.answers_late(MockCluster::sync_group, 1500ms); }
  SUBCASE("that never come") {
    cluster.fails(MockCluster::sync_group,
                  std::vector<rd_kafka_resp_err_t>(1000, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS));
  }
  Assigned now;
  auto group = Group::join(cluster.address(), {}, now);
  REQUIRE(group);
  for (int polls = 0; polls < 35; ++polls) REQUIRE((*group)->poll(100ms));
  (*group)->leave();
  CHECK(now.has.empty());
}

TEST_CASE("who leaves a group gives its partitions back") {
  MockCluster cluster;
  Assigned now;
  auto group = Group::join(cluster.address(), {}, now);
  REQUIRE(group);
  while (now.has.empty()) REQUIRE((*group)->poll(100ms));
  CHECK(now.has == std::vector{0});
  (*group)->leave();
  CHECK(now.has.empty());
}

// What had been fetched by then failed an assertion of the library, which ended the process.
TEST_CASE("records that come to a member that leaves are dropped") {
  MockCluster cluster;
  cluster.has_telemetry(100);
  cluster.commit("tocsin", 0);
  Assigned now;
  auto group = Group::join(cluster.address(), {}, now);
  REQUIRE(group);
  (*group)->leave();  // it is given its partition meanwhile, and begins to fetch
  CHECK(now.has.empty());
}

TEST_CASE("a group is joined with the shortest and the longest session that may be configured") {
  for (const auto session : {std::chrono::milliseconds{6s}, std::chrono::milliseconds{30min}}) {
    CAPTURE(session.count());
    MockCluster cluster;
    Assigned now;
    auto group = Group::join(cluster.address(), {"tocsin", "a", session}, now);
    CHECK_MESSAGE(group, (group ? "" : group.error().message));
  }
}

TEST_CASE("a partition surely is ours for a shorter time than a session that counts from the heartbeat before") {
  for (const int seconds : {6, 10, 45, 1800}) {
    const tocsin::adapters::kafka::GroupOptions options{"g", "i", std::chrono::seconds{seconds}};
    CHECK(options.owned_for() + options.heartbeat() < options.session);
    CHECK(options.owned_for() >= options.session / 2);
  }
}
