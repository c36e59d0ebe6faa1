#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stream/rules/alert_lifecycle.h"
#include "stream/rules/rule_run.h"

namespace tocsin::tests {

using namespace stream;
using namespace std::chrono_literals;

constexpr Truth Y = Truth::yes, N = Truth::no, U = Truth::unknown;

inline Time tick(int seconds) { return at_nanoseconds(1'700'000'000'000'000'000) + std::chrono::seconds{seconds}; }

// A pack of rules that have no graph: their outcomes are given by the test.
struct Bench {
  Pack pack;
  Topology topology;
  std::vector<RuleRun> runs;
  std::unique_ptr<AlertLifecycle> lifecycle;
  std::vector<AlertTransition> published;

  Rule& rule(const std::string& name, Level per = Level::job) {
    Rule rule;
    rule.name = name, rule.per = per;
    rule.every = {{Trigger::Kind::period, 10s, {}}};
    pack.rules.push_back(rule);
    return pack.rules.back();
  }
  // Yields to the rule before it.
  Rule& child(const std::string& name, Level per = Level::job) {
    Rule& child = rule(name, per);
    child.yields_to = {static_cast<RuleIndex>(pack.rules.size() - 2)};
    child.yield_depth = 1;
    return child;
  }
  void begin(unsigned ranks = 4) {
    topology.expect_ranks(ranks);
    pack.derive();
    runs.reserve(pack.rules.size());
    for (const Rule& r : pack.rules) runs.emplace_back(r);
    lifecycle = std::make_unique<AlertLifecycle>(pack, AlertLifecycle::Names{"job", "1"});
  }
  // Outcomes by rule, for ranks in order (the reserved slot is added), or for the job.
  void at(int seconds, const std::vector<std::vector<Truth>>& outcomes) {
    std::vector<RuleIndex> ran;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].empty()) continue;
      auto all = outcomes[i];
      if (pack.rules[i].per == Level::rank) all.insert(all.begin(), U);
      runs[i].record(tick(seconds), all, topology);
      ran.push_back(static_cast<RuleIndex>(i));
    }
    lifecycle->settle(
        tick(seconds), ran, runs, topology, [](RuleIndex, Slot, AlertTransition& t) { t.shows = "shown"; },
        [&](const AlertTransition& t) { published.push_back(t); });
  }
  // The clock goes on, and nothing is evaluated.
  void silence_to(int seconds) {
    for (;;) {
      const Time due = lifecycle->next_expiry(runs);
      if (due > tick(seconds)) return;
      lifecycle->expire(due, runs, topology, [&](const AlertTransition& t) { published.push_back(t); });
    }
  }
  [[nodiscard]] std::vector<std::string> story() const {
    std::vector<std::string> lines;
    for (const auto& t : published)
      lines.push_back(std::to_string((t.at - tick(0)) / 1s) + " " + t.rule + " " + std::string{name(t.state)} +
                      (t.reason == ResolveReason::none ? "" : " " + std::string{name(t.reason)}) +
                      (t.explained_by.empty() ? "" : " by " + t.explained_by) +
                      (t.member.rank ? " rank " + std::to_string(*t.member.rank) : ""));
    return lines;
  }
};

using Story = std::vector<std::string>;

}  // namespace tocsin::tests
