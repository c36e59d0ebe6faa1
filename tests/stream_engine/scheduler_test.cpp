// When rules are due: at ticks, at records, at the end, and over a reload.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "stream/rules/scheduler.h"
#include "stream/values/archive.h"
#include "tests/stream_engine/lifecycle_bench.h"

using namespace tocsin::tests;

namespace {

// A pack with a rule each second for each of these times that rules settle.
Pack settling(std::initializer_list<Duration> settles) {
  Pack pack;
  for (const Duration settle : settles) {
    Rule rule;
    rule.name = "settles " + std::to_string(settle.count()), rule.settle = settle,
    rule.every = {{Trigger::Kind::period, 1s, {}}};
    pack.rules.push_back(std::move(rule));
  }
  return pack;
}

}  // namespace

TEST_CASE("ticks that a reload made overdue run at the same moment after a restart") {
  const Pack late = settling({20s});
  Pack soon = settling({1s});
  soon.rules[0].name = late.rules[0].name;
  const Scheduler before{late, "job", tick(0)};  // at tick(15) it has run none of the ticks from 1 on
  Scheduler scheduler{soon, "job", tick(0)};
  scheduler.adopt(before, tick(15));
  REQUIRE(scheduler.next() == tick(15));
  Writer out;
  scheduler.save(out);
  Scheduler restored{soon, "job", tick(0)};
  Reader in{out.bytes()};
  REQUIRE(restored.load(in));
  for (int i = 0; i < 20; ++i) {
    const auto due = scheduler.take(), same = restored.take();
    CHECK(due.run_at == same.run_at);
    CHECK(due.tick == same.tick);
  }
}

TEST_CASE("a rule that a reload brings judges what is due from then on, the end too if that is not past") {
  const Pack pack = settling({5s}), more = settling({5s, 8s});
  for (const int from : {3, 9, 15, 18, 22, 23, 24, 40}) {
    CAPTURE(from);
    Scheduler before{pack, "job", tick(0)};
    before.end(tick(15));
    while (before.next() < tick(from)) before.take();
    Scheduler scheduler{more, "job", tick(0)};
    scheduler.adopt(before, tick(from));
    std::vector<Time> judged, expected;  // by the rule that is new
    while (scheduler.next() < tick(60)) {
      const auto due = scheduler.take();
      if (std::find(due.rules.begin(), due.rules.end(), RuleIndex{1}) != due.rules.end()) judged.push_back(due.tick);
    }
    for (int i = std::max(1, from - 8); i <= 15; ++i) expected.push_back(tick(i));
    CHECK(judged == expected);
  }
}

TEST_CASE("a rule that a reload brings judges an end within a row where that row's tick is not past") {
  const Pack pack = settling({5s}), more = settling({5s, 8s});
  const Time end = tick(14) + 300ms;
  for (const int from : {22, 23, 24}) {
    CAPTURE(from);
    Scheduler before{pack, "job", tick(0)};
    before.end(end);
    while (before.next() < tick(from)) before.take();
    Scheduler scheduler{more, "job", tick(0)};
    scheduler.adopt(before, tick(from));
    bool judged = false;
    while (scheduler.next() < tick(60)) {
      const auto due = scheduler.take();
      judged |= due.tick == end && std::find(due.rules.begin(), due.rules.end(), RuleIndex{1}) != due.rules.end();
    }
    CHECK(judged == (from <= 23));  // the tick of the row that holds it is 15, which is looked at 8 s later
  }
}

TEST_CASE("a rule that a reload brings too late, its from being past, judges what is due after all that has run") {
  const Pack pack = settling({5s}), more = settling({5s, 8s});
  Scheduler before{pack, "job", tick(0)};
  while (before.next() < tick(20)) before.take();
  Scheduler scheduler{more, "job", tick(0)};
  scheduler.adopt(before, tick(10));
  Time first = never;
  while (scheduler.next() < tick(40)) {
    const auto due = scheduler.take();
    if (std::find(due.rules.begin(), due.rules.end(), RuleIndex{1}) != due.rules.end())
      first = std::min(first, due.tick);
  }
  CHECK(first == tick(12));
}

TEST_CASE("a rule that is removed and comes back with another lateness or interval judges no moment twice") {
  Rule rule, other;
  rule.name = "rule", rule.settle = 1s, rule.every = {{Trigger::Kind::period, 1s, {}}};
  other.name = "other", other.settle = 9s, other.every = rule.every;
  Rule later = rule, rarer = rule;
  later.settle = 9s, rarer.every = {{Trigger::Kind::period, 2s, {}}}, rarer.settle = 9s;
  Pack first, without;
  first.rules = {other, rule}, without.rules = {other};
  for (const Rule& back : {later, rarer})
    for (const bool removed : {false, true})
      for (const int from : {10, 14, 17, 20}) {
        CAPTURE(removed);
        CAPTURE(from);
        Pack last;
        last.rules = {other, back};
        std::vector<std::pair<Time, Time>> judged;  // tick, and when
        const auto run = [&](Scheduler& scheduler, const Pack& pack, Time until) {
          scheduler.end(tick(14) + 300ms);
          while (scheduler.next() < until) {
            const auto due = scheduler.take();
            for (const RuleIndex index : due.rules)
              if (pack.rules[static_cast<std::size_t>(index)].name == "rule" && !due.at_end)
                judged.emplace_back(due.tick, due.run_at);
          }
        };
        Scheduler a{first, "job", tick(0)}, b{without, "job", tick(0)}, c{last, "job", tick(0)};
        run(a, first, tick(from));
        if (removed) b.adopt(a, tick(from)), run(b, without, tick(from + 2)), c.adopt(b, tick(from + 2));
        else c.adopt(a, tick(from));
        run(c, last, tick(60));
        std::sort(judged.begin(), judged.end());
        CHECK(std::adjacent_find(judged.begin(), judged.end(),
                                 [](const auto& x, const auto& y) { return x.first == y.first; }) == judged.end());
        CHECK(judged.back().first == tick(14) + 300ms);
      }
}

