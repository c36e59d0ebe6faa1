// What it costs to write samples into rows, to keep windows up, to read them at a tick, and to hold them.
#include <benchmark/benchmark.h>

#include <optional>
#include <random>

#include "stream/windows/history.h"

using namespace tocsin::stream;
using namespace std::chrono_literals;

namespace {

constexpr Time start = at_nanoseconds(1'700'000'000'000'000'000);

struct Job {
  Job(std::uint32_t ranks_, std::uint32_t signals, Duration over, std::initializer_list<Op> ops, bool points = false)
      : ranks(ranks_) {
    topology.expect_ranks(ranks);
    for (std::uint32_t s = 0; s < signals; ++s) {
      SignalDefinition definition;
      definition.name = "s" + std::to_string(s);
      definition.points = points;
      (void)table.add(definition);
    }
    graph.emplace(table);
    for (std::uint32_t s = 0; s < signals; ++s) {
      WindowSpec spec;
      spec.signal = static_cast<SignalId>(s);
      spec.over = over;
      spec.settle = 5s;
      if (points) spec.span = WindowSpec::Span::points, spec.points = 90;
      windows.push_back(graph->window(spec));
      for (const Op op : ops) reductions.push_back(*graph->apply(op, std::array{windows.back()}));
    }
    history.emplace(*graph, reductions, windows, topology);
    for (Slot slot = 1; slot <= ranks; ++slot) slots.push_back(slot);
    std::mt19937 random{5};
    values.resize(ranks);
    for (float& v : values) v = std::uniform_real_distribution<float>{0, 1}(random);
  }
  // One second of every signal, in messages of `batch` ranks.
  void second(std::size_t batch) {
    now += 1s;
    for (std::uint32_t s = 0; s < table.size(); ++s)
      for (std::size_t from = 0; from < ranks; from += batch) {
        const std::size_t n = std::min<std::size_t>(batch, ranks - from);
        history->settle(now, [](const Applied&) {});
        (void)history->samples(static_cast<SignalId>(s), std::span{slots}.subspan(from, n), now,
                               std::span{values}.subspan(from, n), now, {0, 1, 0});
      }
    std::rotate(values.begin(), values.begin() + 1, values.end());
  }
  void read(std::size_t i, std::vector<double>& out) {
    const Node& node = (*graph)[reductions[i]];
    out.resize(topology.size(Level::rank));
    const Time tick = now - 5s;
    history->reduce(node, *(*graph)[node.arguments[0]].attributes.window, {}, {tick, now, start, never}, coverage, out);
  }

  std::uint32_t ranks;
  SignalTable table;
  std::optional<Graph> graph;
  Topology topology;
  SourceCoverage coverage;
  std::vector<NodeId> windows, reductions;
  std::optional<History> history;
  std::vector<Slot> slots;
  std::vector<float> values;
  Time now = start;
};

void write_batches(benchmark::State& state) {
  Job job(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)), 30s, {Op::w_mean});
  for (int i = 0; i < 60; ++i) job.second(1000);
  for (auto _ : state) job.second(static_cast<std::size_t>(state.range(2)));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
  state.counters["bytes/sample"] =
      static_cast<double>(job.history->retained_bytes()) / static_cast<double>(job.history->retained_samples());
}
BENCHMARK(write_batches)
    ->ArgNames({"ranks", "signals", "batch"})
    ->Args({1000, 1, 1000})
    ->Args({1000, 50, 1000})
    ->Args({16384, 50, 1000})
    ->Args({1000, 50, 50})
    ->Args({1000, 1, 8});

void write_singly(benchmark::State& state) {
  Job job(1000, static_cast<std::uint32_t>(state.range(0)), 30s, {Op::w_mean});
  for (int i = 0; i < 60; ++i) job.second(1000);
  for (auto _ : state) {
    job.now += 1s;
    for (Slot slot = 1; slot <= 1000; ++slot)
      for (std::uint32_t s = 0; s < job.table.size(); ++s) {
        job.history->settle(job.now, [](const Applied&) {});
        (void)job.history->sample(static_cast<SignalId>(s), slot, job.now, 0.5, job.now, {0, 1, 0});
      }
  }
  state.SetItemsProcessed(state.iterations() * 1000 * state.range(0));
}
BENCHMARK(write_singly)->ArgName("signals")->Arg(1)->Arg(50);

void keep_order_up(benchmark::State& state) {
  Job job(1024, 1, std::chrono::seconds{state.range(0)}, {Op::w_median});
  for (int i = 0; i < 400; ++i) job.second(1024);
  for (auto _ : state) job.second(1024);
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(keep_order_up)->ArgName("rows")->Arg(30)->Arg(90)->Arg(300);

void points_in(benchmark::State& state) {
  Job job(1024, 1, 30s, {Op::w_median}, true);
  for (int i = 0; i < 100; ++i) job.second(1024);
  for (auto _ : state) job.second(1024);
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(points_in);

void read_window(benchmark::State& state) {
  const Op op = static_cast<Op>(state.range(1));
  Job job(1024, 1, std::chrono::seconds{state.range(0)}, {op});
  for (int i = 0; i < 400; ++i) job.second(1024);
  std::vector<double> out;
  for (auto _ : state) {
    job.read(0, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetLabel(std::string{operation(op).name});
}
BENCHMARK(read_window)
    ->ArgNames({"seconds", "op"})
    ->Args({30, static_cast<int>(Op::w_mean)})
    ->Args({120, static_cast<int>(Op::w_mean)})
    ->Args({30, static_cast<int>(Op::w_max)})
    ->Args({30, static_cast<int>(Op::w_last)})
    ->Args({30, static_cast<int>(Op::w_count)})
    ->Args({30, static_cast<int>(Op::w_delta)})
    ->Args({30, static_cast<int>(Op::w_age)})
    ->Args({90, static_cast<int>(Op::w_median)})
    ->Args({90, static_cast<int>(Op::w_mad)})
    ->Args({30, static_cast<int>(Op::w_stddev)})
    ->Args({30, static_cast<int>(Op::w_interval)})
    ->Args({900, static_cast<int>(Op::w_median)})
    ->Args({900, static_cast<int>(Op::w_mean)});

void hold(benchmark::State& state) {
  Job job(4096, 1, std::chrono::seconds{state.range(0)}, {Op::w_mean});
  for (int i = 0; i < 400; ++i) job.second(1024);
  for (auto _ : state) benchmark::DoNotOptimize(job.history->retained_bytes());
  state.counters["bytes/sample"] =
      static_cast<double>(job.history->retained_bytes()) / static_cast<double>(job.history->retained_samples());
}
BENCHMARK(hold)->ArgName("seconds")->Arg(30)->Arg(120)->Arg(300);

}  // namespace

BENCHMARK_MAIN();
