// Files of patterns that were compiled before are not read again.
#include <doctest/doctest.h>

#include "tests/text/map_store.h"
#include "tests/text/pattern_file.h"
#include "tests/text/shipped.h"

using namespace tocsin;

namespace {

std::vector<std::string> made(const dsl::text::Compiled& compiled, const std::vector<std::string>& lines) {
  REQUIRE(compiled.extraction);
  const auto extractor = compiled.extraction->open()->make();
  test::Recorded out;
  for (const std::string& line : lines) extractor->line(test::line(line), {}, out);
  extractor->finish(out);
  return out.all;
}

const std::string pattern =
    "pattern \"died\" { line = [[worker (?P<n>INT) died]], event = \"died\", rank = \"n\", ends = [[^done]],\n"
    "  fields = { code = { find = [[code (\\d+)]], last = true }, at = \"n\" } }";

}  // namespace

TEST_CASE("files that were compiled before make the same without being read, and stand where they stood") {
  const std::vector<std::string> lines{"worker 3 died", "code 7, code 9", "done", "worker 4 died"};
  test::MapStore store;
  const auto files = test::pattern_file("\n" + pattern);
  const auto first = dsl::compile_text(files, &store);
  const int kept = store.kept;
  const auto again = dsl::compile_text(files, &store);
  CHECK(store.kept == kept);
  CHECK(made(again, lines) == made(first, lines));
  CHECK(made(again, lines).front() == "rank 3: died at=3 code=9");
  CHECK(again.extraction->hash() == first.extraction->hash());
  CHECK(again.definitions->front().file == "patterns/test.lua");
  CHECK(again.definitions->front().line == 2);
}

TEST_CASE("files that differ are read, also where others are kept under their name") {
  test::MapStore store, other;
  (void)dsl::compile_text(test::pattern_file(pattern), &store);
  std::string changed = pattern;
  changed.replace(changed.find("worker"), 6, "broker");
  (void)dsl::compile_text(test::pattern_file(changed), &other);
  for (auto& [name, bytes] : other.files)
    for (const auto& [mine, whole] : store.files)
      if (name.starts_with("patterns-texts-") && mine.starts_with("patterns-texts-")) bytes = whole;
  CHECK(made(dsl::compile_text(test::pattern_file(changed), &other), {"broker 3 died", "done"}).size() == 1);
}

TEST_CASE("what is kept of files and is cut is read from the files again") {
  test::MapStore store;
  (void)dsl::compile_text(test::pattern_file(pattern), &store);
  for (auto& [name, bytes] : store.files)
    if (name.starts_with("patterns-texts-")) bytes.resize(bytes.size() - 9);
  const int kept = store.kept;
  CHECK(made(dsl::compile_text(test::pattern_file(pattern), &store), {"worker 3 died", "done"}).size() == 1);
  CHECK(store.kept == kept + 1);
}

TEST_CASE("of files with a problem nothing is kept") {
  test::MapStore store;
  CHECK(!dsl::compile_text(test::pattern_file("pattern \"x\" { line = [[(]], event = \"x\" }"), &store).extraction);
  CHECK(store.kept == 0);
}
