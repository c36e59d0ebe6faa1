#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "dsl/cases/case_runner.h"
#include "dsl/load/text_definitions.h"
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
  const stream::LoadedPack pack{loaded.pack, compile_text(*files).extraction};
  // A case of each rule, for a case takes a quarter of a second; TOCSIN_CASES=all takes all of them.
  const char* given = std::getenv("TOCSIN_CASES");
  const bool all = given != nullptr && std::string_view{given} == "all";
  std::set<std::string> held;
  for (const Case& one : loaded.cases) {
    bool fresh = false;
    for (const auto* expected : {&one.fires, &one.unknown})
      for (const CaseExpectation& expectation : *expected) fresh |= held.insert(expectation.rule).second;
    if (!fresh && !all) continue;
    CAPTURE(one.name);
    const CaseResult result = run_case(one, pack);
    CHECK_MESSAGE(result.passed, (result.messages.empty() ? "" : result.messages.front()));
  }
  // A finding is held by the cases of the rules that read it.
  for (const stream::Rule& one : loaded.pack->rules)
    if (one.severity != stream::Severity::none) CHECK_MESSAGE(held.contains(one.name), one.name);
}
