// Assembling records of several lines, and cutting a log anywhere.
#include "dsl/text/records.h"

#include <doctest/doctest.h>

#include <random>

#include "dsl/text/extraction.h"
#include "tests/seed.h"
#include "tests/text/pattern_file.h"
#include "tests/text/shipped.h"

using namespace tocsin;
using test::compiled;
using test::line;
using test::rank;

namespace {

const char* const two_lines = R"(pattern "pair" { line = [[^begin (?P<n>INT)]], continues = [[^\s]], event = "pair",
                                  fields = { n = "n", more = { find = [[more (NUM)]] } } })";

}  // namespace

TEST_CASE("a record ends at a line that does not continue it, at its time, or with the attempt") {
  const auto source = compiled(two_lines);
  auto extractor = source->open()->make();
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
  auto extractor = source->open()->make();
  test::Recorded out;
  const auto at = [](int s) { return stream::at_nanoseconds(s * 1'000'000'000LL); };
  extractor->line(line("begin 1", rank(5)), at(1), out);
  extractor->line(line("begin 2", rank(0)), at(2), out);
  extractor->settle(at(9), out);
  CHECK(out.all == std::vector<std::string>{"rank 5: pair n=1", "rank 0: pair n=2"});
}

TEST_CASE("records of the two outputs and of other ranks do not mix") {
  const auto source = compiled(two_lines);
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("begin 1", rank(0)), {}, out);
  extractor->line(line("begin 2", rank(1)), {}, out);
  extractor->line(line("begin 3", rank(1), true), {}, out);
  extractor->line(line(" more 20", rank(1)), {}, out);
  extractor->line(line(" more 30", rank(1), true), {}, out);
  extractor->line(line(" more 10", rank(0)), {}, out);
  extractor->finish(out);
  CHECK(out.all ==
        std::vector<std::string>{"rank 0: pair more=10 n=1", "rank 1: pair more=20 n=2", "rank 1: pair more=30 n=3"});
}

TEST_CASE("a record ends with the line that its pattern allows as the last") {
  const auto source = compiled(
      "pattern \"a\" { line = [[^begin]], continues = [[^ ]], lines = 3, event = \"e\", texts = { x = { find = "
      "[[(x+)]], last = true } } "
      "}");
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("begin"), {}, out);
  extractor->line(line(" x"), {}, out);
  CHECK(out.all.empty());
  extractor->line(line(" xx"), {}, out);
  CHECK(out.all == std::vector<std::string>{"job: e x='xx'"});
  extractor->line(line(" xxx"), {}, out);
  extractor->finish(out);
  CHECK(out.all.size() == 1);
  CHECK(test::counters_of(*extractor).records_cut == 1);
}

TEST_CASE("a record in any line of which its exception occurs is none") {
  const auto source =
      compiled("pattern \"a\" { line = [[^begin]], continues = [[^ ]], unless = [[harmless]], event = \"e\" }");
  auto extractor = source->open()->make();
  test::Recorded out;
  for (const char* one :
       {"begin", " of it", "other", "begin", " harmless", "other", "begin harmless", " of it", "other"})
    extractor->line(line(one), {}, out);
  extractor->finish(out);
  CHECK(out.all == std::vector<std::string>{"job: e"});
}

TEST_CASE("half-assembled records are bounded in lines, bytes and number") {
  const auto source = compiled(two_lines);
  auto extractor = source->open()->make();
  test::Recorded out;
  extractor->line(line("begin 1"), {}, out);
  for (int i = 0; i < 600; ++i) extractor->line(line("  and on"), {}, out);
  CHECK(out.all.size() == 1);
  extractor->line(line("begin 2"), {}, out);
  const std::string wide = " " + std::string(40'000, 'y');
  extractor->line(line(wide), {}, out);
  extractor->line(line(wide), {}, out);
  CHECK(out.all.size() == 2);
  CHECK(test::counters_of(*extractor).records_cut == 2);
  for (std::uint32_t r = 0; r < dsl::text::OpenRecords::most_records + 5; ++r)
    extractor->line(line("begin 3", rank(r)), {}, out);
  CHECK(test::counters_of(*extractor).records_refused == 5);
}

TEST_CASE("a log may be cut anywhere: what is saved and loaded goes on to the same output") {
  const auto result = dsl::compile_text(test::shipped_files());
  REQUIRE(result.extraction);
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
      log.push_back({lines[random() % lines.size()],
                     known ? rank(static_cast<std::uint32_t>(random() % 2)) : stream::MemberKey{}, random() % 4 == 0,
                     stream::at_nanoseconds(now)});
    }
    const auto feed = [](stream::Extractor& to, const Fed& fed, test::Recorded& out) {
      to.settle(fed.at, out);
      to.line({fed.at, fed.member, fed.error, fed.text}, fed.at, out);
    };
    test::Recorded whole;
    auto extractor = result.extraction->open()->make();
    for (const Fed& fed : log) feed(*extractor, fed, whole);
    extractor->finish(whole);
    const std::size_t cut = random() % log.size();
    CAPTURE(round);
    CAPTURE(cut);
    test::Recorded parts;
    auto first = result.extraction->open()->make();
    for (std::size_t i = 0; i < cut; ++i) feed(*first, log[i], parts);
    stream::Writer writer;
    first->save(writer);
    auto second = result.extraction->open()->make();
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
  auto extractor = source->open()->make();
  test::Recorded out;
  for (std::uint32_t r = 0; r < 3; ++r) extractor->line(line("begin 3", rank(r)), {}, out);
  stream::Writer writer;
  extractor->save(writer);
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    auto other = source->open()->make();
    stream::Reader reader(writer.bytes().first(size));
    CHECK(!other->load(reader));
  }
}

TEST_CASE("a record of a rule that the pack no longer has is let go") {
  const auto before = compiled(two_lines), after = compiled("pattern \"a\" { line = [[x]], event = \"e\" }");
  auto extractor = before->open()->make();
  test::Recorded out;
  extractor->line(line("begin 3"), {}, out);
  stream::Writer writer;
  extractor->save(writer);
  auto other = after->open()->make();
  stream::Reader reader(writer.bytes());
  CHECK(other->load(reader));
  CHECK(other->next_due() == stream::never);
}
