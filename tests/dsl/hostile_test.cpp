// Files that try to take the engine with them: each is refused with a message, and its memory comes back.
#include <doctest/doctest.h>

#include <lua.hpp>

#include "dsl/load/declarations.h"
#include "dsl/load/text_definitions.h"
#include "dsl/lua/environment.h"
#include "dsl/lua/host.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

Budgets small() {
  Budgets budgets;
  budgets.load_instructions = 2'000'000;
  budgets.bytes = 8u << 20;
  budgets.nodes = 5'000;
  return budgets;
}
std::string reported(const std::string& rules) { return problems_of(load(pack_of(rules), small())); }
bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE(text);
  return false;
}

}  // namespace

TEST_CASE("an endless loop spends its budget and is refused at its line") {
  CHECK(has(reported("\nwhile true do end"), "site.lua:2: it spent its budget of 2000000 instructions"));
  CHECK(has(reported("local t = {} while true do t[1] = #t end"), "it spent its budget"));
  CHECK(has(reported("::again:: goto again"), "it spent its budget"));
  CHECK(has(reported(rule_text("    while true do end return keep")), "site.lua:8: [r] it spent its budget"));
  CHECK(has(reported("local t = { 1 } for i = 1, 1e9 do for k in pairs(t) do end end"), "it spent its budget"));
}

TEST_CASE("an allocation bomb meets the limit of bytes") {
  CHECK(has(reported("local s = 'x' while true do s = s .. s end"), "it used more than 8 MiB of memory"));
  CHECK(has(reported("local t = {} for i = 1, 1e9 do t[i] = { i } end"), "it used more than 8 MiB of memory"));
  CHECK(has(reported("local t = {} while true do t = { t, t } end"), "it"));
  CHECK(has(reported("local s = string.rep('x', 1e9)"), "attempt to call a nil value (field 'rep')"));
  CHECK(has(reported("local s = ('x'):rep(1e9)"), "attempt to index a string value"));
}

TEST_CASE("work on texts is paid by the byte: of a long one far fewer joins and comparisons are in the budget") {
  // A text of 64 bytes, doubled, then 2,000 times joined with another or compared with its like.
  const auto repeated = [](int doublings, const std::string& work) {
    return reported(
        "local s, t = ('x'), {}\ns = s .. s .. s .. s s = s .. s .. s .. s s = s .. s .. s .. s\n"
        "for i = 1, " +
        std::to_string(doublings) + " do s = s .. s end\nlocal a, b = s .. 'a', s .. 'a'\n" + "for i = 1, 2000 do " +
        work + " end");
  };
  for (const char* work : {"local c = s .. 'c'", "local c = a == b", "local c = a < b",
                           "for k in pairs { [a] = 1, [b .. i] = 2 } do end", "local c = tonumber(a)"}) {
    CAPTURE(work);
    CHECK(repeated(2, work) == "");
    CHECK(has(repeated(13, work), "it spent its budget"));
  }
}

TEST_CASE("deep recursion ends with a message") {
  CHECK(
      has(problems_of(load_rules("local function f(n) return 1 + f(n + 1) end f(0)")), "site.lua:1: nested too deep"));
  CHECK(has(reported("local function f(n) return f(n + 1) end f(0)"), "it spent its budget"));
  CHECK(has(reported("local t = " + std::string(5000, '{') + std::string(5000, '}')), "nested too deep"));
  CHECK(has(reported("local t = {} for i = 1, 300 do t = { t } end\n" +
                     rule_text("    return keep & job.duty:mean():above(#t)")),
            "more than 100 deep"));
}

TEST_CASE("an error without a text is an error") {
  CHECK(has(reported("error(nil)"), "'error' is not part of the language"));
  CHECK(has(reported("local x = nil + 1"), "attempt to perform arithmetic on a nil value"));
  Host host{small()};
  const auto failure = host.guarded(1000, [](lua_State* state) {
    lua_pushnil(state);
    lua_error(state);
  });
  REQUIRE(failure);
  CHECK(failure->message == "an error that is not a text: nil");
}

TEST_CASE("a loop that builds operations meets the limit of nodes") {
  CHECK(has(reported(rule_text(
                "    local x = job.duty:mean()\n    for i = 1, 1e9 do x = x + i end\n    return keep & x:above(1)")),
            "it makes more than 5000 operations"));
  CHECK(has(
      reported(rule_text(
          "    local x = job.duty:mean()\n    for i = 1, 1e9 do local y = x + 1 end\n    return keep & x:above(1)")),
      "it spent its budget"));
}

