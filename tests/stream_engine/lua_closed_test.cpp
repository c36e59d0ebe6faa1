// Rules are traced at load. From then on compiled rules run without Lua: its state may be gone.
#include <doctest/doctest.h>

#include "dsl/loader.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;

namespace {

// A rule that needs Lua, of jobs that there are not: the pack keeps its Lua state for it.
constexpr const char* nobodys_script = R"lua(
rule "nobodys" {
  family = "D1", severity = "info", summary = "A script", per = "job", every = "10s", jobs = { partition = "nowhere" },
  needs = { cpu = signal "process_cpu" { over = "30s" } },
  evaluate = function(job)
    local busy = job.cpu:mean():mean("job")
    if busy:number() then return busy:above(0.5) end
    return busy:above(0.6)
  end,
}
)lua";

}  // namespace

TEST_CASE("the shipped pack keeps no Lua once it is loaded, and judges the same beside one that is alive and one that was closed") {
  const GeneratedLog log = generate({.seed = 21, .jobs = 3, .ranks = 6, .seconds = 240});
  const stream::LoadedPack shipped = shipped_pack();
  for (const stream::Rule& rule : shipped.pack->rules) CHECK_FALSE(rule.scripted);
  CHECK(shipped.pack->scripts == nullptr);
  const Said without = judge(log, shipped);
  REQUIRE(without.transitions.size() > 4);

  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  REQUIRE(files);
  (*files)["nobodys.lua"] = nobodys_script;
  const dsl::Loaded loaded = dsl::load(*files);
  REQUIRE(loaded.pack);
  const stream::LoadedPack scripted{loaded.pack, shipped.extraction};
  const std::weak_ptr<stream::ScriptHost> lua = loaded.pack->scripts;
  REQUIRE_FALSE(lua.expired());
  const Said alive = judge(log, scripted);
  CHECK(alive.digests == without.digests);
  CHECK(alive.transitions == without.transitions);

  loaded.pack->scripts.reset();
  REQUIRE(lua.expired());
  const Said closed = judge(log, scripted);
  CHECK(closed.digests == without.digests);
  CHECK(closed.transitions == without.transitions);
}
