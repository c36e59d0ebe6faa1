#include "adapters/notify/router.h"

#include <doctest/doctest.h>

#include "tests/notify/notices.h"

using namespace tocsin;
using namespace tocsin::adapters::notify;
using namespace std::chrono_literals;
using test::at;
using test::hang;
using test::resolved;

namespace {

bool anybody(Owner) { return true; }

// A router with one receiver, and its messages.
struct Outbox {
  explicit Outbox(Receiver one = test::receiver("webhook:https://example.org/hook"))
      : receiver(std::move(one)), router({receiver}) {}
  void report(const stream::AlertTransition& t, std::int64_t now, bool restored = false) {
    router.alert(0, alert_of(t), at(now), restored);
  }
  std::vector<Message> due(std::int64_t now) { return router.due(at(now), anybody); }
  // A router of the next process, with what this one kept.
  void restart(std::int64_t now, bool alone = true) {
    Router next{{receiver}};
    next.restore(router.state(), at(now), alone);
    router = std::move(next);
  }
  Receiver receiver;
  Router router;
};

std::vector<std::uint64_t> ids(const Message& message) {
  std::vector<std::uint64_t> all;
  for (const auto& item : message.items) all.push_back(item.alert.id);
  return all;
}

}  // namespace

TEST_CASE("alerts that come within the group's time are one message, the most severe first") {
  Outbox outbox;
  outbox.report(test::slow_input(1), 0);
  outbox.report(hang(2), 10);
  CHECK(outbox.due(29).empty());
  CHECK(outbox.router.next_due() == at(30));

  const auto messages = outbox.due(30);

  REQUIRE(messages.size() == 1);
  CHECK(ids(messages[0]) == std::vector<std::uint64_t>{2, 1});
  CHECK(outbox.due(31).empty());
}

TEST_CASE("a receiver is notified only what all of its conditions choose") {
  struct Choice {
    const char* what;
    void (*narrow)(Receiver&);
    bool notified;
  };
  const Choice choices[] = {
      {"severity", [](Receiver& r) { r.severity = "critical"; }, true},
      {"family", [](Receiver& r) { r.families = {"C*"}; }, true},
      {"another family", [](Receiver& r) { r.families = {"D*"}; }, false},
      {"rule", [](Receiver& r) { r.rules = {"*_hang"}; }, true},
      {"not this rule",
       [](Receiver& r) {
         r.rules = {"*", "!collective_hang"};
       },
       false},
      {"mode", [](Receiver& r) { r.modes = {"canary"}; }, false},
      {"label",
       [](Receiver& r) {
         r.jobs = {{"partition", {"prod", "batch"}}};
       },
       true},
      {"another label",
       [](Receiver& r) {
         r.jobs = {{"partition", {"debug"}}};
       },
       false},
      {"not this user",
       [](Receiver& r) {
         r.jobs = {{"user", {"!ada"}}};
       },
       false},
      {"no such label",
       [](Receiver& r) {
         r.jobs = {{"team", {"vision"}}};
       },
       false},
      {"anything but a team that it has not",
       [](Receiver& r) {
         r.jobs = {{"team", {"!vision"}}};
       },
       true},
      {"job",
       [](Receiver& r) {
         r.jobs = {{"name", {"lla*"}}};
       },
       true},
      {"no alerts", [](Receiver& r) { r.alerts = false; }, false},
  };
  for (const Choice& choice : choices) {
    CAPTURE(choice.what);
    Receiver receiver = test::receiver("webhook:https://example.org/hook");
    choice.narrow(receiver);
    Outbox outbox{receiver};
    outbox.report(hang(), 0);
    CHECK(outbox.due(60).size() == (choice.notified ? 1 : 0));
  }
  Outbox warned{[] {
    Receiver receiver = test::receiver("webhook:https://example.org/hook");
    receiver.severity = "critical";
    return receiver;
  }()};
  warned.report(test::slow_input(), 0);
  CHECK(warned.due(60).empty());
}

TEST_CASE("the end of an alert is notified to who was notified of its beginning") {
  Outbox outbox;
  outbox.report(hang(1), 0);
  CHECK(outbox.due(30).size() == 1);
  outbox.report(resolved(hang(1)), 100);
  outbox.report(resolved(hang(2)), 100);  // of which nobody knows

  const auto messages = outbox.due(130);

  REQUIRE(messages.size() == 1);
  REQUIRE(messages[0].items.size() == 1);
  CHECK_FALSE(messages[0].items[0].alert.firing);
  CHECK_FALSE(messages[0].items[0].first);
}

TEST_CASE("an alert that ends before its group is sent is notified with its end") {
  Outbox outbox;
  outbox.report(hang(), 0);
  outbox.report(resolved(hang(), stream::ResolveReason::attempt_ended), 5);
  const auto messages = outbox.due(30);
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].items[0].first);
  CHECK_FALSE(messages[0].items[0].alert.firing);
  CHECK(outbox.due(60).empty());
}

