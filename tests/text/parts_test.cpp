// Numbers, cleaning, prefixes, secrets: each against what a person would say.
#include <doctest/doctest.h>
#include <re2/re2.h>

#include <cmath>
#include <limits>
#include <random>

#include "dsl/text/cleaning.h"
#include "dsl/text/extraction.h"
#include "dsl/text/lines.h"
#include "dsl/text/number.h"
#include "dsl/text/scanner.h"
#include "tests/seed.h"

using namespace tocsin::dsl::text;

TEST_CASE("numbers are read as frameworks print them") {
  CHECK(number("2.25") == 2.25);
  CHECK(number("-1.5E-03") == -0.0015);
  CHECK(number("1,234,567") == 1234567.0);
  CHECK(number("'9.5e-05'") == 9.5e-05);
  CHECK(number(" .5 ") == 0.5);
  CHECK(number("7.") == 7.0);
  CHECK(std::isnan(*number("NaN")));
  CHECK(std::isnan(*number("-nan")));
  CHECK(number("inf") == std::numeric_limits<double>::infinity());
  CHECK(number("-Infinity") == -std::numeric_limits<double>::infinity());
  CHECK(number("1e999") == std::numeric_limits<double>::infinity());
  CHECK(number("1e-999") == 0.0);
}

TEST_CASE("what is no number gives none") {
  for (const char* text : {"", "-", "e5", "1.2.3", "12,34", "nano", "information", "0x10", "1 2", "--1", "None"}) {
    CAPTURE(text);
    CHECK(!number(text));
  }
}

TEST_CASE("the lengths of numbers are those that the expression matches") {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  const RE2 num("(" + std::string(number_expression) + ")", options),
      integer("(" + std::string(integer_expression) + ")", options);
  REQUIRE(num.ok());
  const std::string alphabet = "0123456789..,,eE+-nNaAiIfFty ";
  std::mt19937 random{tocsin::test::seed(7)};
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
    CAPTURE(text);
    re2::StringPiece groups[2];
    const std::size_t wide = num.Match(text, 0, text.size(), RE2::ANCHOR_START, groups, 2) ? groups[1].size() : 0;
    REQUIRE(number_length(text) == wide);
    const std::size_t whole = integer.Match(text, 0, text.size(), RE2::ANCHOR_START, groups, 2) ? groups[1].size() : 0;
    REQUIRE(integer_length(text) == whole);
  }
}

TEST_CASE("a line that overwrote itself falls into pieces") {
  std::vector<std::string_view> pieces;
  CHECK(split_pieces(" 1%|#  |\r      \r 2%|## |\b\b\bdone", pieces) == 0);
  CHECK(pieces == std::vector<std::string_view>{" 1%|#  |", " 2%|## |", "done"});
  std::string many;
  for (int i = 0; i < 100; ++i) many += "bar " + std::to_string(i) + "\r";
  CHECK(split_pieces(many, pieces) == 36);
  CHECK(pieces.size() == most_pieces);
  CHECK(pieces.back() == "bar 99");
}

TEST_CASE("what is written behind a bar that has no line break begins anew") {
  const auto behind = [](std::string_view text) { return text.substr(end_of_bar(text)); };
  CHECK(behind(" 5%|#  | 20/400 [00:02<00:39,  9.5it/s, loss=0.3][rank1]: Traceback") == "[rank1]: Traceback");
  CHECK(behind(" 5%|#  | 20/400 [00:02<00:39,  9.5it/s, loss=[0.5]]Traceback") == "Traceback");
  CHECK(behind(" 5%|#  | 20/400 [00:02<00:39,  9.5it/s, loss=[0.5]Traceback") == "Traceback");
  CHECK(behind("train: 5%|\xE2\x96\x88  | 20/400 [00:02<00:39,  9.5it/s]Saving to out") == "Saving to out");
  CHECK(behind(" 5%|#  | 20/400 [00:02<00:39,  9.5it/s, loss=[0.5]][rank1]: Traceback") == "[rank1]: Traceback");
  for (const std::string_view bar :
       {" 5%|#  | 20/400 [00:02<00:39,  9.5it/s]", " 5%|#  | 20/400 [00:02<00:39,  9.5it/s], loss=0.3",
        " 5%|#  | 20/400 [00:02<00:39,  9.5it/s] loss=0.3", " 5%|#  | 20/400 [00:02<00:39, lr=[1e-3], loss=[0.5] now]",
        "5% of [a]b", " 5%|#  | 20/400 [00:02", ""})
    CHECK(behind(bar).empty());
}

