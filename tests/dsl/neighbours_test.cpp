// Rules that try to take the engine with them while it judges: each is quarantined alone, with its message and a count,
// and what the other rules say is what they say without it.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/dsl/judged.h"
#include "tests/dsl/random_log.h"
#include "tests/dsl/random_rules.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

constexpr std::uint64_t seed = 41;

// A rule that is first by name, so that all others move up; it asks for a concrete value, so that it runs as a script.
std::string hostile(const std::string& body, const std::string& head = "") {
  return "rule \"a_hostile\" { per = \"gpu\", every = \"10s\", " + head +
         " needs = { duty = signal \"duty\" { over = \"30s\" } },\n  evaluate = function(job)\n    local duty = "
         "job.duty:mean()\n"
         "    local n = duty:count(\"job\"):number() or 0\n    local t = {}\n" +
         body + "\n    return duty:above(0.9)\n  end }\n";
}

Budgets tight() {
  Budgets budgets;
  budgets.instructions = 100'000;
  budgets.bytes = 16u << 20;
  budgets.nodes = 2'000;
  budgets.elements = 1'000'000;
  return budgets;
}

Judged judged(const std::string& rules) {
  const Loaded loaded = load(pack_of(rules), tight());
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  RandomLog log{seed, 240};
  return judge(log.messages, loaded.pack, true);
}

const Judged& alone() {
  static const Judged reported = judged(random_rules(seed, 6));
  return reported;
}

// What the rules but the hostile one answered: their evaluations, and their alerts.
void check_neighbours(Judged beside) {
  std::erase_if(beside.evaluations, [](const Evaluated& e) { return e.rule == "a_hostile"; });
  std::erase_if(beside.transitions,
                [](const std::string& reported) { return reported.find(" a_hostile ") != std::string::npos; });
  CHECK(beside.evaluations == alone().evaluations);
  CHECK(beside.transitions == alone().transitions);
}

std::size_t evaluations_of(const Judged& reported, const std::string& rule) {
  return static_cast<std::size_t>(std::count_if(reported.evaluations.begin(), reported.evaluations.end(),
                                                [&](const Evaluated& e) { return e.rule == rule; }));
}

struct Attack {
  const char* name;
  std::string body;
  const char* message;
};

}  // namespace

TEST_CASE("a script that does not come to its end is quarantined alone, with a message and a count") {
  REQUIRE(alone().evaluations.size() > 50);
  REQUIRE(alone().transitions.size() > 5);
  REQUIRE(alone().counters.quarantined == 0);
  for (const Attack& attack : {
           Attack{"an endless loop", "    while true do end", "it spent its budget of 100000 instructions"},
           Attack{"a loop through goto", "    ::again:: n = n + 1 goto again",
                  "it spent its budget of 100000 instructions"},
           Attack{"an endless tail call", "    local function f(x) return f(x + 1) end f(0)",
                  "it spent its budget of 100000 instructions"},
           Attack{"deep recursion", "    local function f(x) return 1 + f(x + 1) end f(0)", "it"},
           Attack{"a text that doubles", "    local s = 'x' while true do s = s .. s end", "it spent its budget"},
           Attack{"a table that grows", "    for i = 1, 1e9 do t[i] = { i } end", "it"},
           Attack{"a billion operations", "    local x = duty for i = 1, 1e9 do x = x + i end", "it"},
           Attack{"an error that is nil", "    local nothing = nil\n    nothing()", "attempt to call a nil value"},
           Attack{"arithmetic on nil", "    local x = nil + n", "attempt to perform arithmetic on a nil value"},
           Attack{"no answer", "    if n >= 0 then return nil end", "evaluate must return a mask"},
       }) {
    CAPTURE(attack.name);
    const Judged beside = judged(random_rules(seed, 6) + hostile(attack.body));
    check_neighbours(beside);
    CHECK(beside.counters.quarantined > 0);
    // Back-off: far fewer attempts than ticks, and every tick without an answer is unknown.
    CHECK(beside.counters.quarantined < evaluations_of(beside, "a_hostile") / 3);
    for (const Evaluated& e : beside.evaluations)
      if (e.rule == "a_hostile")
        CHECK(std::none_of(e.outcomes.begin(), e.outcomes.end(), [](const auto& o) { return o.has_value(); }));
    const auto message = beside.counters.quarantine_messages.find("a_hostile");
    REQUIRE(message != beside.counters.quarantine_messages.end());
    CHECK(beside.counters.quarantine_messages.size() == 1);
    CHECK(message->second.starts_with("site.lua:"));
    CHECK_MESSAGE(message->second.find(attack.message) != std::string::npos, message->second);
  }
}

TEST_CASE("a script that fails for a while is quarantined for a while, and answers again") {
  const Judged beside = judged(random_rules(seed, 6) +
                               hostile("    if n < 2 then while true do end end   -- before the windows are covered"));
  check_neighbours(beside);
  CHECK(beside.counters.quarantined > 0);
  std::size_t known = 0;
  for (const Evaluated& e : beside.evaluations)
    if (e.rule == "a_hostile")
      known += std::any_of(e.outcomes.begin(), e.outcomes.end(), [](const auto& o) { return o.has_value(); });
  CHECK(known > 0);
}

TEST_CASE("a script that stays within its budget, and a compiled rule, change nothing for their neighbours either") {
  const Judged script = judged(random_rules(seed, 6) + hostile("    for i = 1, 1000 do n = n + i end"));
  CHECK(script.counters.quarantined == 0);
  check_neighbours(script);
  check_neighbours(judged(
      random_rules(seed, 6) +
      "rule \"a_hostile\" { per = \"rank\", every = \"5s\", needs = { took = signal \"step_time\" { over = 8 } },\n"
      "  evaluate = function(job) return job.took:mean():above(0) end }\n"));
}

TEST_CASE("a file that is refused leaves its neighbours as they run") {
  // The log names another pack, which does not load: the one that runs goes on.
  struct Reloads final : stream::PackSource {
    std::string rules;
    std::size_t refused = 0;
    void prepare(std::string_view, std::string_view) override {}
    stream::Result<stream::LoadedPack> pack(std::string_view) override {
      const Loaded loaded = load(pack_of(rules), tight());
      if (loaded.pack) return stream::LoadedPack{loaded.pack, nullptr};
      ++refused;
      return stream::Error{stream::Errc::refused, problems_of(loaded)};
    }
  };
  const Loaded running = load(pack_of(random_rules(seed, 6)), tight());
  REQUIRE(running.pack);
  RandomLog log{seed, 240};
  std::vector<Message> with_reload;
  for (Message& message : log.messages) {
    const stream::Time arrival = message.arrival;
    with_reload.push_back(std::move(message));
    if (with_reload.size() != log.messages.size() / 2) continue;
    Message& reload = with_reload.emplace_back(Message{arrival, {}});
    reload.entry.pack("another", arrival, "");
  }
  for (const char* attack : {"while true do end", "local t = {} for i = 1, 1e9 do t[i] = { i } end", "error(nil)",
                             "local function f(n) return 1 + f(n + 1) end f(0)"}) {
    CAPTURE(attack);
    Reloads reloads;
    reloads.rules = random_rules(seed, 6) + attack;
    const Judged reported = judge(with_reload, running.pack, true, {}, &reloads);
    CHECK(reloads.refused == 1);
    CHECK(reported.evaluations == alone().evaluations);
    CHECK(reported.transitions == alone().transitions);
    CHECK(reported.digests == alone().digests);
  }
}
