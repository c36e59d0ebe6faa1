#include <doctest/doctest.h>

#include "dsl/case_runner.h"
#include "dsl/text_definitions.h"
#include "tests/dsl/sample_pack.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

TEST_CASE("the shipped rules hold their cases as scripts, too") {
  const auto files = read_pack(TOCSIN_SOURCE_DIR "/rules");
  REQUIRE(files);
  Budgets budgets;
  budgets.all_scripted = true;
  const Loaded loaded = load(*files, budgets);
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  for (const stream::Rule& one : loaded.pack->rules) CHECK(one.scripted);
  const stream::LoadedPack pack{loaded.pack, compile_text(*files).source};
  for (const Case& one : loaded.cases) {
    CAPTURE(one.name);
    const CaseResult result = run_case(one, pack);
    CHECK_MESSAGE(result.passed, (result.messages.empty() ? "" : result.messages.front()));
  }
}