TEST_CASE("a line in UTF-16 is read in bytes, wherever it was cut") {
  const auto read = [](std::string_view text) {
    std::string buffer;
    return std::string{without_utf16(text, buffer)};
  };
  CHECK(read(std::string_view("\xFF\xFEs\0t\0 \0"
                              "7\0\r\0",
                              12)) == "st 7\r");
  CHECK(read(std::string_view("\0s\0t\0 \0"
                              "7\0\r",
                              10)) == "st 7\r");  // behind a line break of the other byte order
  CHECK(read(std::string_view("\xFE\xFF\0s\0t\0", 7)) == "st");
  CHECK(read(std::string_view("a\0bcdef", 7)) == std::string_view("a\0bcdef", 7));
}

TEST_CASE("colours and titles are taken out, and nothing else") {
  std::string buffer;
  CHECK(without_colours("\x1b[1;31mstep:\x1b[0m 5\x1b]0;title\a.", buffer) == "step: 5.");
  CHECK(without_colours("plain", buffer) == "plain");
  CHECK(without_colours("cut \x1b[3", buffer) == "cut ");
  CHECK(without_colours("\x1b", buffer).empty());
}

TEST_CASE("texts for an alert are UTF-8, short and without controls") {
  CHECK(presentable("  a\tb\x01"
                    "c  ") == "a b c");
  CHECK(presentable("caf\xC3\xA9 \xFF\xC3") == "caf\xC3\xA9 ??");
  CHECK(presentable("a\xE0\x80\x80") == "a???");  // longer than it has to be
  CHECK(presentable(std::string(600, 'x')).size() == 512);
  CHECK(presentable("ab\xC3\xA9", 3) == "ab");
}

