#include <doctest/doctest.h>

#include <cmath>
#include <iostream>

#include "recorded.h"
#include "tests/oracle/series.h"

using namespace tocsin::test;

namespace {

SignalDefinition signal(std::string name, SignalKind kind = SignalKind::gauge, bool points = false) {
  SignalDefinition definition;
  definition.name = std::move(name);
  definition.kind = kind;
  definition.points = points;
  definition.source = "collector";
  return definition;
}

constexpr std::initializer_list<Op> plain = {Op::w_mean,      Op::w_min,     Op::w_max,   Op::w_median, Op::w_mad,
                                             Op::w_sum,       Op::w_stddev,  Op::w_slope, Op::w_delta,  Op::w_rate,
                                             Op::w_theil_sen, Op::w_kendall, Op::w_cusum, Op::w_count,  Op::w_interval,
                                             Op::w_nonfinite, Op::w_last,    Op::w_first};

void ask_everything(Recorded& recorded, const WindowSpec& spec, bool declared = true) {
  for (const Op op : plain) recorded.reduce(spec, op, 0, {}, declared);
  recorded.reduce(spec, Op::w_quantile, 0.9, {}, declared);
  recorded.reduce(spec, Op::w_last, 5, {}, declared);
  recorded.reduce(spec, Op::w_first, 4, {}, declared);
  recorded.reduce(spec, Op::w_time_to, 0, {}, declared, 60);
  recorded.reduce(spec, Op::w_ewma, 8, {}, declared);
  recorded.reduce(spec, Op::w_fraction, 5, {}, declared);
}

// Windows whose accumulators are approximate by design.
bool approximate(const Recorded& recorded, const Recorded::Reduction& r) {
  if (r.spec.span != WindowSpec::Span::attempt) return false;
  const Op op = (*recorded.graph)[r.node].op;
  return op == Op::w_median || op == Op::w_mad || op == Op::w_quantile || op == Op::w_theil_sen ||
         op == Op::w_kendall || op == Op::w_cusum || op == Op::w_time_to;
}

void compare_with_oracle(Recorded& recorded, const std::vector<Record>& records, std::uint64_t seed) {
  recorded.coverage.extend("collector", Level::job, 0, at(0));
  for (double t = 0; t < 2000; t += 20) recorded.coverage.extend("collector", Level::job, 0, at(t));
  const tocsin::oracle::WindowOracle oracle{{recorded.table, recorded.start, records, [](auto&&...) { return true; },
                                             [](const std::string&) { return std::nullopt; }}};
  History history = recorded.open();
  recorded.next_tick = at(5);
  const auto answers = recorded.run(history, records, 0, records.size(), records.back().arrival + 30s);
  REQUIRE(!answers.empty());
  std::size_t known = 0, wrong = 0, at_answer = 0;
  for (const auto& answer : answers) {
    const auto& reduction = recorded.reductions[at_answer++ % recorded.reductions.size()];
    REQUIRE(reduction.node == answer.node);
    if (approximate(recorded, reduction)) continue;
    // Not every tick, the oracle is slow.
    if ((nanoseconds(answer.tick) / 5'000'000'000) % 7 != 0) continue;
    for (Slot slot = 0; slot < answer.values.size(); ++slot) {
      const auto expected = oracle.reduce((*recorded.graph)[answer.node], reduction.goal, slot, answer.tick,
                                          answer.tick + reduction.spec.settle);
      if (expected) ++known;
      if (tocsin::oracle::near((*recorded.graph)[answer.node].op, expected, answer.values[slot])) continue;
      if (++wrong > 8) continue;
      FAIL_CHECK(
          "seed ", seed, ": ", recorded.graph->describe(answer.node), " of ",
          recorded.table[reduction.spec.signal].name, " over ", seconds(reduction.spec.over), " slot ", slot, " at ",
          seconds(answer.tick - recorded.start), ": ", answer.values[slot], ", expected ", expected.value_or(absent),
          ", usual ", oracle.usual(reduction.spec.signal, slot, answer.tick + reduction.spec.settle).value_or(absent),
          " rows ",
          oracle.rows(reduction.spec.signal, slot, answer.tick - reduction.spec.over, answer.tick, answer.tick + 5s)
              .size());
    }
  }
  CHECK(wrong == 0);
  CHECK(known > 400);
}

}  // namespace

TEST_CASE("every reduction of raw rows is that of a naive recomputation, whatever the order of arrivals") {
  const std::uint64_t seed = seed_of_run();
  Recorded recorded;
  recorded.add(signal("gauge"));
  ask_everything(recorded, recorded.window("gauge", 30s));
  ask_everything(recorded, recorded.window("gauge", 60s, 20s));
  compare_with_oracle(recorded, random_records(seed, std::vector<std::string>{"gauge"}, 6, 700), seed);
}

TEST_CASE("every reduction of points is that of a naive recomputation") {
  const std::uint64_t seed = seed_of_run() + 1;
  Recorded recorded;
  recorded.add(signal("dots", SignalKind::gauge, true));
  ask_everything(recorded, recorded.points("dots", 8));
  ask_everything(recorded, recorded.points("dots", 40, 5));
  ask_everything(recorded, recorded.attempt("dots"));
  compare_with_oracle(recorded, random_records(seed, std::vector<std::string>{"dots"}, 6, 700), seed);
}

TEST_CASE("every reduction of a baseline is that of its panes, and of an attempt that of its rows") {
  const std::uint64_t seed = seed_of_run() + 2;
  Recorded recorded;
  recorded.add(signal("gauge"));
  ask_everything(recorded, recorded.window("gauge", 6min));
  for (const Op op : plain)
    if (op != Op::w_first) recorded.reduce(recorded.window("gauge", 10min, 2min), op);
  ask_everything(recorded, recorded.attempt("gauge"));
  compare_with_oracle(recorded, random_records(seed, std::vector<std::string>{"gauge"}, 4, 1500), seed);
}

TEST_CASE("counters become rates as their rows close, and a reset gives none") {
  const std::uint64_t seed = seed_of_run() + 3;
  Recorded recorded;
  recorded.add(signal("counter", SignalKind::counter));
  for (const Op op : {Op::w_mean, Op::w_max, Op::w_min, Op::w_median, Op::w_count})
    recorded.reduce(recorded.window("counter", 60s), op);
  compare_with_oracle(recorded, random_records(seed, std::vector<std::string>{"counter"}, 6, 700), seed);
}

TEST_CASE("steps are kept in double and answer over the attempt") {
  const std::uint64_t seed = seed_of_run() + 4;
  Recorded recorded;
  recorded.add(signal("step", SignalKind::step));
  for (const Op op : {Op::w_last, Op::w_first, Op::w_delta, Op::w_count, Op::w_min, Op::w_max, Op::w_interval}) {
    recorded.reduce(recorded.attempt("step"), op);
    recorded.reduce(recorded.window("step", 60s), op);
  }
  compare_with_oracle(recorded, random_records(seed, std::vector<std::string>{"step"}, 6, 500), seed);
}

TEST_CASE("answers that are known to be those of the tick before are, while records are few") {
  const std::uint64_t seed = seed_of_run() + 5;
  Recorded recorded;
  recorded.add(signal("gauge"));
  recorded.add(signal("dots", SignalKind::gauge, true));
  for (WindowSpec spec : {recorded.window("gauge", 30s), recorded.window("gauge", 60s, 20s),
                          recorded.window("gauge", 6min), recorded.window("gauge", 10min, 2min),
                          recorded.attempt("gauge"), recorded.points("dots", 8, 2), recorded.attempt("dots")}) {
    for (const Op op : {Op::w_last, Op::w_mean, Op::w_count, Op::w_median}) recorded.reduce(spec, op);
    spec.full = true;
    if (spec.span != WindowSpec::Span::attempt) recorded.reduce(spec, Op::w_max);
  }
  std::vector<Record> few;
  for (const Record& record : random_records(seed, std::vector<std::string>{"gauge", "dots"}, 3, 6000))
    if (record.sequence % 97 == 0 || (record.sequence > 4000 && record.sequence < 4200)) few.push_back(record);
  for (double t = 0; t < 6000; t += t < 3000 ? 20 : 70)  // later, coverage breaks off again and again
    recorded.coverage.extend("collector", Level::job, 0, at(t));
  History history = recorded.open();
  recorded.next_tick = at(5);
  const auto answers = recorded.run(history, few, 0, few.size(), few.back().arrival + 30s);
  CHECK(recorded.kept > answers.size() / 4);
  CHECK(recorded.kept < answers.size());
}