TEST_CASE("an alert that fires is repeated, and one that has resolved is not") {
  Outbox outbox;
  outbox.report(hang(1), 0);
  CHECK(outbox.due(30).size() == 1);
  CHECK(outbox.due(30 + 4 * 3600 - 1).empty());
  CHECK(outbox.router.next_due() == at(30 + 4 * 3600));
  auto again = outbox.due(30 + 4 * 3600);
  REQUIRE(again.size() == 1);
  CHECK_FALSE(again[0].items[0].first);
  CHECK(again[0].items[0].alert.firing);
  outbox.report(resolved(hang(1)), 30 + 4 * 3600 + 5);
  CHECK(outbox.due(30 + 4 * 3600 + 60).size() == 1);
  CHECK(outbox.due(90 * 3600).empty());
  CHECK(outbox.router.next_due() == stream::never);
}

TEST_CASE("a transition that comes again is notified once, also after it resolved") {
  Outbox outbox;
  outbox.report(hang(), 0);
  CHECK(outbox.due(30).size() == 1);
  outbox.report(hang(), 40);
  CHECK(outbox.due(100).empty());
  outbox.report(resolved(hang()), 110);
  CHECK(outbox.due(200).size() == 1);
  outbox.report(hang(), 210);
  outbox.report(resolved(hang()), 210);
  CHECK(outbox.due(300).empty());
}

TEST_CASE("a restart tells nothing twice, and what waited for its group") {
  Outbox outbox;
  outbox.report(hang(1), 0);
  CHECK(outbox.due(30).size() == 1);
  outbox.report(test::slow_input(2), 40);
  outbox.restart(50);
  outbox.report(hang(1), 60, true);
  const auto messages = outbox.due(90);
  REQUIRE(messages.size() == 1);
  CHECK(ids(messages[0]) == std::vector<std::uint64_t>{2});
  outbox.restart(100);
  outbox.report(resolved(hang(1)), 110);
  CHECK(outbox.due(140).size() == 1);
  outbox.restart(150);
  outbox.report(hang(1), 160);
  CHECK(outbox.due(300).empty());
}

TEST_CASE("after a takeover an alert is notified if it is new, and taken for notified if it is not") {
  Outbox outbox;
  outbox.report(hang(1), 100, true);  // it fires for 40 s
  auto old = test::slow_input(2);
  outbox.report(old, 30 + 601, true);
  const auto messages = outbox.due(1000);
  REQUIRE(messages.size() == 1);
  CHECK(ids(messages[0]) == std::vector<std::uint64_t>{1});
  outbox.report(resolved(old), 1001);
  CHECK(outbox.due(1040).size() == 1);
}

TEST_CASE("who must not tell keeps alerts for later, and repeats none that another instance has") {
  Outbox outbox;
  outbox.report(hang(1), 0);
  CHECK(outbox.router.due(at(30), [](Owner) { return false; }).empty());
  CHECK(outbox.due(31).size() == 1);
  outbox.router.withdraw(0);
  CHECK(outbox.due(30 * 3600).empty());
  outbox.report(hang(1), 30 * 3600, true);  // it is ours again
  CHECK(outbox.due(30 * 3600 + 1).size() == 1);
}

TEST_CASE("beyond the limit alerts wait, and the last message before says until when") {
  Receiver receiver = test::receiver("webhook:https://example.org/hook");
  receiver.limit = 2, receiver.group = 0ms;
  Outbox outbox{receiver};
  outbox.report(hang(1), 0);
  CHECK_FALSE(outbox.due(0).at(0).held_until);
  outbox.report(hang(2), 10);
  CHECK(outbox.due(10).at(0).held_until == at(3600));
  outbox.report(hang(3), 20);
  outbox.report(hang(4), 20);
  outbox.report(resolved(hang(4)), 300);
  CHECK(outbox.due(3599).empty());
  CHECK(outbox.router.next_due() == at(3600));

  const auto messages = outbox.due(3600);

  REQUIRE(messages.size() == 1);
  CHECK(ids(messages[0]) == std::vector<std::uint64_t>{3});
  CHECK(messages[0].left_out == 1);
}

TEST_CASE("the end of an alert is notified whatever the limit is, once for its group, and counts for none") {
  Receiver receiver = test::receiver("webhook:https://example.org/hook");
  receiver.limit = 2, receiver.group = 10s;
  Outbox outbox{receiver};
  for (const std::uint64_t id : {1, 2}) outbox.report(hang(id), 0);
  CHECK(outbox.due(10).size() == 1);
  outbox.report(hang(3), 10);
  CHECK(outbox.due(20).size() == 1);
  outbox.report(hang(4), 20);
  CHECK(outbox.due(30).empty());
  outbox.report(resolved(hang(1)), 30);
  outbox.report(resolved(hang(2)), 35);
  CHECK(outbox.router.next_due() == at(40));
  CHECK(outbox.due(39).empty());

  const auto ends = outbox.due(40);

  REQUIRE(ends.size() == 1);
  CHECK(ids(ends[0]).size() == 2);
  CHECK_FALSE(ends[0].held_until);
  CHECK(outbox.router.next_due() == at(3610));
  CHECK(ids(outbox.due(3610).at(0)) == std::vector<std::uint64_t>{4});
}