TEST_CASE("prefixes of launchers and loggers are read through to the body and the rank") {
  const auto read = [](std::string_view line) {
    const Prefix prefix = read_prefix(line);
    return std::pair{prefix.rank ? static_cast<int>(*prefix.rank) : -1, std::string(line.substr(prefix.size))};
  };
  using Read = std::pair<int, std::string>;
  CHECK(read("[rank3]: hello") == Read{3, "hello"});
  CHECK(read("[rank3]:   File \"x\"") == Read{3, "  File \"x\""});
  CHECK(read("[default7]: iteration 1/ 2") == Read{7, "iteration 1/ 2"});
  CHECK(read("[trainer12]:[W socket.cpp:426] no") == Read{12, "no"});
  CHECK(read("  7: [rank9]: hello") == Read{9, "hello"});
  CHECK(read("[rank9]: [default1]: hello") == Read{9, "hello"});
  CHECK(read(" 850: hello") == Read{850, "hello"});
  CHECK(read("[rank3]: 7: hello") == Read{3, "7: hello"});  // a task's number comes first or not at all
  CHECK(read("[rank262143]: hello") == Read{262'143, "hello"});
  CHECK(read("(Worker pid=4009) [rank1]:[E Process.cpp:1537] [PG 1 Rank 1] out") == Read{1, "[PG 1 Rank 1] out"});
  CHECK(read("(pretraining, pid=4112) Training epoch 1") == Read{-1, "Training epoch 1"});
  CHECK(read("2026-02-03 04:05:06 [rank3]: x") == Read{3, "x"});
  CHECK(read("[2026-02-03 04:05:06,142] [INFO] [logging.py:96:log_dist] [Rank 2] step=10") == Read{2, "step=10"});
  CHECK(read("[2026-02-03 04:05:06,142] [INFO] [a.b.c:721] [PID:174] [RANK:4] text") == Read{4, "text"});
  CHECK(read("[   18.617069] NVRM: Xid") == Read{-1, "NVRM: Xid"});
  CHECK(read("E0203 04:05:06.1 2606 api.py:869] failed") == Read{-1, "failed"});
  CHECK(read("[rank 3] phase train") == Read{3, "phase train"});
  CHECK(read("[1,12]<stderr>:Traceback (most recent call last):") == Read{12, "Traceback (most recent call last):"});
  CHECK(read("[1,mpirank:3,algo-1]<stdout>:  File \"x\"") == Read{3, " File \"x\""});
  CHECK(read("2026-02-03T04:05:06.123456789Z stderr F ValueError: no") == Read{-1, "ValueError: no"});
  CHECK(read("(VllmWorker rank=3 pid=71) INFO") == Read{3, "INFO"});
  CHECK(read("(RayTrainWorker pid=4009, ip=10.0.0.7) hello") == Read{-1, "hello"});
  CHECK(read("2026-02-03 04:05:06.123 | INFO     | __main__:<module>:35 - hello") == Read{-1, "hello"});
  CHECK(read("2026-02-03 04:05:06.123 | WARNING  | __main__:<module>:35 - hello") == Read{-1, "hello"});
  CHECK(read("2026-02-03 04:05:06,123 - trainer.loop - WARNING - hello") == Read{-1, "hello"});
  CHECK(read("2026-02-03 04:05:06,123 - INFO - trainer - hello") == Read{-1, "hello"});
  CHECK(read("[2026-02-03 04:05:06,123][__main__][INFO] - hello") == Read{-1, "hello"});
  CHECK(read("INFO:trainer.loop:hello") == Read{-1, "hello"});
  CHECK(read("(Worker pid=9) 2026-02-03 04:05:06,123 - INFO - trainer - hello") == Read{-1, "hello"});
}

TEST_CASE("what only looks like a prefix stays") {
  for (const char* line : {"[batch=1/100]:", "[step=1/7,epoch=0]", "422/422 [====]", "12:30", "3:4 ratio",
                           "[Torch] Saved x", "(see page 3) x", "Epoch 1: begins", "[1, 2, 3]: a list", "[1,2] of them",
                           "stderr F is full", "[999999999]: far", "[rank262144]: far", "", " ", "["}) {
    CAPTURE(line);
    CHECK(read_prefix(line).size == 0);
    CHECK(!read_prefix(line).rank);
  }
}

TEST_CASE("secrets are masked and the words around them are kept") {
  CHECK(mask_secrets("token hf_AbCdEfGhIjKlMnOpQr expired") == "token hf_*** expired");
  CHECK(mask_secrets("OPENAI_API_KEY=sk-proj-abcdefghijklmnop next") == "OPENAI_API_KEY=*** next");
  CHECK(mask_secrets("Authorization: Bearer abc.def.ghijkl") == "Authorization: Bearer ***");
  CHECK(mask_secrets("Authorization: Basic bWU6aHVudGVyMg==") == "Authorization: Basic ***");
  CHECK(mask_secrets("clone https://me:hunter2@host/x.git") == "clone https://me:***@host/x.git");
  CHECK(mask_secrets("password=\"open sesame\", user=me") == "password=***, user=me");
  CHECK(mask_secrets("AKIAIOSFODNN7EXAMPLE") == "AKIA***");
  CHECK(mask_secrets("pushed with ghp_0123456789abcdefghij") == "pushed with ghp_***");
  CHECK(mask_secrets("the key is 0123456789abcdef0123456789abcdef") == "the key is ***");
  CHECK(mask_secrets("wandb: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig") == "wandb: eyJ***");
}

TEST_CASE("ordinary texts are not masked") {
  for (const char* text : {"CUDA out of memory. Tried to allocate 14.50 GiB", "KeyError: 'model.layers.0.weight'",
                           "tokens per second: 123456", "token: 512", "commit 0123456789abcdef0123456789abcdef01234567",
                           "https://example.org/a:b"}) {
    CAPTURE(text);
    CHECK(mask_secrets(text) == text);
  }
}

TEST_CASE("what the scanner finds does not depend on where a text lies in memory") {
  std::vector<Scanner::Refusal> refused;
  const std::vector<std::string> expressions{R"(a\|[^|]*\|b)", R"(^"[^"]*",)", R"([^]x]*]y)", "a.*b"};
  const auto scanner = Scanner::compile(expressions, refused);
  REQUIRE(scanner);
  auto scratch = scanner->make_scratch();
  std::vector<std::uint32_t> found;
  std::vector<char> memory(1024);
  for (std::size_t length = 0; length < 200; ++length)
    for (std::size_t at = 0; at < 64; ++at) {
      const std::string all = "\"" + std::string(length, '#') + "\", a|" + std::string(length, '#') + "|b ]y";
      std::copy(all.begin(), all.end(), memory.begin() + static_cast<std::ptrdiff_t>(at));
      scanner->scan({memory.data() + at, all.size()}, scratch, found);
      CAPTURE(length);
      CAPTURE(at);
      REQUIRE(found == std::vector<std::uint32_t>{0, 1, 2, 3});
    }
}
