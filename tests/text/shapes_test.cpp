// What is remembered of lines by their shapes changes nothing of what is made of them.
#include "dsl/text/shapes.h"

#include <doctest/doctest.h>

#include <random>

#include "dsl/text/number.h"
#include "tests/seed.h"
#include "tests/text/pattern_file.h"
#include "tests/text/shipped.h"

using namespace tocsin;
using dsl::text::Regex;
using dsl::text::Shapes;
using dsl::text::treats_digits_alike;

TEST_CASE("an expression treats all digits alike if it names none") {
  for (const char* alike : {R"(step (?P<n2>\d+))", R"(\w{2,16}\b[^\w.])", "[0-9a-f]+x{3,}", R"((?i)[^,;]*loss)", "a{b",
                            R"([]\d])", R"([-+.\d]{1,2}\D\S)"})
    CHECK_MESSAGE(treats_digits_alike(alike), alike);
  for (const char* tells : {"step 3", "[1-9]", "[15]?", R"(\x41)", R"(\pN)", "[[:alpha:]]", R"(loss = 0(?:\.0)?)",
                            R"([^\x30])", "[+-3]", R"(a{1,2}1)", R"(\Q1\E)", "a{1,b}", "[0"})
    CHECK_MESSAGE(!treats_digits_alike(tells), tells);
}

TEST_CASE("an expression with all digits alike matches wherever the expression does") {
  const auto alike = [](const char* expression) { return dsl::text::with_digits_alike(expression).value_or("none"); };
  CHECK(alike(R"(Errno 28\] (?P<p2>x{2,3})\d)") == R"(Errno \d\d\] (?P<p2>x{2,3})\d)");
  CHECK(alike(R"([1-9]?[\d,]+[^0]*[-2]|a{1,b})") == R"((?:[1-9]|\d)?[\d,]+(?:[^0]|\d)*(?:[-2]|\d)|a{\d,b})");
  for (const char* unsure : {R"(\x41)", R"(\pN)", "[[:alpha:]]1", R"([\x30])", R"(\Q1\E)"})
    CHECK(alike(unsure) == "none");
}

TEST_CASE("expressions that tell digits apart match lines of one shape by their digits") {
  for (const char* first : {"code 1", R"(code \x31)", R"(code [14]\b)"}) {
    const auto extractor = test::compiled("pattern \"one\" { line = [[" + std::string{first} +
                                          "]], event = \"one\" }\n"
                                          "pattern \"two\" { line = [[code 2]], event = \"two\" }\n"
                                          "pattern \"any\" { line = [[code \\d]], event = \"any\" }")
                               ->open()
                               ->make();
    std::vector<std::size_t> made;
    for (const char* line : {"code 3", "code 1", "code 2", "code 3", "code 1"}) {
      test::Recorded out;
      extractor->line(test::line(line), {}, out);
      made.push_back(out.all.size());
    }
    CHECK(made == std::vector<std::size_t>{1, 2, 2, 1, 2});
    CHECK(test::counters_of(*extractor).unconfirmed == 0);
  }
}

TEST_CASE("an expression that the scan finds and the captures refuse is tried once for a shape") {
  const auto extractor = test::compiled(
                             "pattern \"a\" { line = [[loss: \\d$]], scan = \"loss\", event = \"a\" }\n"
                             "pattern \"b\" { line = [[loss: 1]], scan = \"loss\", event = \"b\" }")
                             ->open()
                             ->make();
  std::vector<std::size_t> made;
  for (const char* line : {"loss: 2 ", "loss: 1 ", "loss: 1", "loss: 3 ", "loss: 2"}) {
    test::Recorded out;
    extractor->line(test::line(line), {}, out);
    made.push_back(out.all.size());
  }
  CHECK(made == std::vector<std::size_t>{0, 1, 2, 0, 1});
  CHECK(test::counters_of(*extractor).unconfirmed == 4);  // a once; b, whose digits matter, thrice
}

TEST_CASE("a line of a known shape is not searched again, and its groups are its own") {
  const Regex regex{R"((?:(\w+) )?step (\d+))", 0};
  dsl::text::Searches searches;
  Shapes shapes{searches};
  std::array<re2::StringPiece, 3> groups;
  const std::string far(1000, '.');
  for (const std::string& line : {"at step 123" + far, "at step 456" + far, "step 789" + far}) {
    shapes.begin(line);
    REQUIRE(shapes.match(regex, line, groups));
    CHECK(std::string{groups[2]} == line.substr(line.find(far) - 3, 3));
    CHECK((groups[1].data() == nullptr) == line.starts_with("step"));
  }
  CHECK(shapes.recalled() == 1);
  const std::string other = "at step 123" + far;  // not the line
  CHECK(shapes.match(regex, other, groups));
  CHECK(shapes.recalled() == 1);
}

TEST_CASE("lines that differ in their digits make the same among others of their shapes as alone") {
  std::vector<std::string> lines;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TOCSIN_SOURCE_DIR) / "tests/text/lines")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("> ") || line.starts_with("< ")) lines.push_back(line.substr(2));
  }
  std::mt19937 random(static_cast<std::mt19937::result_type>(test::seed(29)));
  const auto compiled = dsl::compile_text(test::shipped_files());
  const auto shared = compiled.extraction->open();
  const auto made = [](const std::shared_ptr<stream::Extraction>& extraction, const std::string& line) {
    const auto extractor = extraction->make();
    test::Recorded out;
    extractor->line(test::line(line), {}, out);
    extractor->finish(out);
    return out.all;
  };
  for (std::string line : lines)
    for (int variant = 0; variant < 3; ++variant) {
      for (char& c : line)
        if (dsl::text::digit(c) && random() % 2 == 0) c = static_cast<char>('0' + random() % 10);
      CAPTURE(line);
      CHECK(made(shared, line) == made(compiled.extraction->open(), line));
    }
}
