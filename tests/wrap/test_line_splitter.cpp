#include <random>
#include <string>
#include <vector>

#include "adapters/wrap/line_splitter.h"
#include "doctest/doctest.h"
#include "tests/seed.h"

using tocsin::adapters::wrap::LineSplitter;

namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& pieces, std::uint64_t* cut = nullptr) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  for (const std::string& piece : pieces) splitter.feed(piece, take);
  splitter.finish(take);
  if (cut != nullptr) *cut = splitter.cut();
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end at newlines, and the last needs none") {
  CHECK(lines_of({"one\ntwo\n\nthree"}) == Lines{"one", "two", "", "three"});
  CHECK(lines_of({""}).empty());
}

TEST_CASE("a redrawn progress bar is a line each time") {
  CHECK(lines_of({"\r10%|#  |\r20%|## |\r30%|###|\n"}) == Lines{"10%|#  |", "20%|## |", "30%|###|"});
}

TEST_CASE("a terminal's line end is one end, wherever a read cuts it") {
  CHECK(lines_of({"one\r\ntwo\r\n\r\nthree\r\n"}) == Lines{"one", "two", "", "three"});
  CHECK(lines_of({"one\r", "\ntwo\r", "\n\r", "\nthree\r", "\n"}) == Lines{"one", "two", "", "three"});
}

TEST_CASE("bytes that are no text pass unchanged") {
  const std::string odd{"\x00\xff\xfe\x80 x\x1b[0m", 10};
  CHECK(lines_of({odd + "\n"}) == Lines{odd});
}

TEST_CASE("a line over the limit is cut in pieces, and that is counted") {
  std::uint64_t cut = 0;
  const std::string longest(LineSplitter::longest, 'x');
  const auto lines = lines_of({longest + longest + "tail\nnext\n"}, &cut);
  CHECK(lines == Lines{longest, longest, "tail", "next"});
  CHECK(cut == 2);
}

TEST_CASE("where reads cut the bytes makes no difference") {
  std::mt19937 random{tocsin::test::seed()};
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    const std::size_t size = random() % 200;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back("ab\n\r"[random() % 4]);
    if (round % 10 == 0) bytes.insert(bytes.size() / 2, std::string(LineSplitter::longest + random() % 3 - 1, 'x'));
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t length = random() % 8 == 0 ? 40'000 : 1 + random() % 5;
      pieces.push_back(bytes.substr(at, length));
      at += length;
    }
    REQUIRE(lines_of(pieces) == lines_of({bytes}));
  }
}
