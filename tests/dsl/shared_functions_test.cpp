// Files of shared/: functions and constants that several rules name.
#include <doctest/doctest.h>

#include "dsl/cases/case_runner.h"
#include "dsl/load/shared_files.h"
#include "dsl/load/text_definitions.h"
#include "tests/dsl/reported.h"

using namespace tocsin;
using namespace tocsin::dsl;
using namespace tocsin::dsl::test;

namespace {

const std::string common = R"lua(local limit = 0.5
local function hot(window, p) return window:mean():above(p.share or limit) end
return { hot = hot, limit = limit, cold = function(window) return ~hot(window, {}) end }
)lua";

std::string user(const std::string& name, const std::string& body,
                 const std::string& head = "local common = shared \"common\"") {
  return head + "\nrule \"" + name +
         "\" { per = \"gpu\", every = \"10s\", summary = \"x\", shows = \"x\", params = { share = 0.2 },\n" +
         "  needs = { duty = signal \"duty\" { over = \"30s\" } },\n  evaluate = function(job, p)\n" + body +
         "\n  end }\n";
}
PackFiles with(PackFiles more) {
  more["signals.lua"] = sample_signals();
  return more;
}
std::string problems_with(PackFiles more) { return problems_of(load(with(std::move(more)))); }

}  // namespace

TEST_CASE("a rule calls the functions of a shared file, which are traced with it") {
  const std::string fires =
      "case \"c\" { ranks = 2, { lasting = \"1m\", duty = 0.1, gpu = { [1] = { duty = 0.3 } } },\n"
      "  fires = { { \"r\", gpu = 1 } } }\n";
  const PackFiles files =
      with({{"shared/common.lua", common}, {"site.lua", user("r", "    return common.hot(job.duty, p)") + fires}});
  const Loaded loaded = load(files);
  REQUIRE_MESSAGE(loaded.pack, problems_of(loaded));
  CHECK(run_case(loaded.cases[0], {loaded.pack, nullptr}).passed);
  const Loaded inline_form = load(with({{"site.lua", user("r", "    return job.duty:mean():above(p.share)", "")}}));
  CHECK(loaded.pack->graph->size() == inline_form.pack->graph->size());
  // They belong to the pack: its text has them, and scripts of it call them, too.
  CHECK(pack_files(loaded.pack->text)->contains("shared/common.lua"));
  Budgets scripted;
  scripted.all_scripted = true;
  const Loaded script = load(files, scripted);
  REQUIRE_MESSAGE(script.pack, problems_of(script));
  CHECK(run_case(script.cases[0], {script.pack, nullptr}).passed);
}

TEST_CASE("a change in a shared file changes the rules that name it, and no other") {
  const auto rules = [](const std::string& text) {
    return load(with({{"shared/common.lua", text},
                      {"shared/more.lua", "local common = shared \"common\"\nreturn { warm = common.hot }"},
                      {"a.lua", user("a", "    return common.hot(job.duty, p)")},
                      {"b.lua", user("b", "    return more.warm(job.duty, p)", "local more = shared \"more\"")},
                      {"c.lua", user("c", "    return job.duty:mean():above(p.share)", "")}}));
  };
  const Loaded before = rules(common), after = rules("-- another\n" + common);
  REQUIRE_MESSAGE(before.pack, problems_of(before));
  const auto same = [&](const std::string& name) {
    return rule(before, name).source_hash == rule(after, name).source_hash;
  };
  CHECK_FALSE(same("a"));
  CHECK_FALSE(same("b"));
  CHECK(same("c"));
  CHECK(before.pack->hash != after.pack->hash);
}

TEST_CASE("a mistake in a shared function names its line and the rule that called it") {
  const std::string wrong = "return { hot = function(window)\n  return window:maen():above(1)\nend }";
  CHECK(has(problems_with({{"shared/common.lua", wrong}, {"site.lua", user("r", "    return common.hot(job.duty)")}}),
            "shared/common.lua:2: [r] no word 'maen' for a window (mean?)"));
  const std::string unused =
      "return { hot = function(window)\n  local a = window:mean():above(1) return window:max():above(1)\nend }";
  CHECK(has(problems_with({{"shared/common.lua", unused}, {"site.lua", user("r", "    return common.hot(job.duty)")}}),
            "shared/common.lua:2: [r] this mask was made and never used"));
  CHECK(has(problems_with({{"shared/common.lua", common},
                           {"site.lua", user("r", "    common.limit = 1 return common.hot(job.duty, p)")}}),
            "a table of the file is read-only once it is loaded"));
}

