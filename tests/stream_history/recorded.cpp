#include "recorded.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include "tests/seed.h"

namespace tocsin::test {

bool operator==(const Recorded::Answer& a, const Recorded::Answer& b) {
  return a.tick == b.tick && a.node == b.node &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), [](double x, double y) {
           return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
         });
}

Recorded::Recorded(std::uint32_t ranks) {
  topology.expect_ranks(ranks);
  coverage.start(start);
}

SignalId Recorded::add(SignalDefinition definition) {
  const auto id = *table.add(std::move(definition));
  return id;
}

WindowSpec Recorded::window(std::string_view signal, Duration over, Duration lag, Duration settle) const {
  WindowSpec spec;
  spec.signal = *table.find(signal);
  spec.over = over;
  spec.lag = lag;
  spec.settle = settle;
  return spec;
}
WindowSpec Recorded::points(std::string_view signal, std::uint32_t n, std::uint32_t lag, Duration settle) const {
  WindowSpec spec;
  spec.signal = *table.find(signal);
  spec.span = WindowSpec::Span::points;
  spec.points = n;
  spec.lag_points = lag;
  spec.settle = settle;
  return spec;
}
WindowSpec Recorded::attempt(std::string_view signal, Duration settle) const {
  WindowSpec spec;
  spec.signal = *table.find(signal);
  spec.span = WindowSpec::Span::attempt;
  spec.settle = settle;
  return spec;
}

NodeId Recorded::reduce(const WindowSpec& spec, Op op, double number, std::string field, bool declared, double goal) {
  if (!graph) graph = std::make_unique<Graph>(table);
  const NodeId window = graph->window(spec);
  if (std::find(windows.begin(), windows.end(), window) == windows.end()) windows.push_back(window);
  std::vector<NodeId> arguments{window};
  if (op == Op::w_time_to) arguments.push_back(graph->constant(goal));
  Attributes attributes;
  attributes.number = number;
  attributes.field = std::move(field);
  const auto node = graph->apply(op, arguments, std::move(attributes));
  if (!node) throw std::runtime_error(node.error().message);
  reductions.push_back({*node, spec, declared, goal});
  return *node;
}

Retention Recorded::retention() const {
  std::vector<NodeId> declared;
  for (const Reduction& r : reductions)
    if (r.declared) declared.push_back(r.node);
  return {*graph, declared, windows, {}};
}

History Recorded::open() const { return History{std::make_shared<const Retention>(retention()), topology}; }

void Recorded::write(History& history, const Record& r) const {
  const SignalId id = *table.find(r.signal);
  if (table[id].kind == SignalKind::event) {
    const EventField code{"code", r.value};
    (void)history.event(id, r.slot, r.time, {&code, 1}, r.arrival, {0, r.sequence, 0});
  } else if (table[id].points || table[id].wide() || r.sequence % 2 == 0) {
    (void)history.sample(id, r.slot, r.time, r.value, r.arrival, {0, r.sequence, 0}, r.step, r.reporter);
  } else {
    const auto value = static_cast<float>(r.value);
    (void)history.samples(id, {&r.slot, 1}, r.time, {&value, 1}, r.arrival, {0, r.sequence, 0});
  }
}

void Recorded::tick(History& history, Time tick, std::vector<Answer>& answers) {
  for (const Reduction& r : reductions) {
    const Node& node = (*graph)[r.node];
    Answer answer{tick, r.node, std::vector<double>(topology.size(table[r.spec.signal].owner))};
    const std::vector<double> goals(answer.values.size(), r.goal);
    const Moment moment{tick, tick + r.spec.settle, start, never};
    Before& before = before_[r.node];
    const bool same = before.topology == topology.version() && history.same(before.reading, moment, coverage);
    history.reduce(node, r.spec, goals, moment, coverage, answer.values);
    if (same && !std::ranges::equal(before.values, answer.values, [](double a, double b) {
          return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
        }))
      throw std::runtime_error(graph->describe(r.node) + " changed, though it would read the same");
    kept += same;
    before = {history.reading(node, r.spec, moment, coverage), topology.version(), answer.values};
    answers.push_back(std::move(answer));
  }
}

