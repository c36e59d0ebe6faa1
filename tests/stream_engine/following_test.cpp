// Blocks that are written together, signal by signal, against the same blocks one by one.
#include <doctest/doctest.h>

#include <random>

#include "tests/seed.h"
#include "tests/stream_engine/generated_log.h"
#include "tests/stream_engine/judged.h"
#include "tests/stream_engine/small_job.h"

using namespace tocsin;
using namespace tocsin::tests;
using schemas::EntryBuilder;

namespace {

// Gauges with two rows, four of which one member writes alone, points, a counter, steps and what belongs to them, a
// gauge of nodes; ages and intervals.
stream::LoadedPack pack() {
  return SmallJob::load(R"lua(signals {
      a = { kind = "gauge", unit = "none", owner = "rank", row = "1s", lateness = "1s" },
      b = { kind = "gauge", unit = "none", owner = "rank", row = "10s", lateness = "4s" },
      f = { kind = "gauge", unit = "none", owner = "rank", row = "1s", lateness = "1s" },
      g = { kind = "gauge", unit = "none", owner = "rank", row = "10s", lateness = "4s" },
      c = { kind = "gauge", unit = "none", owner = "rank", points = true, lateness = "2s" },
      d = { kind = "gauge", unit = "none", owner = "rank", points = true, lateness = "1s" },
      e = { kind = "counter", unit = "none", owner = "rank", row = "1s", lateness = "1s" },
      step = { kind = "step", unit = "count", owner = "rank", row = "1s", lateness = "1s" },
      step_gap = { kind = "gauge", unit = "seconds", owner = "rank", points = true, lateness = "1s" },
      loss = { kind = "gauge", unit = "none", owner = "job", points = true, lateness = "1s" },
      n = { kind = "gauge", unit = "none", owner = "node", row = "1s", lateness = "1s" },
      duration = { kind = "gauge", unit = "seconds", owner = "rank", row = "1s", lateness = "1s" } })lua",
                        R"lua(
      rule "means" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = {
          a = signal "a" { over = "20s", least = 1 }, b = signal "b" { over = "60s", least = 1 }, e = signal "e" { over = "20s", least = 1 },
          duration = signal "duration" { over = "20s", least = 1 }, f = signal "f" { over = "20s", least = 1 }, g = signal "g" { over = "60s", least = 1 } },
        evaluate = function(job) return (job.a:mean() + job.b:max()):above(60) | (job.f:mean() + job.g:min()):above(40) | job.e:mean():above(20) | job.duration:mean():above("20s") end }
      rule "points" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = {
          c = signal "c" { over = 9, least = 1 }, d = signal "d" { over = 5, least = 1 } },
        evaluate = function(job) return (job.c:median() + job.d:last()):above(40) end }
      rule "ages" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = { a = signal "a" { over = "20s" }, b = signal "b" { over = "60s" } },
        evaluate = function(job) return job.a:older_than("7s") | job.b:older_than(3 * job.b:interval()) end }
      rule "steps" { summary = "s", shows = "rank {rank}", per = "rank", every = "5s", needs = {
          step = signal "step" { over = "20s", least = 1 }, gap = signal "step_gap" { over = 5, least = 1 } },
        evaluate = function(job) return job.step:last():above(40) | job.gap:median():above("2s") end }
      rule "loss" { summary = "s", shows = "loss", per = "job", every = "5s", needs = { loss = signal "loss" { over = 6, least = 1 } },
        evaluate = function(job) return job.loss:mean():above(26) end }
      rule "nodes" { summary = "s", shows = "node {node}", per = "node", every = "5s", needs = { n = signal "n" { over = "20s", least = 1 } },
        evaluate = function(job) return job.n:mean():above(25) end })lua");
}

// Layouts that share signals, members in and out of a row and new ones, aliases of units, values that fit a float and
// others, absent ones, late ones and such as are ahead.
GeneratedLog some_log(std::uint32_t seed) {
  std::mt19937 random{seed};
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  GeneratedLog log;
  const auto write = [&](EntryBuilder& b, double s) {
    log.messages.push_back({schemas::encode(b.entry()), SmallJob::at(s), "job"});
  };
  const std::vector<std::vector<std::string>> layouts{{"a", "b"},
                                                      {"c", "d", "e"},
                                                      {"a", "b", "c", "d", "e"},
                                                      {"a"},
                                                      {"d"},
                                                      {"b", "e"},
                                                      {"duration", "a"},
                                                      {"step", "a"},
                                                      {"step", "loss"},
                                                      {"step", "c", "loss"},
                                                      {"loss"},
                                                      {"step", "step_gap"},
                                                      {"f", "a", "g", "b"}};
  double s = 1, beat = 1;
  for (int message = 0; message < 1'500; ++message) {
    s += below(10) == 0 ? 0.7 : 0.03;
    for (; beat < s; ++beat) {
      EntryBuilder b;
      b.beat();
      write(b, beat);
    }
    EntryBuilder b;
    b.about("job");
    if (below(12) == 0) {
      const std::array value{EntryBuilder::Value{"n", static_cast<double>(below(50)), {}, false}};
      b.sample(SmallJob::at(s), {stream::Level::node, 0, "n" + std::to_string(below(3)), {}}, value);
      write(b, s);
      continue;
    }
    const auto& names = below(3) == 0   ? layouts[below(static_cast<unsigned>(layouts.size()))]
                        : below(2) == 0 ? layouts[2]
                                        : layouts.back();
    const bool alone = below(3) == 0 || &names == &layouts.back();
    const unsigned first = below(8 + static_cast<unsigned>(message) / 150), ranks = alone ? 1 : 8;
    const bool ranks_in_a_row = below(4) != 0, partial = below(6) == 0, narrow = below(2) == 0;
    const double time = s - (below(5) == 0 ? below(9) * 0.7 : 0) + (below(20) == 0 ? 0.5 : 0);
    const std::string_view unit = below(2) == 0 ? "milliseconds" : "seconds";
    const std::string source = below(9) == 0 ? "another" : "";
    for (unsigned i = 0; i < ranks; ++i) {
      std::vector<EntryBuilder::Value> values;
      for (const std::string& name : names) {
        if (partial && below(3) == 0) continue;
        values.push_back({name, below(50) + (narrow ? 0.5 : 0.1), name == "duration" ? unit : "", false});
      }
      if (!values.empty())
        b.sample(SmallJob::at(time), EntryBuilder::rank(first + (ranks_in_a_row ? i : 3 * i)), values, source);
    }
    write(b, s);
  }
  EntryBuilder b;
  b.beat();
  write(b, beat + 200);
  return log;
}

}  // namespace

TEST_CASE("blocks that are written signal by signal leave what each leaves by itself") {
  const stream::LoadedPack rules = pack();
  const std::uint32_t first = tocsin::test::seed();
  for (std::uint32_t seed = first; seed < first + 12; ++seed) {
    CAPTURE(seed);
    const GeneratedLog log = some_log(seed);
    const Judged by_itself = judge(log, rules, true, 0);
    CHECK(by_itself.reported.size() > 10);
    CHECK(by_itself.late > 10);
    CHECK(by_itself.corrected_times > 10);
    for (const std::size_t together : {2, 5, 40, 100'000}) {
      CAPTURE(together);
      CHECK(judge(log, rules, false, together) == by_itself);
    }
  }
}