TEST_CASE("a shared file that is wrong is reported once, and what it returns is a table") {
  const auto of = [](const std::string& text) {
    return problems_with({{"shared/common.lua", text},
                          {"a.lua", user("a", "    return common.hot(job.duty, p)")},
                          {"b.lua", user("b", "    return common.hot(job.duty, p)")}});
  };
  const std::string broken = of("return { hot = function( }");
  CHECK(has(broken, "shared/common.lua:1: "));
  CHECK(broken.find("a.lua") == broken.npos);
  CHECK(has(of("local x = 1"),
            "a file of shared/ returns a table, and this one returned nothing: end it with return { name = name, … }"));
  CHECK(has(of("rule \"x\" { }\nreturn {}"),
            "a rule does not stand in shared/: a file there returns functions and constants"));
  CHECK(has(of("local n = 0\nreturn { hot = function(w) n = n + 1 return w:mean():above(n) end }"),
            "'n' is a variable outside of the function"));
  CHECK(has(of("while true do end return {}"), "shared/common.lua:1: it spent its budget"));
}

TEST_CASE("a shared file that is not there is named with its nearest, and files that name each other are refused") {
  CHECK(
      has(problems_with({{"shared/common.lua", common},
                         {"site.lua", user("r", "    return job.duty:mean():above(1)", "local c = shared \"comon\"")}}),
          "site.lua:1: there is no shared \"comon\" (common?): the file would be shared/comon.lua"));
  CHECK(has(problems_with({{"shared/a.lua", "local b = shared \"b\"\nreturn {}"},
                           {"shared/b.lua", "\nlocal a = shared \"a\"\nreturn {}"}}),
            "shared/b.lua:2: files of shared/ name each other in a circle: a, b, a"));
  CHECK(has(problems_with({{"shared/common.lua", common},
                           {"site.lua", user("r", "    return shared(\"common\").hot(job.duty, p)", "")}}),
            "shared stands at the top of a file of rules"));
}

TEST_CASE("a site's rules name shared files of the shipped directory and of its own, and no name has two files") {
  PackFiles files{
      {directories_file, "\n/work/shared/site/\n"},
      {"shared/common.lua", common},
      {"shipped.lua", user("shipped", "    return common.hot(job.duty, p)")},
      {"/work/shared/site/shared/ours.lua", "return { twice = 2 }"},
      {"/work/shared/site/site.lua", user("site", "    return common.hot(job.duty, { share = 0.1 * ours.twice })",
                                          "local common, ours = shared \"common\", shared \"ours\"")}};
  const Loaded loaded = load(with(files));
  CHECK_MESSAGE(loaded.pack, problems_of(loaded));
  const auto uses = shared_uses(with(files));
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].users == std::vector<std::string>{"/work/shared/site/site.lua", "shipped.lua"});
  CHECK(uses[1].file == "/work/shared/site/shared/ours.lua");
  files["/work/shared/site/shared/common.lua"] = common;
  CHECK(has(problems_of(load(with(files))),
            "/work/shared/site/shared/common.lua:1: shared \"common\" is "
            "shared/common.lua already: give this file another name"));
}

TEST_CASE("a rule of a site with a shipped rule's name is referred to tune, at the site's file") {
  const PackFiles files{{directories_file, "\n/etc/site/\n"},
                        {"z.lua", user("hot", "    return job.duty:mean():above(p.share)", "")},
                        {"/etc/site/a.lua", user("hot", "    return job.duty:mean():above(p.share)", "")}};
  CHECK(has(
      problems_of(load(with(files))),
      "/etc/site/a.lua:2: [hot] a second rule 'hot': the first is at z.lua:2; give this one another name, or change "
      "that one by tune \"hot\" { … }"));
}
