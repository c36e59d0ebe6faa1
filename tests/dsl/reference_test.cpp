#include <doctest/doctest.h>

#include <lua.hpp>

#include "dsl/load/reference.h"
#include "dsl/lua/host.h"
#include "stream/graph/graph.h"
#include "stream/graph/operations.h"

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
