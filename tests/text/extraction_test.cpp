// Compiling definitions, assembling records, limits, and cutting a log anywhere.
#include <doctest/doctest.h>

#include <random>

#include "dsl/text/extraction.h"
#include "dsl/text/records.h"
#include "tests/seed.h"
#include "tests/text/shipped.h"

using namespace tocsin;
using namespace std::chrono_literals;
using dsl::text::Definition;
using dsl::text::LineExtractorSource;

namespace {

std::map<std::string, std::string> pattern_file(std::string text) { return {{"patterns/test.lua", std::move(text)}}; }

std::shared_ptr<const LineExtractorSource> compiled(std::string text) {
  auto result = dsl::compile_text(pattern_file(std::move(text)));
  for (const auto& problem : result.problems) MESSAGE(problem.message);
  REQUIRE(result.source);
  return result.source;
}

std::string problem(std::string text) {
  const auto result = dsl::compile_text(pattern_file(std::move(text)));
  CHECK(!result.source);
  REQUIRE(!result.problems.empty());
  return result.problems[0].file + ":" + std::to_string(result.problems[0].line) + ": " + result.problems[0].message;
}

bool says(const std::string& message, std::string_view part) { return message.find(part) != message.npos; }

stream::LineRecord line(std::string_view text, stream::MemberKey member = {}, bool error = false) { return {{}, member, error, text}; }

stream::MemberKey rank(std::uint32_t number) { return {stream::Level::rank, number, {}, {}}; }

const char* const two_lines = R"(pattern "pair" { line = [[^begin (?P<n>INT)]], continues = [[^\s]], event = "pair",
                                  fields = { n = "n", more = { find = [[more (NUM)]] } } })";

}  // namespace

TEST_CASE("a mistake in a definition is reported with file, line, pattern and remedy") {
  const std::string look = problem("\npattern \"a\" { line = [[(?=x)y]], event = \"e\" }");
  CHECK(says(look, "patterns/test.lua:2: pattern \"a\": RE2 does not take"));
  CHECK(says(look, "without look-around"));
  CHECK(says(problem("pattern \"a\" { line = [[x*]], event = \"e\" }"), "Vectorscan does not take `x*`: it matches the empty text"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", fields = { n = \"n\" } }"),
             "no expression in line has a group named \"n\""));
  CHECK(says(problem("pattern \"a\" { line = [[x]] }"), "neither an event nor a sample"));
  CHECK(says(problem("pattern \"a\" { event = \"e\" }"), "no line"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], evnt = \"e\" }"), "\"evnt\" is no key here"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", fields = { n = { find = [[y]] } } }"), "has 0 groups"));
  CHECK(says(problem("pattern \"a\" { line = 3, event = \"e\" }"), "write a text or a list of texts"));
  CHECK(says(problem("parser \"a\" { line = [[x]], event = \"e\" }"), "write a pattern for the event"));
  CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\" }\npattern \"a\" { line = [[y]], event = \"e\" }"),
             "the name is taken by"));
  for (const char* lines : {"0", "513"})
    CHECK(says(problem("pattern \"a\" { line = [[x]], event = \"e\", lines = " + std::string{lines} + " }"),
               "lines is not between 1 and 512"));
  CHECK(says(problem("pattern \"a\" {"), "expected"));
  CHECK(says(problem("pattern \"b\" { line = [[x]], event = \"e\" }\nparser \"a\""),
             "patterns/test.lua:2: parser \"a\" has no table: write parser \"a\" { … }"));
}

TEST_CASE("a pattern may make an event of the job beside that of its rank, with the same fields") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<n>INT)]], event = \"e\", also = \"of_job\", fields = { n = \"n\" } }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("oops 7", rank(3)), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 3: e n=7", "rank 3: of_job n=7"});
  CHECK(says(problem("pattern \"a\" { line = [[x]], also = \"e\" }"), "write `event` first"));
}

TEST_CASE("a count that restarts each epoch grows on, with the length of the epoch or without") {
  const auto source = compiled(
      "parser \"a\" { line = [[epoch (?P<epoch>INT) batch (?P<n>INT)(?: of (?P<all>INT))?$]], scan = [[epoch]], "
      "samples = { step = { \"n\", epoch = \"epoch\", per_epoch = \"all\" } } }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("epoch 2 batch 30 of 100"), {}, out);
  extractor->line(line("epoch 2 batch 30"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: step 230", "job: step 2000030"});
}

TEST_CASE("pattern files are data: they reach nothing, and end") {
  CHECK(says(problem("print(1)"), "print"));
  CHECK(says(problem("os.exit(1)"), "os"));
  CHECK(says(problem("while true do end"), "computes too long"));
  CHECK(says(problem("local t = {} for i = 1, 1e9 do t[i] = { i } end"), "computes too long"));
  CHECK(says(problem("local s = 'x' for i = 1, 60 do s = s .. s end"), "memory"));
  CHECK(says(problem("\x1bLua"), "test.lua"));
}

TEST_CASE("bytes that are no text do no harm") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<what>.+)]], event = \"e\", texts = { what = \"what\" } }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line(std::string_view("\0\xFFoops \xC3\x28\0z", 11)), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e what='?( z'"});
}

