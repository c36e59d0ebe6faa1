#include "adapters/service/push_role.h"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/kafka_service/kafka_backend.h"
#include "tests/kafka/mock_cluster.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;

namespace {

// What each push is answered with: "taken", or the reason why not. Pushed to by the test, answered by the role's
// thread.
class Client {
 public:
  explicit Client(service::PushRole& role) : role_(role) {}
  void push(std::string text) {
    role_.push({{"job", "j"}}, std::move(text), [this](const stream::Result<service::PushCounts>& pushed) {
      const std::lock_guard lock{mutex_};
      answers_.push_back(pushed ? "taken" : pushed.error().message);
      answered_.notify_all();
    });
  }
  // The answers, once there are so many.
  std::vector<std::string> answers(std::size_t count) {
    std::unique_lock lock{mutex_};
    CHECK(answered_.wait_for(lock, 30s, [&] { return answers_.size() >= count; }));
    return answers_;
  }

 private:
  service::PushRole& role_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<std::string> answers_;
};

service::OpenAppender opens(const MockCluster& cluster) {
  return [address = cluster.address()] { return kafka_service::TelemetryAppender::open(address); };
}

const std::string line = R"({"line":"step 1"})", refusal = "too many pushes wait for the log: push again later";

}  // namespace

TEST_CASE("a push is refused at once while as many as may wait are not answered, those in hand as well") {
  for (const service::PushLimits limits :
       {service::PushLimits{.requests = 2}, service::PushLimits{.bytes = 2 * line.size() + 1}}) {
    CAPTURE(limits.requests);
    MockCluster cluster;
    service::PushRole role{opens(cluster), limits};
    Client client{role};
    client.push(line);
    CHECK(client.answers(1) == std::vector<std::string>{"taken"});  // the brokers are known from now on
    cluster.answers_late(MockCluster::produce, 2s);
    client.push(line);
    std::this_thread::sleep_for(500ms);  // it is in hand
    client.push(line);
    const auto begun = std::chrono::steady_clock::now();
    client.push(line);
    CHECK(client.answers(2).back() == refusal);
    CHECK(std::chrono::steady_clock::now() - begun < 1s);
    CHECK(client.answers(4) == std::vector<std::string>{"taken", refusal, "taken", "taken"});
    client.push(line);
    CHECK(client.answers(5).back() == "taken");
  }
}

TEST_CASE("pushes are taken again after an error that ends the client of the brokers for good") {
  MockCluster cluster;
  service::PushRole role{opens(cluster)};
  Client client{role};
  client.push(line);
  CHECK(client.answers(1).back() == "taken");
  cluster.fails(MockCluster::produce, {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER});
  client.push(line);
  CHECK(client.answers(2).back() != "taken");
  client.push(line);
  CHECK(client.answers(3).back() == "taken");
}

TEST_CASE("a role that ends answers whoever waits, and refuses what comes later") {
  MockCluster cluster;
  service::PushRole role{opens(cluster)};
  Client client{role};
  client.push(line);
  role.stop();
  client.push(line);
  CHECK(client.answers(2) == std::vector<std::string>{"taken", "this instance is stopping: push to another one"});
}
