// Compiling definitions, what a line makes, and limits.
#include "dsl/text/extraction.h"

#include <doctest/doctest.h>

#include "dsl/load/loader.h"
#include "tests/text/pattern_file.h"
#include "tests/text/shipped.h"

using namespace tocsin;
using test::compiled;
using test::line;
using test::problem;
using test::rank;
using test::says;

TEST_CASE("a mistake in a definition is reported with file, line, pattern and remedy") {
  const std::string look = problem("\npattern \"a\" { line = [[(?=x)y]], event = \"e\" }");
  CHECK(says(look, "patterns/test.lua:2: pattern \"a\": RE2 does not take"));
  CHECK(says(look, "without look-around"));
  CHECK(says(problem("pattern \"a\" { line = [[x*]], event = \"e\" }"),
             "Vectorscan does not take `x*`: it matches the empty text"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", fields = { n = \"n\" } }"),
             "no expression in line has a group named \"n\""));
  CHECK(says(problem("pattern \"a\" { line = [[x]] }"), "neither an event nor a sample"));
  CHECK(says(problem("pattern \"a\" { event = \"e\" }"), "no line"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], evnt = \"e\" }"),
             "patterns/test.lua:1: pattern \"a\": unknown key 'evnt' (event?)"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", fields = { n = { find = [[y]] } } }"),
             "has 0 groups"));
  CHECK(says(problem("pattern \"a\" { line = 3, event = \"e\" }"), "line is a number: write line = "));
  CHECK(says(problem("parser \"a\" { line = [[x]], event = \"e\" }"), "write a pattern for the event"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\" }\npattern \"a\" { line = [[y]], event = \"e\" }"),
             "the name is taken by"));
  for (const char* lines : {"0", "513"})
    CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", lines = " + std::string{lines} + " }"),
               "lines = " + std::string{lines} + ": write a whole number from 1 to 512"));
  const auto with = [](const std::string& fields) {
    return problem("pattern \"a\" { line = [[(?P<x>y)]], event = \"e\",\n  fields = " + fields + " }");
  };
  CHECK(says(with("{ \"x\" }"), "patterns/test.lua:1: pattern \"a\": a value without a name"));
  CHECK(says(with("\"x\""), "fields is a string: write fields = { name = \"capture\" }"));
  CHECK(says(with("{ n = true }"), "n is a boolean: write n = \"capture\""));
  CHECK(says(with("{ n = { \"x\", scael = 2 } }"), "unknown key 'scael' (scale?)"));
  CHECK(says(with("{ n = { scale = 2 } }"), "n needs a capture's name, find, text or number"));
  CHECK(says(with("{ n = { \"x\", number = 2 } }"), "n has two sources in one; write a list of { … }"));
  CHECK(says(with("{ n = { { \"x\" }, \"x\" } }"), "n mixes sources and others"));
  CHECK(says(problem("pattern \"a\" {"), "expected"));
  CHECK(says(problem("pattern \"b\" { line = [[x]], event = \"e\" }\nparser \"a\""),
             "patterns/test.lua:2: parser \"a\" has no table: write parser \"a\" { … }"));
}

