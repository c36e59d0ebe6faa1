#include "adapters/runtime/hand_over.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace tocsin;
using adapters::runtime::HandOver;
using stream::Bundle;
using stream::Errc;
using stream::Error;
using stream::Position;

namespace {

// Keeps a bundle when the test answers: with success, or with an error.
class Broker final : public stream::BundleSink {
 public:
  stream::Result<void> keep(const Bundle& bundle) override {
    std::unique_lock lock{mutex_};
    asked.push_back(static_cast<std::uint64_t>(bundle.position));
    changed_.notify_all();
    changed_.wait(lock, [this] { return answer_ || always_; });
    auto answer = answer_ ? std::move(*answer_) : *always_;
    answer_.reset();
    if (answer) kept.push_back(static_cast<std::uint64_t>(bundle.position));
    return answer;
  }
  [[nodiscard]] bool has_pack(std::string_view) const override { return true; }

  void answer(stream::Result<void> answer) {
    {
      const std::lock_guard lock{mutex_};
      answer_ = std::move(answer);
    }
    changed_.notify_all();
  }
  void answer_all(stream::Result<void> answer) {
    {
      const std::lock_guard lock{mutex_};
      always_ = std::move(answer);
    }
    changed_.notify_all();
  }
  void until_asked(std::size_t times) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return asked.size() >= times; });
  }
  std::vector<std::uint64_t> asked, kept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<stream::Result<void>> answer_, always_;
};

Bundle bundle(std::uint64_t position) {
  Bundle made;
  made.position = Position{position};
  return made;
}

HandOver::Outcome outcome(HandOver& handing_over) {
  for (;;) {
    if (auto ended = handing_over.ended()) return *ended;
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("the caller goes on while a bundle is under way, and learns once what became of it") {
  Broker broker;
  HandOver handing_over{broker, true};
  CHECK(handing_over.idle());
  CHECK(handing_over.has_pack("p"));
  handing_over.give(bundle(7));
  broker.until_asked(1);
  CHECK(!handing_over.idle());
  CHECK(!handing_over.ended());
  CHECK(!handing_over.has_pack("p"));  // the bundle may drop it: the next has to bring its text
  broker.answer({});
  const auto first = outcome(handing_over);
  CHECK(first.kept);
  CHECK(first.ended >= first.begun);
  CHECK(handing_over.idle());
  CHECK(!handing_over.ended());
  CHECK(broker.kept == std::vector<std::uint64_t>{7});
}

TEST_CASE("a bundle that was not kept is tried again before any other") {
  Broker broker;
  HandOver handing_over{broker, true};
  handing_over.give(bundle(7));
  broker.answer(Error{Errc::io, "away"});
  CHECK(outcome(handing_over).kept.error().message == "away");
  CHECK(handing_over.waits());
  CHECK(!handing_over.idle());
  handing_over.again();
  broker.answer({});
  CHECK(outcome(handing_over).kept);
  handing_over.give(bundle(9));
  broker.answer({});
  CHECK(outcome(handing_over).kept);
  CHECK(broker.asked == std::vector<std::uint64_t>{7, 7, 9});
  CHECK(broker.kept == std::vector<std::uint64_t>{7, 9});
}

TEST_CASE("the last bundle waits for the one under way, and is not given where that is not kept") {
  for (const bool away : {false, true}) {
    CAPTURE(away);
    Broker broker;
    HandOver handing_over{broker, true};
    handing_over.give(bundle(7));
    broker.until_asked(1);
    std::thread answers{[&] {
      broker.answer(Error{Errc::io, "late"});
      broker.until_asked(2);
      broker.answer(away ? stream::Result<void>{Error{Errc::io, "away"}} : stream::Result<void>{});
      if (away) return;
      broker.until_asked(3);
      broker.answer({});
    }};
    const auto kept = handing_over.keep(bundle(9));
    answers.join();
    CHECK(static_cast<bool>(kept) == !away);
    CHECK(broker.kept == (away ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{7, 9}));
  }
}

TEST_CASE("a bundle that may have been kept in spite of its error is not given again, and no other behind it") {
  Broker broker;
  HandOver handing_over{broker, true};
  handing_over.give(bundle(7));
  broker.until_asked(1);
  std::thread answers{[&] {
    broker.answer(Error{Errc::refused, "it may have been kept"});
    broker.answer_all({});
  }};
  const auto kept = handing_over.keep(bundle(9));
  answers.join();
  REQUIRE_FALSE(kept);
  CHECK(kept.error().code == Errc::refused);
  CHECK(broker.asked == std::vector<std::uint64_t>{7});
}

TEST_CASE("what is under way is waited for at the end") {
  Broker broker;
  {
    std::thread answers;
    {
      HandOver handing_over{broker, true};
      handing_over.give(bundle(7));
      answers = std::thread{[&] {
        broker.until_asked(1);
        broker.answer({});
      }};
    }
    CHECK(broker.kept == std::vector<std::uint64_t>{7});
    answers.join();
  }
}

TEST_CASE("what a bundle held that was kept is freed on the sink's thread, not on the caller's") {
  std::thread::id freed_by;
  stream::Writer content;
  content.later([held = std::shared_ptr<int>{new int, [&](const int* one) {
                                               delete one;
                                               freed_by = std::this_thread::get_id();
                                             }}](stream::Writer&) {});
  Bundle bundle;
  bundle.sections[""] = stream::Section{std::move(content)};
  Broker broker;
  broker.answer_all({});
  {
    HandOver handing_over{broker, true};
    handing_over.give(std::move(bundle));
    while (!handing_over.ended()) std::this_thread::yield();
    CHECK(freed_by != std::thread::id{});
    CHECK(freed_by != std::this_thread::get_id());
  }
}
