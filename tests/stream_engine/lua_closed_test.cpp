// Rules are traced at load. From then on compiled rules run without Lua.
#include <doctest/doctest.h>

#include "dsl/load/loader.h"
#include "tests/stream_engine/generated_log.h"

using namespace tocsin;
using namespace tocsin::tests;

namespace {

// A rule that needs Lua, of jobs that there are not.
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

TEST_CASE("the shipped pack keeps no Lua once it is loaded, and judges the same beside a script of other jobs") {
  const GeneratedLog log = generate({.seed = 21, .jobs = 3, .ranks = 6, .seconds = 240});
  const stream::LoadedPack shipped = shipped_pack();
  for (const stream::Rule& rule : shipped.pack->rules) CHECK_FALSE(rule.scripted);
  CHECK(shipped.pack->scripts == nullptr);
  const Reported without = judge(log, shipped);
  REQUIRE(without.transitions.size() > 4);

  auto files = dsl::read_pack(TOCSIN_SOURCE_DIR "/rules");
  REQUIRE(files);
  (*files)["nobodys.lua"] = nobodys_script;
  const dsl::Loaded loaded = dsl::load(*files);
  REQUIRE(loaded.pack);
  const stream::LoadedPack scripted{loaded.pack, shipped.extraction};
  REQUIRE(loaded.pack->scripts != nullptr);
  const Reported beside = judge(log, scripted);
  CHECK(beside.digests == without.digests);
  CHECK(beside.transitions == without.transitions);
}
