// What must not matter: where a run is cut, how far the clock leaps at once, what was declared, the order of arrivals.
#include <doctest/doctest.h>

#include <iostream>

#include "recorded.h"

using namespace tocsin::test;

namespace {

SignalDefinition signal(std::string name, SignalKind kind = SignalKind::gauge, bool points = false,
                        Duration lateness = 5s) {
  SignalDefinition definition;
  definition.name = std::move(name);
  definition.kind = kind;
  definition.points = points;
  definition.lateness = lateness;
  definition.source = "collector";
  if (kind == SignalKind::event) definition.fields.push_back({"code", "none"});
  return definition;
}

const std::vector<std::string> everything{"gauge", "quick", "dots", "counter", "step", "event"};

void ask(Recorded& recorded, const WindowSpec& spec, std::initializer_list<Op> ops, bool declared = true) {
  for (const Op op : ops) recorded.reduce(spec, op, op == Op::w_quantile ? 0.9 : 0, {}, declared);
}

void prepare(Recorded& recorded) {
  recorded.add(signal("gauge"));
  recorded.add(signal("quick", SignalKind::gauge, false, 1s));
  recorded.add(signal("dots", SignalKind::gauge, true, 2s));
  recorded.add(signal("counter", SignalKind::counter));
  recorded.add(signal("step", SignalKind::step, false, 2s));
  recorded.add(signal("step_gap", SignalKind::gauge, true, 1s));
  recorded.add(signal("event", SignalKind::event, false, 1s));
}

void ask_all(Recorded& recorded, bool declared = true) {
  const auto order = {Op::w_median, Op::w_quantile, Op::w_mad};
  const auto sums = {Op::w_mean,  Op::w_min,       Op::w_max,     Op::w_stddev, Op::w_slope, Op::w_last,    Op::w_first,
                     Op::w_count, Op::w_nonfinite, Op::w_kendall, Op::w_cusum,  Op::w_age,   Op::w_interval};
  for (const auto& spec :
       {recorded.window("gauge", 30s), recorded.window("gauge", 45s, 15s), recorded.window("quick", 20s, 5s),
        recorded.window("gauge", 6min), recorded.window("gauge", 10min, 1min), recorded.points("dots", 12),
        recorded.points("dots", 30, 4), recorded.points("step_gap", 20), recorded.window("counter", 60s)}) {
    ask(recorded, spec, order, declared);
    if (recorded.table[spec.signal].kind != SignalKind::counter) ask(recorded, spec, sums, declared);
  }
  for (const auto& spec :
       {recorded.window("gauge", 100s, 20s), recorded.window("quick", 150s), recorded.window("step", 45s)})
    ask(recorded, spec, {Op::w_last, Op::w_age}, declared);
  for (const auto& spec : {recorded.attempt("gauge"), recorded.attempt("dots")}) {
    ask(recorded, spec, order, declared);
    ask(recorded, spec, sums, declared);
  }
  ask(recorded, recorded.attempt("step"), {Op::w_last, Op::w_first, Op::w_delta, Op::w_count, Op::w_age}, declared);
  ask(recorded, recorded.window("step", 30s), {Op::w_last, Op::w_delta}, declared);
  for (auto spec : {recorded.window("event", 60s), recorded.attempt("event")}) {
    for (const bool filtered : {false, true}) {
      if (filtered) spec.filters = {{"code", {Scalar{1.0}, Scalar{3.0}}, true}};
      ask(recorded, spec, {Op::w_count, Op::w_age}, declared);
      recorded.reduce(spec, Op::w_last, 0, "code", declared);
      recorded.reduce(spec, Op::w_first, 0, "code", declared);
      recorded.reduce(spec, Op::w_repeats, 0, "code", declared);
    }
  }
}

void listen(Recorded& recorded) {
  recorded.coverage.extend("collector", Level::job, 0, at(0));
  for (double t = 0; t < 4000; t += 20) recorded.coverage.extend("collector", Level::job, 0, at(t));
}

void check_same(const Recorded& recorded, const std::vector<Recorded::Answer>& a,
                const std::vector<Recorded::Answer>& b, std::uint64_t seed) {
  REQUIRE(a.size() == b.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (++wrong > 5) continue;
    std::string values;
    for (std::size_t s = 0; s < a[i].values.size(); ++s)
      values += " " + std::to_string(a[i].values[s]) + "/" + std::to_string(b[i].values[s]);
    const auto& spec = *recorded.graph->operator[]((*recorded.graph)[a[i].node].arguments[0]).attributes.window;
    FAIL_CHECK("seed ", seed, ": ", recorded.graph->describe(a[i].node), " of ", recorded.table[spec.signal].name,
               " over ", seconds(spec.over), " span ", static_cast<int>(spec.span), " at ",
               seconds(a[i].tick - recorded.start), ":", values);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a run that is cut anywhere and restarted from its snapshot gives the same answers to the bit") {
  const std::uint64_t first = seed_of_run();
  for (std::uint64_t seed = first; seed < first + 6; ++seed) {
    Recorded recorded;
    prepare(recorded);
    ask_all(recorded);
    recorded.reduce(recorded.window("gauge", 6min), Op::w_fraction, 5);
    recorded.reduce(recorded.attempt("dots"), Op::w_fraction, 5);
    recorded.reduce(recorded.attempt("gauge"), Op::w_ewma, 8);
    listen(recorded);
    const auto records = random_records(seed, everything, 5, 900);
    History whole = recorded.open();
    std::vector<Recorded::Answer> uninterrupted;
    const std::size_t cut = 1 + std::mt19937_64{seed}() % (records.size() - 2);
    (void)recorded.run(whole, records, 0, cut);
    const Time clock = records[cut - 1].arrival, next_tick = recorded.next_tick;
    Writer out;
    whole.save(out);
    uninterrupted = recorded.run(whole, records, cut, records.size(), records.back().arrival + 20s);

    History again = recorded.open();
    Reader restored{out.bytes()};
    REQUIRE(again.load(restored));
    recorded.fill(again, records, cut, clock, whole.reach());
    recorded.next_tick = next_tick;
    const auto resumed = recorded.run(again, records, cut, records.size(), records.back().arrival + 20s);
    check_same(recorded, uninterrupted, resumed, seed);
    CHECK(again.rows_digest() == whole.rows_digest());
    // Cut once more, right after the restore.
    History third = recorded.open();
    Reader in{out.bytes()};
    REQUIRE(third.load(in));
    recorded.fill(third, records, cut, clock, whole.reach());
    Writer once_more;
    third.save(once_more);
    History fourth = recorded.open();
    Reader in_again{once_more.bytes()};
    REQUIRE(fourth.load(in_again));
    recorded.fill(fourth, records, cut, clock, whole.reach());
    recorded.next_tick = next_tick;
    check_same(recorded, uninterrupted,
               recorded.run(fourth, records, cut, records.size(), records.back().arrival + 20s), seed);
  }
}

TEST_CASE("reductions that were not declared answer as those that were") {
  const std::uint64_t seed = seed_of_run() + 200;
  std::vector<Recorded::Answer> answers[2];
  const auto records = random_records(seed, everything, 4, 800);
  for (const bool declared : {false, true}) {
    Recorded recorded;
    prepare(recorded);
    ask_all(recorded, declared);
    listen(recorded);
    History history = recorded.open();
    answers[declared] = recorded.run(history, records, 0, records.size(), records.back().arrival + 20s);
    if (declared) check_same(recorded, answers[0], answers[1], seed);
  }
}

TEST_CASE("arrivals shuffled within the lateness close the same rows") {
  const std::uint64_t seed = seed_of_run() + 300;
  std::uint64_t digests[2];
  for (const bool shuffled : {false, true}) {
    Recorded recorded;
    prepare(recorded);
    ask_all(recorded);
    auto records = random_records(seed, std::vector<std::string>{"gauge", "quick", "counter", "step"}, 8, 400);
    std::mt19937_64 random{seed};
    for (Record& r : records) {
      const double lateness = r.signal == "quick" ? 0.9 : r.signal == "step" ? 1.9 : 4.9;
      const double delay = std::uniform_real_distribution<double>{0, lateness}(random);
      r.arrival =
          r.time + std::chrono::nanoseconds{static_cast<std::int64_t>((shuffled ? delay : lateness - delay) * 1e9)};
    }
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.arrival < b.arrival; });
    History history = recorded.open();
    (void)recorded.run(history, records, 0, records.size(), at(500));
    digests[shuffled] = history.rows_digest();
  }
  CHECK(digests[0] == digests[1]);
  CHECK(digests[0] != 0);
}