TEST_CASE("patterns that drive a backtracking matcher mad match in linear time, and their neighbours as without them") {
  struct Events final : stream::Extracted {
    std::vector<std::string> names;
    void sample(stream::Time, const stream::MemberKey&, std::string_view, double, std::string_view) override {}
    void sample(stream::Time, const stream::MemberKey&, std::string_view, std::string_view, std::string_view) override {
    }
    void event(const stream::EventRecord& event) override { names.emplace_back(event.name); }
  };
  const auto events_of = [](const std::string& patterns) {
    const auto compiled = compile_text({{"patterns/site.lua", patterns}});
    REQUIRE_MESSAGE(compiled.extraction, (compiled.problems.empty() ? "" : compiled.problems[0].message));
    const auto extractor = compiled.extraction->open()->make();
    Events events;
    for (const std::string& text :
         {std::string(60'000, 'a') + "!", std::string(30'000, 'x') + " oops", "oops " + std::string(60'000, '(')})
      extractor->line({{}, {}, false, text}, {}, events);
    extractor->finish(events);
    return events.names;
  };
  const std::string neighbour = "pattern \"neighbour\" { line = [[oops]], event = \"oops\" }\n";
  REQUIRE(events_of(neighbour) == std::vector<std::string>{"oops", "oops"});
  for (const char* mad : {"line = [[^(a+)+$]]", "line = [[^(a|aa)+$]]",
                          "line = [[^(?P<all>.*a){20}$]], texts = { all = \"all\" }", "line = [[(x+x+)+y]]",
                          "line = [[never]], continues = [[^(a*)*b]]", "line = [[oopsy]], unless = [[(.*)*(.*)*z]]"}) {
    CAPTURE(mad);
    CHECK(events_of(neighbour + "pattern \"mad\" { " + mad + ", event = \"mad\" }") == events_of(neighbour));
  }
  const auto huge =
      compile_text({{"patterns/site.lua", "\npattern \"huge\" { line = [[((a{100}){100}){100}]], event = \"huge\" }"}});
  CHECK_FALSE(huge.extraction);
  REQUIRE(huge.problems.size() == 1);
  CHECK(huge.problems[0].line == 2);
  CHECK(has(huge.problems[0].message, "pattern \"huge\": RE2 does not take `((a{100}){100}){100}`"));
}

TEST_CASE("formats cannot grow, nor show an address") {
  CHECK(has(reported("local s = string.format('%9999d', 1)"), "at most two digits"));
  CHECK(has(reported("local s = string.format('%p', {})"), "write %d %x %f %e %g %s or %%"));
  CHECK(has(reported("local s = string.format('%s', {}) local t = 1 + s"),
            "attempt to perform arithmetic on a string value"));
  CHECK(has(reported("local s = 'x' for i = 1, 40 do s = string.format('%s%s', s, s) end"), "longer than 64 KiB"));
  CHECK(has(reported("signals_ = string.format('%s', function() end)"),
            "assign to a local: write 'local signals_ = \"function\"'"));
}

TEST_CASE("pairs goes in the order of keys, and only of keys that have one") {
  CHECK(has(reported("local s = '' for k in pairs { b = 1, a = 1, [3] = 1, [2] = 1, [true] = 1 } do s = s .. "
                     "tostring(k) .. ' ' end x = s"),
            "'local x = \"2 3 a b true \"'"));
  CHECK(has(reported("for k in pairs { [{}] = 1 } do end"), "they must be numbers, texts or booleans"));
}

TEST_CASE("nothing reaches what is behind the language") {
  for (const char* name : {"io", "os", "debug", "load", "require", "pcall", "coroutine", "setmetatable", "getmetatable",
                           "rawset", "next", "collectgarbage", "print", "_G"}) {
    CAPTURE(name);
    CHECK(has(reported(std::string{"local x = "} + name), "is not part of the language"));
  }
  CHECK(has(reported("local x = math.random()"), "call a nil value (field 'random')"));
  CHECK(has(reported("math.floor = nil"), "read-only"));
  CHECK(has(reported("local x = _ENV.rule _ENV.rule = nil"), "assign to a local"));
}

TEST_CASE("a rule that fails leaves its neighbours' problems to be reported") {
  const auto both = reported(
      rule_text("    while true do end return keep") +
      "rule \"s\" { per = \"job\", every = \"10s\", needs = { loss = signal \"loss\" { over = 5 } }, evaluate = "
      "function(job) return job.lss:mean():above(1) end }");
  CHECK(has(both, "[r] it spent its budget"));
  CHECK(has(both, "[s] 'lss' is not in needs (loss?)"));
}

TEST_CASE("the ledger reads zero once the host is gone, whatever happened in it") {
  std::shared_ptr<const Ledger> ledger;
  {
    Host host{small()};
    ledger = host.keep_ledger();
    CHECK_FALSE(host.guarded(1'000'000, [](lua_State* state) { register_environment(state, register_declarations); }));
    CHECK(ledger->used > 0);
    const auto failure = host.guarded(1'000'000'000, [](lua_State* state) {
      for (int i = 1;; ++i) {
        lua_newtable(state);
        luaL_ref(state, LUA_REGISTRYINDEX);
      }
    });
    REQUIRE(failure);
    CHECK(has(failure->message, "it used more than 8 MiB"));
    CHECK(ledger->peak <= ledger->limit);
  }
  CHECK(ledger->used == 0);
}

TEST_CASE("a budget too small to start is a problem, not a crash") {
  Budgets tiny;
  tiny.bytes = 1000;
  CHECK(has(problems_of(load(pack_of(""), tiny)), "give it at least 1 MiB"));
}