TEST_CASE("either matches any of the expressions that it lists, each with its own options") {
  const auto source = compiled(
      "pattern \"a\" { line = [[^go (?P<to>]] .. either { [[(?i)north]], [[south|west]] } .. [[) now]],\n"
      "  unless = either { [[not]], [[never]] }, event = \"e\", texts = { to = \"to\" } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  for (const char* text : {"go NORTH now", "go west now", "go SOUTH now", "go west now, never east"})
    extractor->line(line(text), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e to='NORTH'", "job: e to='west'"});
  const auto with = [](const std::string& list) {
    return problem("\npattern \"a\" { line = either " + list + ", event = \"e\" }");
  };
  CHECK(says(with("{}"), "patterns/test.lua:2: either lists expressions: either { [[one]], [[another]] }"));
  CHECK(says(with("\"x\""), "either wants a table"));
  CHECK(says(with("{ \"x\", { \"y\" } }"), "either lists something that is not a text"));
  CHECK(says(with("{ line = \"x\" }"), "unknown key 'line'"));
}

TEST_CASE("files of patterns and parsers hold nothing else, and no other file holds them") {
  CHECK(says(problem("\nrule \"r\" { }"), "patterns/test.lua:2: a rule does not stand in this file"));
  const auto loaded = dsl::load({{"signals.lua", ""}, {"site.lua", "parser \"a\" { line = [[x]] }"}});
  CHECK(std::any_of(loaded.problems.begin(), loaded.problems.end(), [](const dsl::Problem& one) {
    return one.file == "site.lua" && says(one.message, "a parser does not stand in this file");
  }));
}

TEST_CASE("a pattern may make an event of the job beside that of its rank, with the same fields") {
  const auto source = compiled(
      "pattern \"a\" { line = [[oops (?P<n>INT)]], event = \"e\", also = \"of_job\", fields = { n = \"n\" } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("oops 7", rank(3)), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 3: e n=7", "rank 3: of_job n=7"});
  CHECK(says(problem("pattern \"a\" { line = [[x]], also = \"e\" }"), "write `event` first"));
}

TEST_CASE("a count that restarts each epoch grows on, with the length of the epoch or without") {
  const auto source = compiled(
      "parser \"a\" { line = [[epoch (?P<epoch>INT) batch (?P<n>INT)(?: of (?P<all>INT))?$]], scan = [[epoch]], "
      "samples = { step = { \"n\", epoch = \"epoch\", per_epoch = \"all\" } } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("epoch 2 batch 30 of 100"), {}, out);
  extractor->line(line("epoch 2 batch 30"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: step 230", "job: step 2000030"});
}

TEST_CASE("pattern files are data: they reach nothing, and end") {
  CHECK(says(problem("print(1)"), "print"));
  CHECK(says(problem("os.exit(1)"), "os"));
  CHECK(says(problem("while true do end"), "it spent its budget of 1000000 instructions"));
  CHECK(
      says(problem("local t = {} for i = 1, 1e9 do t[i] = { i } end"), "it spent its budget of 1000000 instructions"));
  CHECK(says(problem("local s = 'x' for i = 1, 60 do s = s .. s end"), "it spent its budget of 1000000 instructions"));
  CHECK(says(problem("\x1bLua"), "test.lua"));
}

TEST_CASE("bytes that are no text do no harm") {
  const auto source =
      compiled("pattern \"a\" { line = [[oops (?P<what>.+)]], event = \"e\", texts = { what = \"what\" } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line(std::string_view("\0\xFFoops \xC3\x28\0z", 11)), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e what='?( z'"});
}

TEST_CASE("a line of ten megabytes is matched up to a limit, and counted") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  std::string huge(10'000'000, 'x');
  huge.replace(100, 4, "oops");
  huge.replace(9'000'000, 4, "oops");
  extractor->line(line(huge), {}, out);
  CHECK(out.all.size() == 1);
  CHECK(test::counters_of(*extractor).cut_lines == 1);
}

TEST_CASE("what a line says beyond the limit of its bytes is not matched") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line(std::string(64 * 1024 - 4, 'x') + "oops"), {}, out);
  CHECK(out.all.size() == 1);
  extractor->line(line(std::string(64 * 1024 - 3, 'x') + "oops"), {}, out);
  CHECK(out.all.size() == 1);
}

TEST_CASE("a text that an event takes from a line has its secrets masked") {
  const auto source =
      compiled("pattern \"a\" { line = [[oops (?P<what>.+)]], event = \"e\", texts = { what = \"what\" } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("oops password=hunter2"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e what='password=***'"});
}

