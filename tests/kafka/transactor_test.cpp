#include "adapters/kafka/transactor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "adapters/kafka/client.h"
#include "adapters/kafka/topic_settings.h"
#include "tests/kafka/mock_cluster.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("the first transaction does not wait until its client asks for the topics") {
  // A broker within the client. Several of them, as any one may wait for the machine; the client would ask after a
  // second.
  constexpr auto at_once = 900ms;
  Clock::duration shortest = 1h;
  for (int attempt = 0; attempt < 10 && shortest >= at_once; ++attempt) {
    const kafka::Address address{"127.0.0.1:1", "tocsin", {{"test.mock.num.brokers", "1"}}};
    const auto transactor = kafka::Transactor::open(address, "test");
    REQUIRE(transactor);
    const std::byte value[] = {std::byte{1}};
    const kafka::Outgoing records[] = {{kafka::topic::alerts, 0, "job", value}, {kafka::topic::state, 0, "job", value}};
    const auto begun = Clock::now();
    const auto committed = (*transactor)->commit(records);
    CHECK_MESSAGE(committed, (committed ? "" : committed.error().message));
    shortest = std::min(shortest, Clock::now() - begun);
  }
  CHECK(shortest < at_once);
}

namespace {
struct Assigned final : kafka::Group::Listener {
  bool any = false;
  void assigned(const std::vector<int>&) override { any = true; }
  void revoked(const std::vector<int>&, bool) override {}
};

// An instance that was given its partition, and commits a record with each position.
struct Owner {
  explicit Owner(const MockCluster& cluster) {
    auto joined = kafka::Group::join(cluster.address(), {"tocsin", "a", 6000ms}, listener);
    REQUIRE(joined);
    group = std::move(*joined);
    for (const auto until = Clock::now() + 30s; !listener.any && Clock::now() < until;) REQUIRE(group->poll(100ms));
    REQUIRE(listener.any);
    auto opened = kafka::Transactor::open(cluster.address(), "test");
    REQUIRE(opened);
    transactor = std::move(*opened);
  }
  auto commit(std::uint64_t position) const {
    const std::byte value[] = {std::byte{1}};
    const kafka::Outgoing records[] = {{kafka::topic::alerts, 0, "job", value}};
    return transactor->commit(records, 0, stream::Position{position}, *group);
  }
  Assigned listener;
  std::unique_ptr<kafka::Group> group;
  std::unique_ptr<kafka::Transactor> transactor;
};
}  // namespace

TEST_CASE("what may have been committed already is not committed again, whatever fails on the way to know it") {
  MockCluster cluster;
  cluster.commit("tocsin", 5);  // what it makes of a transaction's positions is nothing
  const Owner owner{cluster};
  // The commit ends without an answer, though it has gone through; the position is there, and cannot be committed once
  // more.
  cluster.fails(MockCluster::end_transaction, {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH});
  cluster.fails(MockCluster::offsets_in_transaction,
                {RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION});
  const auto committed = owner.commit(5);
  REQUIRE_FALSE(committed);
  CHECK_MESSAGE(committed.error().code == stream::Errc::refused, committed.error().message);
  CHECK_MESSAGE(committed.error().message.find("whether it was committed shows at the next start") != std::string::npos,
                committed.error().message);
}

TEST_CASE(
    "a partition is owned from the moment on in which the brokers were asked, not while another's transaction was "
    "waited for") {
  MockCluster cluster;
  const Owner owner{cluster};
  cluster.answers_late(MockCluster::end_transaction, 2000ms);
  const auto begun = Clock::now();
  std::thread other{[&] { CHECK(owner.commit(5)); }};
  std::this_thread::sleep_for(500ms);
  const auto owned = owner.commit(6);
  other.join();
  REQUIRE(owned);
  CHECK(*owned - begun > 1500ms);
  CHECK(*owned < Clock::now());
}

TEST_CASE(
    "a process that is to end waits for brokers that are gone no longer than it has time, and commits nothing more") {
  const struct Forever {
    ~Forever() { kafka::wait_until_at_most(Clock::time_point::max()); }
  } afterwards;
  MockCluster cluster;
  Clock::time_point begun;
  {
    const Owner owner{cluster};
    REQUIRE(owner.commit(5));
    cluster.goes_down();
    begun = Clock::now();
    kafka::wait_until_at_most(begun + 500ms);
    CHECK_FALSE(kafka::waiting_is_over());
    CHECK(kafka::at_most(10s) <= 500ms);
    const auto under_way = owner.commit(6);
    REQUIRE_FALSE(under_way);
    CHECK(kafka::waiting_is_over());
    const auto late = owner.commit(6);
    REQUIRE_FALSE(late);
    CHECK_MESSAGE(late.error().message == "this instance is stopping, and the brokers did not answer in time",
                  late.error().message);
    CHECK_FALSE(owner.group->committed(0));
  }
  CHECK(Clock::now() - begun < 5s);  // the group was left, too
}
