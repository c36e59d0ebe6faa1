#include "adapters/forward/forward.h"

#include <doctest/doctest.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/journal/follow.h"
#include "adapters/journal/journal.h"
#include "adapters/kafka/journal_destination.h"
#include "adapters/kafka/record.h"
#include "schemas/codec.h"
#include "tests/journal/directory.h"
#include "tests/kafka/mock_cluster.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::adapters;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using schemas::EntryBuilder;

namespace {

// Writes what a recorder writes.
class Recorder {
 public:
  explicit Recorder(const std::filesystem::path& directory, journal::WriterOptions options = {}) {
    auto opened = journal::Writer::open(directory, options);
    REQUIRE(opened);
    writer_.emplace(std::move(*opened));
  }
  stream::Position line(const std::string& text) {
    builder_.about("job", "1", "node");
    builder_.line(time_, EntryBuilder::job(), text);
    return write();
  }
  stream::Position beat() {
    builder_.beat();
    return write();
  }
  stream::Position seal() {
    builder_.seal();
    return write();
  }
  [[nodiscard]] stream::Time now() const { return time_; }  // of the next record
  void pass(stream::Duration time) { time_ += time; }

 private:
  stream::Position write() {
    builder_.produced_by("wrap", 0, ++sequence_);
    const auto written = writer_->append(encoder_.encode(builder_.entry()), time_);
    REQUIRE(written);
    builder_.clear();
    time_ += 100ms;
    return *written;
  }
  std::optional<journal::Writer> writer_;
  EntryBuilder builder_;
  schemas::Encoder encoder_;
  stream::Time time_ = stream::at_nanoseconds(1'790'000'000'000'000'000);
  std::uint64_t sequence_ = 0;
};

// That no compression makes smaller.
std::string noise(std::size_t bytes) {
  std::mt19937_64 random{test::seed()};
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(random() % 255 + 1);
  return text;
}

struct Forwarding : forward::ForwardOptions {
  kafka::Address to;
};

Forwarding options_for(const std::filesystem::path& journal, kafka::Address to) {
  Forwarding options;
  options.journal = journal;
  options.to = std::move(to);
  options.log = [](const std::string&) {};
  return options;
}

stream::Result<forward::Forwarded> send(const Forwarding& options) {
  const auto to = kafka::JournalDestination::open(options.to);
  REQUIRE(to);
  return forward::forward(options, **to);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

TEST_CASE("what the brokers did not get is left, also where the journal has lost what lay before it") {
  TestDirectory directory;
  {
    Recorder recorder{directory.path(), {.segment_bytes = 1000, .most_bytes = 3000}};
    for (int i = 0; i < 100; ++i) recorder.line("step " + std::to_string(i));
    recorder.seal();
  }
  auto options = options_for(directory.path(), {"127.0.0.1:1", "tocsin", {}});
  options.wait = 100ms;
  const auto all = send(options);
  REQUIRE(all);
  CHECK(all->left > 0);
  std::ofstream{directory.path() / "forwarded"} << "127.0.0.1:1/tocsin journal/node/1 500\n";  // deleted since
  const auto rest = send(options);
  REQUIRE(rest);
  CHECK(rest->left == all->left);
}

TEST_CASE("a journal goes on to its end as long as the brokers take it, however slowly") {
  TestDirectory directory;
  {
    Recorder recorder{directory.path()};
    for (int i = 0; i < 30; ++i) recorder.line("step " + std::to_string(i));
    recorder.seal();
  }
  MockCluster cluster;
  auto options = options_for(directory.path(), cluster.address({{"max.in.flight", "1"}, {"batch.num.messages", "1"}}));
  options.wait = 2s;
  cluster.answers_after(150);
  const auto begun = Clock::now();
  const auto sent = send(options);
  REQUIRE(sent);
  CHECK(sent->sent == 30);
  CHECK(sent->left == 0);
  CHECK(Clock::now() - begun > options.wait);  // else this shows nothing
}

TEST_CASE("of a long journal no more than some MiB wait in memory for brokers that do not answer") {
  TestDirectory directory;
  const std::string text = noise(900'000);
  {
    Recorder recorder{directory.path()};
    for (int i = 0; i < 60; ++i) recorder.line(text);
    recorder.seal();
  }
  MockCluster cluster;
  auto options = options_for(directory.path(), cluster.address());
  options.wait = 1s;
  cluster.fails(MockCluster::produce, std::vector(5000, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
  const auto sent = send(options);
  REQUIRE(sent);
  CHECK(sent->sent > 0);
  CHECK(sent->sent < 40);
  CHECK(sent->left == 60);
}

TEST_CASE("behind a gap of beats the watermark says when it began, also where the sender was started again meanwhile") {
  for (const bool again : {false, true}) {
    CAPTURE(again);
    TestDirectory directory, copy;
    MockCluster cluster;
    const auto options = options_for(directory.path(), cluster.address());
    Recorder recorder{directory.path()};
    const stream::Time began = recorder.now();
    recorder.line("step 0");
    recorder.beat();
    if (again) REQUIRE(send(options));
    recorder.pass(60s);
    recorder.line("step 1");  // so that the new sender knows the partition
    recorder.beat();
    recorder.beat();
    recorder.seal();
    REQUIRE(send(options));

    kafka::RecordOptions back;
    back.from = cluster.address();
    back.partition = 0;
    back.journal = copy.path();
    REQUIRE(kafka::record(back));
    auto reader = journal::Reader::open(copy.path());
    REQUIRE(reader);
    journal::Follower follower{std::move(*reader)};
    std::vector<std::pair<stream::Duration, stream::Duration>> gaps;  // since the first record
    std::size_t watermarks = 0;
    for (auto entry = follower.next(); entry && *entry; entry = follower.next())
      for (const auto& control : (*entry)->controls) {
        if (control.kind != stream::ControlRecord::Kind::watermark) continue;
        ++watermarks;
        if (control.gap_from != stream::Time{}) gaps.emplace_back(control.gap_from - began, control.read_up_to - began);
      }
    CHECK(watermarks >= 4);
    REQUIRE(gaps.size() == 1);
    CHECK(gaps[0] == std::pair<stream::Duration, stream::Duration>{100ms, 60'300ms});
  }
}

TEST_CASE("whoever follows a journal sleeps between its records") {
  TestDirectory directory;
  Recorder recorder{directory.path()};
  recorder.line("step 0");
  MockCluster cluster;
  auto options = options_for(directory.path(), cluster.address());
  options.follow = true;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  options.stop_when_readable = ends[0];
  std::optional<stream::Result<forward::Forwarded>> sent;
  std::thread forwarding{[&] { sent = send(options); }};
  std::this_thread::sleep_for(500ms);
  const double before = cpu_seconds();
  for (int i = 0; i < 30; ++i) {
    recorder.line("step");
    std::this_thread::sleep_for(100ms);
  }
  const double spent = cpu_seconds() - before;
  recorder.seal();
  forwarding.join();
  ::close(ends[0]), ::close(ends[1]);
  REQUIRE(sent);
  REQUIRE(*sent);
  CHECK((*sent)->sent == 31);
  CHECK((*sent)->left == 0);
  CHECK(spent < 0.3);  // of three seconds
}