TEST_CASE("a line of ten megabytes is matched up to a limit, and counted") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  std::string huge(10'000'000, 'x');
  huge.replace(100, 4, "oops");
  huge.replace(9'000'000, 4, "oops");
  extractor->line(line(huge), {}, out);
  CHECK(out.all.size() == 1);
  CHECK(extractor->counters().cut_lines == 1);
}

TEST_CASE("what a line says beyond the limit of its bytes is not matched") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line(std::string(64 * 1024 - 4, 'x') + "oops"), {}, out);
  CHECK(out.all.size() == 1);
  extractor->line(line(std::string(64 * 1024 - 3, 'x') + "oops"), {}, out);
  CHECK(out.all.size() == 1);
}

TEST_CASE("a text that an event takes from a line has its secrets masked") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<what>.+)]], event = \"e\", texts = { what = \"what\" } }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("oops password=hunter2"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e what='password=***'"});
}

TEST_CASE("a rank that a pattern takes from a line is one that there can be") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<r>INT)]], event = \"e\", rank = \"r\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("oops 262143"), {}, out);
  extractor->line(line("oops 262144"), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 262143: e", "job: e"});
}

TEST_CASE("a rank that a pattern takes only where none is known yields to the collector's") {
  const auto source = compiled("pattern \"a\" { line = [[oops (?P<r>INT)]], event = \"e\", rank_if_unknown = \"r\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("oops 3", rank(9)), {}, out);
  extractor->line(line("oops 3"), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 9: e", "rank 3: e"});
}

TEST_CASE("an event of a line has the pattern's source, or that of the log in which it stands") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\", source = \"kernel_log\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  for (const char* log : {"", "log", "ipmi"}) extractor->line({{}, rank(0), false, "oops", log}, {}, out);
  CHECK(out.sources == std::vector<std::string>{"kernel_log", "kernel_log", "ipmi"});
}

TEST_CASE("a bar of a smaller total within another is passed over until the outer one has reached its total") {
  const auto source = compiled("parser \"bar\" { line = [[^(?P<n>INT)/(?P<of>INT)$]], same = \"of\", samples = { step = \"n\" } }");
  auto extractor = source->make_lines();
  test::Recorded out;
  for (const char* bar : {"3/1500", "1/70", "4/1500", "70/70", "5/1500", "1499/1500", "1500/1500", "1/70", "2/1500"})
    extractor->line(line(bar), {}, out);
  std::string steps;
  for (const auto& one : out.all) steps += one.substr(one.rfind(' '));
  CHECK(steps == " 3 4 5 1499 1500 1 2");
}

TEST_CASE("a line counts where its counts have come to their ends; one that it does not have is not compared") {
  const auto source = compiled(
      "pattern \"end\" { line = [[epoch (?P<epoch>INT)/(?P<epochs>INT)(?: step (?P<n>INT)/(?P<all>INT))?]], scan = [[epoch]], "
      "equal = { \"epoch\", \"epochs\", \"n\", \"all\" }, event = \"e\" }");
  auto extractor = source->make_lines();
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
  CHECK(says(problem("pattern \"a\" { line = [[(?P<n>INT)]], event = \"e\", equal = \"n\" }"), "equal has a group without another"));
  CHECK(says(problem("pattern \"a\" { line = [[(?P<n>INT)]], event = \"e\", equal = { \"n\", \"m\" } }"),
             "no expression in line has a group named \"m\""));
}

TEST_CASE("a collector that knows the rank is believed before the text; a local rank is none on a known node") {
  const auto source = compiled("pattern \"a\" { line = [[oops]], event = \"e\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("[default1]: oops", rank(9)), {}, out);
  extractor->line(line("[default1]: oops"), {}, out);
  extractor->line(line("[default1]: oops", {stream::Level::node, 0, "n1", {}}), {}, out);
  extractor->line(line("[rank4]: oops", {stream::Level::node, 0, "n1", {}}), {}, out);
  CHECK(out.all == std::vector<std::string>{"rank 9: e", "rank 1: e", "node n1: e", "rank 4: e"});
}

TEST_CASE("an XID of a node's kernel log is about that node's GPU") {
  const auto result = dsl::compile_text(test::shipped_files());
  auto extractor = result.source->make_lines();
  test::Recorded out;
  extractor->line(line("NVRM: Xid (PCI:0000:9b:00): 48, pid=7", {stream::Level::node, 0, "n1", {}}), {}, out);
  CHECK(out.all == std::vector<std::string>{"gpu 0000:9b:00 of n1: xid code=48 pid=7 pci='0000:9b:00'"});
}

TEST_CASE("a record ends at a line that does not continue it, at its time, or with the attempt") {
  const auto source = compiled(two_lines);
  auto extractor = source->make_lines();
  test::Recorded out;
  const auto at = [](int s) { return stream::at_nanoseconds(s * 1'000'000'000LL); };
  CHECK(extractor->next_due() == stream::never);
  extractor->line(line("begin 1"), at(1), out);
  CHECK(extractor->next_due() == at(3));
  extractor->line(line(" more 5"), at(2), out);
  CHECK(extractor->next_due() == at(4));
  CHECK(out.all.empty());
  extractor->line(line("other"), at(3), out);
  CHECK(out.all == std::vector<std::string>{"job: pair more=5 n=1"});
  extractor->line(line("begin 2"), at(10), out);
  extractor->settle(at(11), out);
  CHECK(out.all.size() == 1);
  extractor->settle(at(12), out);
  CHECK(out.all.back() == "job: pair n=2");
  extractor->line(line("begin 3"), at(20), out);
  extractor->finish(out);
  CHECK(out.all.back() == "job: pair n=3");
  CHECK(extractor->next_due() == stream::never);
}

TEST_CASE("records that end at one time end in the order in which they were due") {
  const auto source = compiled(two_lines);
  auto extractor = source->make_lines();
  test::Recorded out;
  const auto at = [](int s) { return stream::at_nanoseconds(s * 1'000'000'000LL); };
  extractor->line(line("begin 1", rank(5)), at(1), out);
  extractor->line(line("begin 2", rank(0)), at(2), out);
  extractor->settle(at(9), out);
  CHECK(out.all == std::vector<std::string>{"rank 5: pair n=1", "rank 0: pair n=2"});
}

TEST_CASE("records of the two outputs and of other ranks do not mix") {
  const auto source = compiled(two_lines);
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("begin 1", rank(0)), {}, out);
  extractor->line(line("begin 2", rank(1)), {}, out);
  extractor->line(line("begin 3", rank(1), true), {}, out);
  extractor->line(line(" more 20", rank(1)), {}, out);
  extractor->line(line(" more 30", rank(1), true), {}, out);
  extractor->line(line(" more 10", rank(0)), {}, out);
  extractor->finish(out);
  CHECK(out.all == std::vector<std::string>{"rank 0: pair more=10 n=1", "rank 1: pair more=20 n=2", "rank 1: pair more=30 n=3"});
}

TEST_CASE("a record ends with the line that its pattern allows as the last") {
  const auto source = compiled(
      "pattern \"a\" { line = [[^begin]], continues = [[^ ]], lines = 3, event = \"e\", texts = { x = { find = [[(x+)]], last = true } } "
      "}");
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("begin"), {}, out);
  extractor->line(line(" x"), {}, out);
  CHECK(out.all.empty());
  extractor->line(line(" xx"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e x='xx'"});
  extractor->line(line(" xxx"), {}, out);
  extractor->finish(out);
  CHECK(out.all.size() == 1);
  CHECK(extractor->counters().records_cut == 1);
}

TEST_CASE("a record in any line of which its exception occurs is none") {
  const auto source = compiled("pattern \"a\" { line = [[^begin]], continues = [[^ ]], unless = [[harmless]], event = \"e\" }");
  auto extractor = source->make_lines();
  test::Recorded out;
  for (const char* one : {"begin", " of it", "other", "begin", " harmless", "other", "begin harmless", " of it", "other"})
    extractor->line(line(one), {}, out);
  extractor->finish(out);
  CHECK(out.all == std::vector<std::string>{"job: e"});
}

TEST_CASE("half-assembled records are bounded in lines, bytes and number") {
  const auto source = compiled(two_lines);
  auto extractor = source->make_lines();
  test::Recorded out;
  extractor->line(line("begin 1"), {}, out);
  for (int i = 0; i < 600; ++i) extractor->line(line("  and on"), {}, out);
  CHECK(out.all.size() == 1);
  extractor->line(line("begin 2"), {}, out);
  const std::string wide = " " + std::string(40'000, 'y');
  extractor->line(line(wide), {}, out);
  extractor->line(line(wide), {}, out);
  CHECK(out.all.size() == 2);
  CHECK(extractor->counters().records_cut == 2);
  for (std::uint32_t r = 0; r < dsl::text::OpenRecords::most_records + 5; ++r) extractor->line(line("begin 3", rank(r)), {}, out);
  CHECK(extractor->counters().records_refused == 5);
}

TEST_CASE("a log may be cut anywhere: what is saved and loaded goes on to the same output") {
  const auto result = dsl::compile_text(test::shipped_files());
  REQUIRE(result.source);
  const std::vector<std::string> lines{"[rank3]: Traceback (most recent call last):",
                                       "[rank3]:   File \"a.py\", line 1, in f",
                                       "[rank3]:     f()",
                                       "[rank3]: ValueError: no",
                                       "Traceback (most recent call last):",
                                       "  File \"b.py\", line 2, in g",
                                       "KeyError: 'k'",
                                       "[batch=1/10]:",
                                       "   Train loss/train/total: 2.5",
                                       "  rank      : 5 (local_rank: 1)",
                                       "  exitcode  : -9 (pid: 14750)",
                                       "  traceback : Signal 9 (SIGKILL) received by PID 14750",
                                       "[default7]: iteration  9/ 10 | elapsed time per iteration (ms): 5.0 | learning",
                                       " rate: 1.0E-05 | lm loss: 2.5E+00 |",
                                       "iter 3: loss 2.5, time 9.00ms",
                                       "  3%|x | 3/70 [00:04<03:15,  7.51it/s]",
                                       "  2%|x | 30/1500 [00:04<03:15,  7.51it/s]",
                                       "  4%|x | 4/70 [00:04<03:15]\r  5%|x | 5/70 [00:04<03:15]",
                                       "Total optimization steps = 1,500",
                                       "plain",
                                       ""};
  std::mt19937 random{tocsin::test::seed(11)};
  for (int round = 0; round < 60; ++round) {
    struct Fed {
      std::string text;
      stream::MemberKey member;
      bool error;
      stream::Time at;
    };
    std::vector<Fed> log;
    std::int64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      now += static_cast<std::int64_t>(random() % 1'500'000'000);
      const bool known = random() % 2 == 0;
      log.push_back({lines[random() % lines.size()], known ? rank(static_cast<std::uint32_t>(random() % 2)) : stream::MemberKey{},
                     random() % 4 == 0, stream::at_nanoseconds(now)});
    }
    const auto feed = [](dsl::text::LineExtractor& to, const Fed& fed, test::Recorded& out) {
      to.settle(fed.at, out);
      to.line({fed.at, fed.member, fed.error, fed.text}, fed.at, out);
    };
    test::Recorded whole;
    auto extractor = result.source->make_lines();
    for (const Fed& fed : log) feed(*extractor, fed, whole);
    extractor->finish(whole);
    const std::size_t cut = random() % log.size();
    CAPTURE(round);
    CAPTURE(cut);
    test::Recorded parts;
    auto first = result.source->make_lines();
    for (std::size_t i = 0; i < cut; ++i) feed(*first, log[i], parts);
    stream::Writer writer;
    first->save(writer);
    auto second = result.source->make_lines();
    stream::Reader reader(writer.bytes());
    REQUIRE(second->load(reader));
    CHECK(second->next_due() == first->next_due());
    for (std::size_t i = cut; i < log.size(); ++i) feed(*second, log[i], parts);
    second->finish(parts);
    CHECK(parts.all == whole.all);
    CHECK(parts.times == whole.times);
  }
}

TEST_CASE("a torn snapshot of half-assembled records is refused, not believed") {
  const auto source = compiled(two_lines);
  auto extractor = source->make_lines();
  test::Recorded out;
  for (std::uint32_t r = 0; r < 3; ++r) extractor->line(line("begin 3", rank(r)), {}, out);
  stream::Writer writer;
  extractor->save(writer);
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    auto other = source->make_lines();
    stream::Reader reader(writer.bytes().first(size));
    CHECK(!other->load(reader));
  }
}

TEST_CASE("a record of a rule that the pack no longer has is let go") {
  const auto before = compiled(two_lines), after = compiled("pattern \"a\" { line = [[x]], event = \"e\" }");
  auto extractor = before->make_lines();
  test::Recorded out;
  extractor->line(line("begin 3"), {}, out);
  stream::Writer writer;
  extractor->save(writer);
  auto other = after->make_lines();
  stream::Reader reader(writer.bytes());
  CHECK(other->load(reader));
  CHECK(other->next_due() == stream::never);
}