TEST_CASE(
    "a rule that judged the end by its interval does not judge it again where a reload makes it wait for the end") {
  Rule before, now;
  before.name = now.name = "rule", before.every = {{Trigger::Kind::period, 1s, {}}},
  now.every = {{Trigger::Kind::end, {}, {}}};
  Pack old_pack, new_pack;
  old_pack.rules = {before}, new_pack.rules = {now};
  Scheduler a{old_pack, "job", tick(0)}, b{new_pack, "job", tick(0)};
  a.end(tick(14) + 300ms);
  while (a.next() < tick(17)) a.take();
  b.adopt(a, tick(17));
  const auto due = b.take();
  CHECK(due.at_end);
  CHECK(due.rules.empty());
}

TEST_CASE("a rule that was removed after the end does not judge it when it comes back, and neither after a restart") {
  Rule rule, other;
  rule.name = "rule", rule.every = {{Trigger::Kind::end, {}, {}}};
  other.name = "other", other.every = {{Trigger::Kind::period, 1s, {}}};
  Pack with, without;
  with.rules = {rule, other}, without.rules = {other};
  for (const int removed : {14, 17}) {
    CAPTURE(removed);
    Scheduler a{with, "job", tick(0)}, b{without, "job", tick(0)}, c{with, "job", tick(0)},
        restored{with, "job", tick(0)};
    a.end(tick(14) + 300ms);
    while (a.next() < tick(removed)) a.take();
    b.adopt(a, tick(removed));
    while (b.next() < tick(20)) b.take();
    c.adopt(b, tick(20));
    Writer out;
    c.save(out);
    Reader in{out.bytes()};
    REQUIRE(restored.load(in));
    for (Scheduler* one : {&c, &restored}) {
      const auto due = one->take();
      CHECK(due.at_end);
      CHECK(due.rules == (removed > 15 ? std::vector<RuleIndex>{} : std::vector{RuleIndex{0}}));
    }
  }
}

TEST_CASE(
    "a late rule that is removed before it has judged the end judges it when it comes back, though others have judged "
    "it") {
  Rule late, other;
  late.name = "late", late.settle = 30s, late.every = {{Trigger::Kind::period, 1s, {}}};
  other.name = "other", other.settle = 1s, other.every = late.every;
  Pack with, without;
  with.rules = {late, other}, without.rules = {other};
  Scheduler a{with, "job", tick(0)}, b{without, "job", tick(0)}, c{with, "job", tick(0)};
  a.end(tick(14) + 300ms);
  while (a.next() < tick(17)) a.take();  // the other is at its end, this one has judged nothing
  b.adopt(a, tick(17));
  while (b.next() < tick(20)) b.take();
  c.adopt(b, tick(20));
  std::vector<Time> judged;
  while (c.next() < tick(60)) {
    const auto due = c.take();
    if (std::find(due.rules.begin(), due.rules.end(), RuleIndex{0}) != due.rules.end()) judged.push_back(due.tick);
  }
  REQUIRE_FALSE(judged.empty());
  CHECK(judged.back() == tick(14) + 300ms);
}

TEST_CASE("periodic ticks lie on the subject's grid, record ticks at their records, and the last tick is at the end") {
  Pack pack;
  Rule slow, loss;
  slow.name = "slow", slow.settle = 5s, slow.every = {{Trigger::Kind::period, 10s, {}}};
  loss.name = "loss", loss.settle = 5s,
  loss.every = {{Trigger::Kind::record, {}, SignalId{3}}, {Trigger::Kind::end, {}, {}}};
  pack.rules = {slow, loss};
  std::string subject = "job";
  while (hash_text(subject) % 10 != 3) subject += "+";
  Scheduler scheduler{pack, subject, tick(0)};
  scheduler.applied(SignalId{3}, tick(2));
  scheduler.applied(SignalId{3}, tick(2));
  scheduler.applied(SignalId{4}, tick(2));
  auto due = scheduler.take();
  CHECK(due.tick == tick(2));
  CHECK(due.run_at == tick(7));
  CHECK(due.rules == std::vector{RuleIndex{1}});
  due = scheduler.take();
  CHECK(due.tick == tick(3));  // the subject's hash modulo ten whole seconds, after the start
  CHECK(due.rules == std::vector{RuleIndex{0}});
  scheduler.end(tick(15) + 300ms);
  CHECK(scheduler.take().tick == tick(13));
  due = scheduler.take();
  CHECK(due.tick == tick(15) + 300ms);
  CHECK(due.rows_to == tick(16));  // the row that holds the end
  CHECK(due.rules == std::vector{RuleIndex{0}});
  due = scheduler.take();
  CHECK(due.at_end);
  CHECK(due.rules == std::vector{RuleIndex{1}});
  CHECK(due.run_at == tick(15) + 300ms + 120s + 5s);
  CHECK(scheduler.next() == never);
}