TEST_CASE("a history of another pack takes over what both retain and goes on as if nothing had happened") {
  const std::uint64_t seed = seed_of_run() + 400;
  const auto records = random_records(seed, everything, 4, 900);
  Recorded recorded;
  prepare(recorded);
  ask_all(recorded);
  listen(recorded);
  History kept = recorded.open();
  (void)recorded.run(kept, records, 0, records.size() / 2);
  Writer out;
  const Time next_tick = recorded.next_tick;
  History again = recorded.open();
  kept.save(out);
  const auto a = recorded.run(kept, records, records.size() / 2, records.size());

  recorded.next_tick = at(5);
  History before = recorded.open();
  (void)recorded.run(before, records, 0, records.size() / 2);
  recorded.next_tick = next_tick;
  again.adopt(before);
  check_same(recorded, a, recorded.run(again, records, records.size() / 2, records.size()), seed);
}

TEST_CASE("a history of another pack goes on in windows of which that pack maintained other reductions") {
  const std::uint64_t seed = seed_of_run() + 500;
  const auto records = random_records(seed, std::vector<std::string>{"gauge", "quick", "dots", "counter"}, 4, 900);
  const std::vector<Op> orders{Op::w_median, Op::w_mad}, one_order{Op::w_median},
      folds{Op::w_mean, Op::w_min, Op::w_max}, one_fold{Op::w_max};
  const auto opened = [&](Recorded& recorded, const std::vector<Op>& ordered, const std::vector<Op>& folded,
                          bool last_alone) {
    prepare(recorded);
    recorded.reduce(recorded.window("gauge", 200s), Op::w_last);
    if (!last_alone) recorded.reduce(recorded.window("gauge", 200s), Op::w_mean);
    for (const auto& spec :
         {recorded.window("gauge", 30s), recorded.window("quick", 20s, 5s), recorded.window("gauge", 6min),
          recorded.points("dots", 12), recorded.window("counter", 60s)}) {
      for (const Op op : ordered) recorded.reduce(spec, op, 0, {});
      for (const Op op : folded)
        if (!spec.baseline() || op == Op::w_mean) recorded.reduce(spec, op, 0, {});  // panes have what was asked for
    }
    listen(recorded);
    return recorded.open();
  };
  Recorded whole;
  History kept = opened(whole, orders, folds, true);
  (void)whole.run(kept, records, 0, records.size() / 2);
  const Time next_tick = whole.next_tick;
  const auto expected = whole.run(kept, records, records.size() / 2, records.size());
  using Asked = std::pair<std::vector<Op>, std::vector<Op>>;
  for (const auto& [ordered, folded] : {Asked{orders, one_fold}, Asked{one_order, folds}, Asked{{}, folds},
                                        Asked{orders, {}}, Asked{one_order, one_fold}}) {
    CAPTURE(ordered.size());
    CAPTURE(folded.size());
    Recorded less, more;
    History before = opened(less, ordered, folded, false), after = opened(more, orders, folds, true);
    (void)less.run(before, records, 0, records.size() / 2);
    after.adopt(before);
    more.next_tick = next_tick;
    check_same(more, expected, more.run(after, records, records.size() / 2, records.size()), seed);
  }
}

TEST_CASE("a torn snapshot is refused and never read past its end") {
  Recorded recorded;
  prepare(recorded);
  ask_all(recorded);
  History history = recorded.open();
  const auto records = random_records(7, everything, 3, 200);
  (void)recorded.run(history, records, 0, records.size());
  Writer out;
  history.save(out);
  for (std::size_t size = 0; size < out.bytes().size(); size += 1 + out.bytes().size() / 97) {
    History torn = recorded.open();
    Reader in{out.bytes().first(size)};
    CHECK_FALSE(torn.load(in));
  }
}
