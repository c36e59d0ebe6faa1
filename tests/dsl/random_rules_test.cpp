// Rules drawn at random over a log drawn at random: the same outcomes compiled, as scripts, and by a plain
// recomputation.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/dsl/random_rules.h"
#include "tests/dsl/rule_oracle.h"
#include "tests/dsl/sample_pack.h"
#include "tests/seed.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

stream::PackPtr pack_with(const std::string& rules, bool scripted) {
  Budgets budgets;
  budgets.all_scripted = scripted;
  Loaded loaded = load(pack_of(rules), budgets);
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  return loaded.pack;
}

// Without the evidence of findings, r0.x=….
std::vector<std::string> without_findings(std::vector<std::string> transitions) {
  for (std::string& reported : transitions) {
    std::istringstream words{std::exchange(reported, {})};
    for (std::string word; std::getline(words, word, ' ');)
      if (word.find('.') == std::string::npos || word.find('.') > word.find('=') || !word.starts_with("r"))
        reported += word + " ";
    reported.pop_back();
  }
  return transitions;
}

std::string written(const oracle::Answer& answer) { return !answer ? "unknown" : *answer ? "yes" : "no"; }

std::string written(const oracle::Number& number) { return number ? std::to_string(*number) : "unknown"; }

// Where two evaluations differ first.
std::string difference(const Evaluated& a, const Evaluated& b, stream::Time start) {
  const std::string where = a.rule + " at " + std::to_string(stream::seconds(a.tick - start)) + " s";
  if (a.rule != b.rule || a.tick != b.tick)
    return where + " against " + b.rule + " at " + std::to_string(stream::seconds(b.tick - start));
  for (std::size_t slot = 0; slot < std::min(a.outcomes.size(), b.outcomes.size()); ++slot)
    if (a.outcomes[slot] != b.outcomes[slot])
      return where + ", slot " + std::to_string(slot) + ": " + written(a.outcomes[slot]) + " against " +
             written(b.outcomes[slot]);
  for (const auto& [name, values] : a.values) {
    const auto other = b.values.find(name);
    for (std::size_t slot = 0; slot < values.size(); ++slot)
      if (other == b.values.end() || slot >= other->second.size() || !same(values[slot], other->second[slot]))
        return where + ": " + name + ", slot " + std::to_string(slot) + ": " + written(values[slot]) + " against " +
               (other == b.values.end() || slot >= other->second.size() ? "nothing" : written(other->second[slot]));
  }
  return where + ": values";
}

void compare(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x != a.end() || y != b.end())
    FAIL_CHECK((x == a.end() ? "nothing" : *x), "\nagainst\n", (y == b.end() ? "nothing" : *y));
}

void compare(const std::vector<Evaluated>& a, const std::vector<Evaluated>& b, stream::Time start) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!(a[i] == b[i])) {
      FAIL_CHECK(difference(a[i], b[i], start));
      return;
    }
  CHECK(a.size() == b.size());
}

}  // namespace

TEST_CASE("random rules say the same compiled, as scripts, and by a plain recomputation from the records") {
  std::set<stream::Op> met;
  std::size_t windows = 0, outcomes[3] = {};
  const auto all = tocsin::test::seeds(tocsin::test::tries(20), 1);
  for (const std::uint32_t seed : all) {
    CAPTURE(seed);
    const std::string rules = random_rules(seed, 6);
    CAPTURE(rules);
    RandomLog log{seed, 420};
    const auto pack = pack_with(rules, false);
    RuleOracle oracle{*pack, log};
    std::vector<Evaluated> expected;
    const Judged compiled = judge(log.messages, pack, true,
                                  [&](const stream::RuleEvaluation& e) { expected.push_back(oracle.evaluate(e)); });
    for (const std::string& wrong : oracle.wrong()) FAIL_CHECK(wrong);
    compare(compiled.evaluations, expected, log.start);
    REQUIRE(compiled.evaluations.size() > 100);

    const Judged scripted = judge(log.messages, pack_with(rules, true), true);
    CHECK(scripted.counters.quarantined == 0);
    compare(compiled.evaluations, scripted.evaluations, log.start);
    // A compiled rule's alert tells the evidence of findings that were not due at this tick, too.
    compare(without_findings(compiled.transitions), without_findings(scripted.transitions));
    CHECK(scripted.digests == compiled.digests);

    const Judged unobserved = judge(log.messages, pack, false);
    compare(compiled.transitions, unobserved.transitions);
    CHECK(unobserved.digests == compiled.digests);

    met.insert(oracle.met().begin(), oracle.met().end());
    windows += oracle.known_windows();
    for (const Evaluated& one : expected)
      for (const oracle::Answer& answer : one.outcomes) ++outcomes[!answer ? 2 : *answer ? 1 : 0];
  }
  MESSAGE("no " << outcomes[0] << ", yes " << outcomes[1] << ", unknown " << outcomes[2] << "; " << windows
                << " known values of windows");
  if (all.size() < 20) return;
  for (const std::size_t n : outcomes) CHECK(n > 1000);
  // Every operation, but for those that only scripts have, and those that are forms of a conjunction's masks.
  const auto is_form = [](stream::Op op) {
    return op == stream::Op::negation || op == stream::Op::surely || op == stream::Op::maybe;
  };
  for (const stream::Operation& entry : stream::operations())
    if (entry.op < stream::Op::number && entry.op != stream::Op::at && !is_form(entry.op))  // `at` leaves a spread
      CHECK_MESSAGE(met.contains(entry.op), std::string{entry.name}, " (", static_cast<int>(entry.op), ")");
}
