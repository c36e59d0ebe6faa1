#include "adapters/service/push_role.h"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/kafka_service/kafka_backend.h"
#include "schemas/codec.h"
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
    role_.push({{"job", "j"}}, std::move(text), {}, [this](const stream::Result<service::PushCounts>& pushed) {
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

// A log of four partitions that takes everything; `watermarks` has where those of each push went.
struct Partitions : service::Appender {
  explicit Partitions(std::vector<int>& to) : watermarks(to) {}
  stream::Result<int> partitions(std::chrono::milliseconds) const override { return 4; }
  stream::Result<void> append(int partition, std::string_view job, std::span<const std::byte>) override {
    if (job.empty()) watermarks.push_back(partition);
    return {};
  }
  stream::Result<bool> flush(std::chrono::milliseconds) override { return true; }
  std::size_t waiting() const noexcept override { return 0; }
  std::vector<int>& watermarks;
};

std::string posted(const stream::Entry& entry) {
  const auto message = schemas::encode(entry);
  const auto length = static_cast<std::uint32_t>(message.size());
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text.append(reinterpret_cast<const char*>(message.data()), message.size());
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

TEST_CASE("a role remembers a bounded number of sources, and the watermarks of others go to all partitions") {
  std::vector<int> watermarks;
  service::PushLimits limits;
  limits.sources = 4;
  service::PushRole role{[&]() -> stream::Result<std::unique_ptr<service::Appender>> {
                           return std::unique_ptr<service::Appender>{std::make_unique<Partitions>(watermarks)};
                         },
                         limits};
  const auto push = [&](const stream::Entry& entry) {
    std::promise<bool> taken;
    role.push_telemetry(posted(entry), {}, {}, [&](const auto& pushed) { taken.set_value(static_cast<bool>(pushed)); });
    CHECK(taken.get_future().get());
  };
  const auto records_of = [&](std::string_view source) {
    schemas::EntryBuilder entry;
    entry.about("j");
    entry.line({}, schemas::EntryBuilder::rank(0), "step 1");
    stream::Entry sent = entry.entry();
    sent.origin_source = source;
    push(sent);
  };
  const auto partitions_of = [&](std::string_view source) {
    watermarks.clear();
    schemas::EntryBuilder entry;
    entry.watermark(source, stream::at_nanoseconds(1));
    push(entry.entry());
    return watermarks.size();
  };
  records_of("seldom");
  records_of("often");
  CHECK(partitions_of("seldom") == 1);
  for (const char* other : {"a", "b", "c", "d"}) {
    records_of(other);
    CHECK(partitions_of("often") == 1);
  }
  CHECK(partitions_of("seldom") == 4);
  CHECK(partitions_of("often") == 1);
}

TEST_CASE("a sender that may write only some jobs uses journals of its own as sources, and moves no others") {
  std::vector<int> watermarks;
  service::SenderRights rights{{{"alice", {}, {"a-*"}, {}}, {"bob", {}, {"b-*"}, {}}, {"agents", {}, {}, {}}}, {}};
  service::PushRole role{[&]() -> stream::Result<std::unique_ptr<service::Appender>> {
                           return std::unique_ptr<service::Appender>{std::make_unique<Partitions>(watermarks)};
                         },
                         {},
                         &rights};
  const auto push = [&](const std::string& sender, const stream::Entry& entry) {
    std::promise<std::string> answer;
    role.push_telemetry(posted(entry), {}, sender,
                        [&](const auto& pushed) { answer.set_value(pushed ? "" : pushed.error().message); });
    return answer.get_future().get();
  };
  const auto record = [&](const std::string& sender, std::string_view job, std::string_view source) {
    schemas::EntryBuilder entry;
    entry.about(job);
    entry.line({}, schemas::EntryBuilder::rank(0), "step 1");
    stream::Entry sent = entry.entry();
    sent.origin_source = source;
    return push(sender, sent);
  };
  // The number of partitions that get it.
  const auto watermark = [&](const std::string& sender, const std::vector<std::string_view>& sources) {
    watermarks.clear();
    schemas::EntryBuilder entry;
    for (const auto source : sources) entry.watermark(source, stream::at_nanoseconds(1));
    CHECK(push(sender, entry.entry()).empty());
    return watermarks.size();
  };
  CHECK(record("alice", "a-1", "journal/a").empty());
  CHECK(record("agents", "b-1", "journal/agents").empty());
  CHECK(watermark("alice", {"journal/a"}) == 1);
  CHECK(record("bob", "b-1", "journal/a") ==
        "the sender bob may send records of its own journals alone, and not of journal/a");
  CHECK(record("bob", "b-1", "nodes/0").find("not of nodes/0") != std::string::npos);  // a topic's partition
  for (const char* limited : {"alice", "bob"}) {
    CHECK(watermark(limited, {"journal/agents"}) == 0);
    CHECK(watermark(limited, {"nodes/0"}) == 0);
  }
  CHECK(watermark("bob", {"journal/a"}) == 0);
  CHECK(watermark("alice", {"journal/agents", "journal/a"}) == 0);  // all of a message, or nothing
  CHECK(watermark("agents", {"journal/agents"}) == 1);
  CHECK(watermark("", {"nodes/0"}) == 4);
  CHECK(watermark("", {"journal/a", "journal/agents"}) <= 2);
}