TEST_CASE("of what waits for the limit the most severe goes first, and among them the newest") {
  Receiver receiver = test::receiver("pagerduty:?key_file=/etc/key&limit=1");
  receiver.group = 0ms;
  Outbox outbox{receiver};
  outbox.report(hang(9), 0);
  CHECK(outbox.due(0).size() == 1);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    stream::AlertTransition t = id <= 2 ? test::slow_input(id) : hang(id);
    t.at = at(static_cast<std::int64_t>(id));
    outbox.report(t, 10);
  }
  std::vector<std::uint64_t> order;
  for (std::int64_t hour = 1; hour <= 4; ++hour)
    for (const Message& message : outbox.due(hour * 3600)) order.push_back(message.items.at(0).alert.id);
  CHECK(order == std::vector<std::uint64_t>{4, 3, 2, 1});
}

TEST_CASE("PagerDuty gets a whole storm at once where no limit is configured") {
  Outbox outbox{test::receiver("pagerduty:?key_file=/etc/key")};
  for (std::uint64_t id = 1; id <= 345; ++id) outbox.report(hang(id), 0);
  CHECK(outbox.due(30).size() == 345);
  for (std::uint64_t id = 1; id <= 345; ++id) outbox.report(resolved(hang(id)), 40);
  CHECK(outbox.due(70).size() == 345);
  CHECK(outbox.router.next_due() == stream::never);
}

TEST_CASE("at the end nothing waits for its group, and for the limit only where there is a later") {
  for (const bool last : {false, true}) {
    Receiver receiver = test::receiver("webhook:https://example.org/hook");
    receiver.limit = 1;
    Outbox outbox{receiver};
    outbox.report(hang(1), 0);
    outbox.router.hurry(at(1), last);
    CHECK(outbox.due(1).size() == 1);
    outbox.report(hang(2), 2);
    outbox.router.hurry(at(3), last);
    CHECK(outbox.due(3).size() == (last ? 1 : 0));
  }
}

TEST_CASE("many alerts are one message that says how many are not in it") {
  Outbox outbox;
  for (std::uint64_t id = 1; id <= 50; ++id) outbox.report(hang(id), 0);
  const auto messages = outbox.due(30);
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].items.size() == Router::most_items);
  CHECK(messages[0].more == 50 - Router::most_items);
}

TEST_CASE("PagerDuty gets an event for each alert, and no event without its beginning") {
  Outbox outbox{test::receiver("pagerduty:?key_file=/etc/key")};
  outbox.report(hang(1), 0);
  outbox.report(hang(2), 0);
  outbox.report(resolved(hang(2)), 1);
  const auto messages = outbox.due(30);
  REQUIRE(messages.size() == 3);
  CHECK(messages[1].items[0].alert.firing);
  CHECK_FALSE(messages[2].items[0].alert.firing);
  CHECK(ids(messages[1]) == ids(messages[2]));
}

TEST_CASE("the end of a job is notified at once, with what waits of that job") {
  Receiver receiver = test::receiver("mailto:a@b");
  receiver.verdicts = "failed";
  Outbox outbox{receiver};
  outbox.report(hang(1), 0);
  outbox.report(test::slow_input(2), 0);
  outbox.router.ended(0, ended_of(test::failure()), at(1));
  outbox.router.ended(0, ended_of(test::failure()), at(1));
  auto completed = test::failure("bert");
  completed.family.clear(), completed.end_reason = "completed";
  outbox.router.ended(0, ended_of(completed), at(1));

  const auto messages = outbox.due(2);

  REQUIRE(messages.size() == 1);
  CHECK(messages[0].ended->job == "llama");
  CHECK(ids(messages[0]) == std::vector<std::uint64_t>{1});
  CHECK(outbox.due(60).size() == 1);
}

TEST_CASE("what is made twice of the same alerts has the same id, and a repeat another") {
  const auto first = [](std::int64_t now) {
    Outbox outbox;
    outbox.report(hang(), now);
    return outbox.due(now + 60).at(0).id;
  };
  CHECK(first(0) == first(5));
  Outbox outbox;
  outbox.report(hang(), 0);
  const auto id = outbox.due(30).at(0).id;
  const auto again = outbox.due(30 + 4 * 3600).at(0).id;
  CHECK(id != again);
  CHECK(outbox.due(30 + 8 * 3600).at(0).id != again);
}

TEST_CASE("a state that cannot be read is none") {
  for (const char* text :
       {"", "{", "[]", R"({"version":2})", R"({"version":1,"alerts":[{}],"receivers":{},"ended":[],"finished":[]})"}) {
    Outbox outbox;
    outbox.router.restore(text, at(0), true);
    outbox.report(hang(), 0);
    CHECK(outbox.due(30).size() == 1);
  }
}
