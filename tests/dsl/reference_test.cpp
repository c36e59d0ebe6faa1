#include <doctest/doctest.h>

#include <lua.hpp>

#include "dsl/load/keys.h"
#include "dsl/load/reference.h"
#include "dsl/lua/host.h"
#include "stream/graph/graph.h"
#include "stream/graph/operations.h"
#include "stream/graph/time_range.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;

TEST_CASE("the reference explains every word once in each place where it stands") {
  const std::string text = reference();
  for (const stream::Operation& entry : stream::operations()) {
    if (entry.name.empty()) continue;
    CAPTURE(entry.name);
    CHECK(text.find(std::string{entry.documentation.substr(0, entry.documentation.find('|'))}) != std::string::npos);
  }
  CHECK(text.find("`x:median(\"group\")`") != std::string::npos);
  CHECK(text.find("`w:quantile(q)`") != std::string::npos);
}

TEST_CASE("the reference and the stubs have every key that the loader takes, with its meaning") {
  const std::string text = reference(), stubs = editor_stubs();
  for (const KeyTable* table : key_tables()) {
    CHECK(text.find("\n## " + std::string{table->title} + "\n") != std::string::npos);
    CHECK(stubs.find("---@class " + std::string{table->type} + "\n") != std::string::npos);
    for (const Key& key : table->keys) {
      CAPTURE(key.name);
      CHECK(text.find("\n| `" + std::string{key.name} + "`") != std::string::npos);
      CHECK(stubs.find("---@field " + std::string{key.name} + (key.needed ? " " : "? ") + std::string{key.type}) !=
            std::string::npos);
      CHECK(key.meaning.ends_with('.'));
    }
  }
  // A need's words complete behind job.name:, as those of the job itself do.
  CHECK(stubs.find("---@class tocsin.job\n---@field [string] tocsin.window|tocsin.finding\n") != std::string::npos);
  CHECK(stubs.find("---@return tocsin.column\nfunction window:mean()") != std::string::npos);
  CHECK(stubs.find("---@field evaluate fun(job: tocsin.job, ") != std::string::npos);
}

TEST_CASE("the reference says from when on a window is known, as the engine has it") {
  stream::WindowSpec window;
  window.over = std::chrono::minutes{5};
  CHECK_FALSE(window.baseline());
  window.over += std::chrono::seconds{1};
  CHECK(window.baseline());
  const std::string text = reference();
  CHECK(text.find("| a time, with `lag` at most 5 minutes | where its values") != std::string::npos);
  CHECK(text.find("`least` is " + std::to_string(stream::least_of(window)) + ", or all points") != std::string::npos);
}

TEST_CASE("the rules of a pack are printed with their parameters and defaults, and its signals") {
  const Loaded loaded = test::load_rules(
      "rule \"cold\" { per = \"gpu\", every = { \"10s\", \"end\" }, fire = \"3 of 4\", clear = \"for 60s\", severity = "
      "\"critical\",\n"
      "  summary = \"GPU idle\", shows = \"{gpu}\", params = { least = 0.1, of = { \"a\", \"b\" }, wait = \"5m\" },\n"
      "  needs = { duty = signal \"duty\" { over = \"30s\" } },\n"
      "  evaluate = function(job, p) return job.duty:mean():below(p.least) end }");
  REQUIRE_MESSAGE(loaded.pack, test::problems_of(loaded));
  const std::string text = reference_of(*loaded.pack);
  CHECK(text.find("## cold\n\nGPU idle. critical, per gpu, every 10s, at the end, fires: 3 of 4, clears: for 60s. "
                  "Reads `duty`. "
                  "site.lua:1\n\n| Parameter | Default |\n|---|---|\n| `least` | `0.1` |\n| `of` | `\"a, b\"` |\n"
                  "| `wait` | `\"5m\"` |\n") != std::string::npos);
  CHECK(text.find("| `duty` | gauge | ratio | gpu |  | `gpu_busy`, `gpu_busy_percent` |  |\n") != std::string::npos);
}

TEST_CASE("the editor stubs are Lua, and know every word") {
  const std::string stubs = editor_stubs();
  Host host{Budgets{}};
  const auto failure = host.guarded(1'000'000, [&](lua_State* state) {
    if (luaL_loadbufferx(state, stubs.data(), stubs.size(), "@stubs.lua", "t") != LUA_OK) lua_error(state);
  });
  CHECK_MESSAGE(!failure, (failure ? failure->message : ""));
  for (const stream::Operation& entry : stream::operations())
    if (!entry.name.empty() && entry.name[0] >= 'a' && entry.name[0] <= 'z') {
      CAPTURE(entry.name);
      CHECK((stubs.find(":" + std::string{entry.name} + "(") != std::string::npos ||
             stubs.find("function " + std::string{entry.name} + "(") != std::string::npos));
    }
}