TEST_CASE("a rank that a pattern takes from a line is one that there can be") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<r>INT)]], event = \"e\", rank = \"r\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("oops 262143"), {}, out);
  extractor->line(line("oops 262144"), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 262143: e", "job: e"});
}

TEST_CASE("a rank that a pattern takes only where none is known yields to the collector's") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<r>INT)]], event = \"e\", rank_if_unknown = \"r\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("oops 3", rank(9)), {}, out);
  extractor->line(line("oops 3"), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 9: e", "rank 3: e"});
}

TEST_CASE("an event of a line has the pattern's source, or that of the log in which it stands") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\", source = \"kernel_log\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  for (const char* log : {"", "log", "ipmi"}) extractor->line({{}, rank(0), false, "oops", log}, {}, out);
  CHECK(out.sources == std::vector<std::string>{"kernel_log", "kernel_log", "ipmi"});
}

TEST_CASE("a bar of a smaller total within another is passed over until the outer one has reached its total") {
  const auto source =
      compiled("parser \"bar\" { line = [[^(?P<n>INT)/(?P<of>INT)$]], same = \"of\", samples = { step = \"n\" } }");
  auto extractor = source->open()->make();
  test::Recorded out;
  for (const char* bar : {"3/1500", "1/70", "4/1500", "70/70", "5/1500", "1499/1500", "1500/1500", "1/70", "2/1500"})
    extractor->line(line(bar), {}, out);
  std::string steps;
  for (const auto& one : out.all) steps += one.substr(one.rfind(' '));
  CHECK(steps == " 3 4 5 1499 1500 1 2");
}

TEST_CASE("a line counts where its counts have come to their ends; one that it does not have is not compared") {
  const auto source = compiled(
      "pattern \"end\" { line = [[epoch (?P<epoch>INT)/(?P<epochs>INT)(?: step (?P<n>INT)/(?P<all>INT))?]], scan = "
      "[[epoch]], "
      "equal = { \"epoch\", \"epochs\", \"n\", \"all\" }, event = \"e\" }");
  auto extractor = source->open()->make();
  const auto counts = [&](const char* text) {
    test::Recorded out;
    extractor->line(line(text), {}, out);
    return !out.all.empty();
  };
  CHECK(counts("epoch 3/3 step 1,500/1500"));
  CHECK(counts("epoch 03/3"));
  CHECK_FALSE(counts("epoch 3/3 step 1499/1500"));
  CHECK_FALSE(counts("epoch 2/3 step 1500/1500"));
  CHECK_FALSE(counts("epoch 2/3"));
  CHECK(says(problem("pattern \"a\" { line = [[(?P<n>INT)]], event = \"e\", equal = \"n\" }"),
             "equal has a group without another"));
  CHECK(says(problem("pattern \"a\" { line = [[(?P<n>INT)]], event = \"e\", equal = { \"n\", \"m\" } }"),
             "no expression in line has a group named \"m\""));
}

TEST_CASE("a collector that knows the rank is believed before the text; a local rank is none on a known node") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("[default1]: oops", rank(9)), {}, out);
  extractor->line(line("[default1]: oops"), {}, out);
  extractor->line(line("[default1]: oops", {stream::Level::node, 0, "n1", {}}), {}, out);
  extractor->line(line("[rank4]: oops", {stream::Level::node, 0, "n1", {}}), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 9: e", "rank 1: e", "node n1: e", "rank 4: e"});
}

TEST_CASE("an XID of a node's kernel log is about that node's GPU") {
  const auto result = dsl::compile_text(test::shipped_files());
  auto extractor = result.extraction->open()->make();
  test::Recorded out;
  extractor->line(line("NVRM: Xid (PCI:0000:9b:00): 48, pid=7", {stream::Level::node, 0, "n1", {}}), {}, out);
  CHECK(out.all == std::vector<std::string>{"gpu 0000:9b:00 of n1: xid code=48 pid=7 pci='0000:9b:00'"});
}
