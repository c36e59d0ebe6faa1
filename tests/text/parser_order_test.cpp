// Which parser reads a line that several could read.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/seed.h"
#include "tests/text/pattern_file.h"
#include "tests/text/shipped.h"

using namespace tocsin;

namespace {

using Files = std::map<std::string, std::string>;

std::vector<std::string> made(const stream::Extraction& extraction, const std::vector<std::string>& lines) {
  auto extractor = extraction.open()->make();
  test::Recorded out;
  for (const std::string& line : lines) extractor->line(test::line(line), {}, out);
  extractor->finish(out);
  return out.all;
}
std::vector<std::string> made(const Files& files, const std::string& line) {
  const auto result = dsl::compile_text(files);
  for (const auto& problem : result.problems) MESSAGE(problem.message);
  REQUIRE(result.extraction);
  return made(*result.extraction, {line});
}

std::string parser(const std::string& name, const std::string& makes, const std::string& more = "") {
  return "parser \"" + name + "\" { line = [[step (?P<n>INT)]], samples = { " + makes + " = \"n\" }" + more + " }\n";
}
const std::string generic = R"(, generic = "lines")";

using Made = std::vector<std::string>;

}  // namespace

TEST_CASE("a directory's parser reads a line before those of directories given earlier, whatever its name is") {
  for (const char* site : {"a/", "/etc/tocsin/", "site/", "zz/"}) {
    CAPTURE(site);
    Files files{{dsl::directories_file, std::string{"\n"} + site + "\n"},
                {"progress/m.lua", parser("m", "shipped")},
                {site + std::string{"progress/m.lua"}, parser("n", "site")}};
    CHECK(made(files, "step 7") == Made{"job: site 7"});
    files[dsl::directories_file] = std::string{site} + "\n\n";
    CHECK(made(files, "step 7") == Made{"job: shipped 7"});
  }
  const Files files{{dsl::directories_file, "\nb/\na/\nb/below/\n"},
                    {"a/progress/x.lua", parser("a", "of_a")},
                    {"b/progress/x.lua", parser("b", "of_b")}};
  CHECK(made(files, "step 7") == Made{"job: of_a 7"});
}

TEST_CASE("a generic parser reads only what no other parser of any directory reads") {
  const Files files{{dsl::directories_file, "\nsite/\n"},
                    {"progress/a.lua", parser("a", "generic", generic) + parser("b", "named")},
                    {"site/progress/a.lua", parser("c", "site_generic", generic)}};
  CHECK(made(files, "step 7") == Made{"job: named 7"});
  const Files generics{{dsl::directories_file, "\nsite/\n"},
                       {"progress/a.lua", parser("a", "generic", generic)},
                       {"site/progress/a.lua", parser("c", "site_generic", generic)}};
  CHECK(made(generics, "step 7") == Made{"job: site_generic 7"});
  CHECK(made({{"progress/a.lua", parser("a", "line", generic) + parser("b", "bar", R"(, generic = "bars")")}},
             "step 7") == Made{"job: bar 7"});
  CHECK(test::says(test::problem(R"(pattern "a" { line = [[x]], event = "e", generic = "lines" })"),
                   "generic is for parsers"));
}

TEST_CASE("within a file the first parser that matches reads a line") {
  CHECK(made({{"progress/a.lua", parser("z", "first") + parser("a", "second")}}, "step 7") == Made{"job: first 7"});
}

TEST_CASE("the shipped pack makes the same of lines whatever its files are called") {
  std::vector<std::string> lines;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TOCSIN_SOURCE_DIR) / "tests/text/lines")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("> ") || line.starts_with("< ")) lines.push_back(line.substr(2));
  }
  const Files files = test::shipped_files();
  const Made before = made(*dsl::compile_text(files).extraction, lines);
  std::mt19937 random(static_cast<std::mt19937::result_type>(test::seed(28)));
  for (int round = 0; round < 2; ++round) {
    Files renamed;
    for (const auto& [path, text] : files)
      renamed[path.substr(0, path.find('/') + 1) + std::to_string(random()) + ".lua"] = text;
    CHECK(renamed.size() == files.size());
    CHECK(made(*dsl::compile_text(renamed).extraction, lines) == before);
  }
}