std::vector<Recorded::Answer> Recorded::run(History& history, const std::vector<Record>& records, std::size_t from,
                                            std::size_t to, Time until) {
  std::vector<Answer> answers;
  before_.clear();
  const auto note = [this](const Applied& a) { applied.push_back(a); };
  const Duration settle = reductions.front().spec.settle;  // one for all
  const auto advance = [&](Time clock) {
    while (next_tick + settle <= clock || history.next_due() <= clock) {
      const Time due = std::min(next_tick + settle, history.next_due());
      if (history.next_due() <= due) history.settle(due, note);
      if (next_tick + settle > due) continue;
      tick(history, next_tick, answers);
      next_tick += every;
    }
    history.settle(clock, note);
  };
  for (std::size_t i = from; i < to; ++i) {
    advance(records[i].arrival);
    write(history, records[i]);
  }
  if (until != long_ago) advance(until);
  return answers;
}

void Recorded::fill(History& history, const std::vector<Record>& records, std::size_t to, Time clock,
                    Duration reach) const {
  const Time since = clock - reach;
  const auto nothing = [](const Applied&) {};
  History rows{std::make_shared<const Retention>(retention().rows()), topology};
  rows.need_rows_of(history, clock);
  for (std::size_t i = 0; i < to; ++i) {
    if (records[i].arrival < since) continue;
    rows.settle(records[i].arrival, nothing);
    rows.need_more(records[i].arrival);
    write(rows, records[i]);
  }
  rows.settle(clock, nothing);
  history.take_rows(rows);
}

std::vector<Record> random_records(std::uint64_t seed, std::span<const std::string> signals, std::uint32_t ranks,
                                   double seconds) {
  std::mt19937_64 random{seed};
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(random);
  };
  std::vector<Record> records;
  std::uint64_t sequence = 0;
  for (const std::string& signal : signals) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const double interval = rank == 1 ? 10 : rank == 2 ? 3 : 1;
      double grown = 0;
      double silent_from = uniform(0, seconds), silent_for = uniform(0, seconds / 3);
      for (double t = uniform(0.01, interval); t < seconds; t += interval * uniform(0.9, 1.1)) {
        if (t > silent_from && t < silent_from + silent_for) continue;
        Record r;
        r.signal = signal;
        r.slot = rank + 1;
        r.time = at(std::floor(t * 4) / 4);
        const double delay = uniform(0, 1) < 0.03 ? uniform(4, 9) : uniform(0, 2);
        r.arrival = at(std::ceil((t + delay) * 8) / 8);
        r.sequence = ++sequence;
        grown += std::floor(uniform(0, 5));
        if (uniform(0, 1) < 0.01) grown = 0;
        const double choice = uniform(0, 1);
        r.value = signal == "counter" || signal == "step" ? grown
                  : signal == "event"                     ? std::floor(uniform(0, 4))
                  : choice < 0.02                         ? measured_nan
                  : choice < 0.03                         ? std::numeric_limits<double>::infinity()
                  : choice < 0.2                          ? std::floor(uniform(-3, 3))
                                                          : static_cast<double>(static_cast<float>(uniform(-10, 100)));
        records.push_back(r);
        if (uniform(0, 1) < 0.05) {  // another for the same row, or the same once more
          r.sequence = ++sequence;
          r.arrival += std::chrono::milliseconds{125 * static_cast<int>(uniform(0, 20))};
          if (uniform(0, 1) < 0.5) r.value = static_cast<double>(static_cast<float>(uniform(-10, 100)));
          records.push_back(r);
        }
      }
    }
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.arrival < b.arrival; });
  return records;
}

std::uint64_t seed_of_run() { return seed(20240611); }

}  // namespace tocsin::test
