#include "adapters/alertmanager/alert_store.h"

#include <doctest/doctest.h>

#include "adapters/alertmanager/alert_json.h"
#include "tests/alertmanager/transitions.h"

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::alertmanager::AlertStore;
using adapters::alertmanager::Owner;
using adapters::alertmanager::render;
using adapters::alertmanager::Reported;
using stream::AlertTransition;

namespace {

// A store for two instances, and its clocks.
struct Fixture {
  AlertStore store{2, {60s, 900s}};
  AlertStore::TimePoint now{1000s};
  stream::Time wall = stream::at_nanoseconds(1'780'000'100 * test::second);

  void report(const AlertTransition& t, Owner owner = 1) {
    store.apply({owner, t.id, t.number, t.state == stream::AlertState::firing, t.since, t.at, render(t, {})}, now);
  }
  AlertStore::Batch next(std::size_t instance = 0, std::size_t most = 64) {
    return store.next(instance, most, now, wall, [](Owner) { return true; });
  }
  std::string post(std::size_t instance = 0) {
    const auto batch = next(instance);
    store.acknowledged(instance, batch, now);
    return batch.body;
  }
  void advance(std::chrono::seconds by) { now += by, wall += by; }
};

bool has(const std::string& body, const std::string& text) { return body.find(text) != std::string::npos; }

}  // namespace

TEST_CASE_FIXTURE(
    Fixture,
    "a firing alert is due at once for each instance, and again after the interval, with an end four intervals on") {
  report(test::slow_rank());
  CHECK(has(post(), R"("startsAt":"2026-05-28T20:26:40.000Z","endsAt":"2026-05-28T20:32:20.000Z")"));
  CHECK(post().empty());
  CHECK(!post(1).empty());
  advance(59s);
  CHECK(post().empty());
  advance(1s);
  CHECK(has(post(), R"("endsAt":"2026-05-28T20:33:20.000Z")"));
}

TEST_CASE_FIXTURE(Fixture, "a resolved alert has the time of its end, is repeated, and is forgotten after a while") {
  report(test::slow_rank());
  post();
  report(test::resolved(test::slow_rank()));
  const auto body = post();
  CHECK(has(body, R"("endsAt":"2026-05-28T20:28:20.000Z")"));  // never in the future of the wall clock
  CHECK(has(body, R"("resolved":"cleared")"));
  advance(60s);
  CHECK(has(post(), R"("endsAt":"2026-05-28T20:28:40.000Z")"));
  CHECK(store.firing() == 0);
  advance(900s);
  store.expire(now);
  CHECK(store.kept() == 0);
  CHECK(store.bytes() == 0);
  CHECK(store.next_due(0) == AlertStore::TimePoint::max());
}

TEST_CASE_FIXTURE(Fixture, "repeats and older transitions change nothing") {
  report(test::slow_rank());
  post();
  report(test::slow_rank());
  CHECK(post().empty());
  report(test::resolved(test::slow_rank()));
  post();
  report(test::slow_rank());
  CHECK(post().empty());
  CHECK(store.firing() == 0);
}

TEST_CASE_FIXTURE(Fixture, "alerts with the same labels are one, which ends with the last of them") {
  auto later = test::slow_rank(0xdef);
  later.attempt = "8";
  later.since += 30s;
  report(test::slow_rank());
  report(later);
  CHECK(store.kept() == 1);
  report(test::resolved(test::slow_rank()));
  auto body = post();
  CHECK(has(body, R"("startsAt":"2026-05-28T20:27:10.000Z","endsAt":"2026-05-28T20:32:20)"));
  CHECK(has(body, R"("attempt":"8")"));
  report(test::resolved(later));
  body = post();
  CHECK(has(body, R"("resolved":"cleared")"));
  CHECK(store.firing() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a change while a request is on its way is posted after it") {
  report(test::slow_rank());
  const auto first = next();
  report(test::resolved(test::slow_rank()));
  store.acknowledged(0, first, now);
  CHECK(has(post(), R"("resolved":"cleared")"));
}

TEST_CASE_FIXTURE(Fixture, "an alert whose owner may not post waits, takes no time, and is posted when its owner may") {
  report(test::slow_rank(), 1);
  report(test::slow_rank(0xdef, 4), 2);
  auto only_second = [](Owner owner) { return owner == 2; };
  auto batch = store.next(0, 64, now, wall, only_second);
  CHECK(batch.alerts.size() == 1);
  CHECK(has(batch.body, R"("rank":"4")"));
  store.acknowledged(0, batch, now);
  CHECK(store.next_due(0) == now + 60s);
  CHECK(store.waiting(0) == 0);
  CHECK(store.set_aside() == std::vector<Owner>{1});
  store.permit(1, now);
  CHECK(store.waiting(0) == 1);
  CHECK(has(post(), R"("rank":"3")"));
}

TEST_CASE_FIXTURE(Fixture, "the alerts of an owner that is withdrawn are forgotten, and not resolved") {
  report(test::slow_rank(), 1);
  report(test::slow_rank(0xdef, 4), 2);
  (void)store.next(0, 64, now, wall, [](Owner) { return false; });
  store.withdraw(1);
  store.permit(1, now);
  store.permit(2, now);
  const auto body = post();
  CHECK(!has(body, R"("rank":"3")"));
  CHECK(has(body, R"("rank":"4")"));
  CHECK(store.kept() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a request holds no more than its most") {
  for (std::uint32_t rank = 0; rank < 10; ++rank) report(test::slow_rank(rank + 1, rank));
  auto batch = next(0, 4);
  CHECK(batch.alerts.size() == 4);
  store.acknowledged(0, batch, now);
  CHECK(store.waiting(0) == 6);
  CHECK(store.waiting(1) == 10);
}
