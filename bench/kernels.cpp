// What one pass of each kernel costs over the columns of a job of 1,024 ranks, and of 16,384.
#include "stream/graph/kernels.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace tocsin::stream;

namespace {

struct Columns {
  explicit Columns(std::size_t n) : a(n), b(n), out(n), mask(n), other(n), answers(n) {
    std::mt19937_64 random{5};
    for (std::size_t i = 0; i < n; ++i) {
      const auto draw = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
      a[i] = random() % 64 ? draw() : absent;
      b[i] = 0.5 + draw();
      mask[i] = static_cast<Truth>(random() % 3);
      other[i] = static_cast<Truth>(random() % 3);
    }
  }
  std::vector<double> a, b, out;
  std::vector<Truth> mask, other, answers;
};

using Run = void (*)(const Kernels&, Columns&, std::size_t);
struct Kernel {
  const char* name;
  Run run;
};

template <class T>
void keep(T value) {
  benchmark::DoNotOptimize(value);
}

const Kernel all[] = {
    {"add", [](const Kernels& k, Columns& c, std::size_t n) { k.add({c.a.data()}, {c.b.data()}, c.out.data(), n); }},
    {"divide",
     [](const Kernels& k, Columns& c, std::size_t n) { k.divide({c.a.data()}, {c.b.data()}, c.out.data(), n); }},
    {"log", [](const Kernels& k, Columns& c, std::size_t n) { k.log(c.a.data(), c.out.data(), n); }},
    {"above",
     [](const Kernels& k, Columns& c, std::size_t n) { k.above({c.a.data()}, {c.b.data()}, c.answers.data(), n); }},
    {"conjunction",
     [](const Kernels& k, Columns& c, std::size_t n) {
       const MaskOperand masks[] = {{c.mask.data()}, {c.other.data()}};
       k.conjunction(masks, 2, c.answers.data(), n);
     }},
    {"choose", [](const Kernels& k, Columns& c,
                  std::size_t n) { k.choose({c.mask.data()}, {c.a.data()}, {c.b.data()}, c.out.data(), n); }},
    {"tally", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.tally(c.mask.data(), n)); }},
    {"sum", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.sum(c.a.data(), n)); }},
    {"max", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.max(c.a.data(), n)); }},
    {"count", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.count_known(c.a.data(), n)); }},
    {"median", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.quantile(c.a.data(), n, 0.5, c.out.data())); }},
    {"median_dense",
     [](const Kernels& k, Columns& c, std::size_t n) { keep(k.quantile(c.b.data(), n, 0.5, c.out.data())); }},
    {"mad", [](const Kernels& k, Columns& c, std::size_t n) { keep(k.mad(c.a.data(), n, c.out.data())); }},
};

// What the median stands beside, over ever other columns: on one alone the branches are soon learned by heart.
void nth_element(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::mt19937_64 random{9};
  std::vector<double> values(64 * n), column(n);
  for (double& x : values) x = static_cast<double>(random() >> 11);
  for (std::size_t at = 0; auto _ : state) {
    column.assign(values.data() + at, values.data() + at + n);
    at = (at + n) % values.size();
    std::nth_element(column.begin(), column.begin() + state.range(0) / 2, column.end());
    keep(column[n / 2]);
  }
}
void median_of_many(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::mt19937_64 random{9};
  std::vector<double> values(64 * n), scratch(n);
  for (double& x : values) x = static_cast<double>(random() >> 11);
  for (std::size_t at = 0; auto _ : state) {
    keep(kernels().quantile(values.data() + at, n, 0.5, scratch.data()));
    at = (at + n) % values.size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto* name : {"avx2", "baseline"}) {
    if (!choose_kernels(name)) continue;
    const Kernels& set = kernels();
    for (const auto& kernel : all)
      benchmark::RegisterBenchmark((std::string{name} + "/" + kernel.name).c_str(),
                                   [&set, run = kernel.run](benchmark::State& state) {
                                     const auto n = static_cast<std::size_t>(state.range(0));
                                     Columns columns(n);
                                     for (auto _ : state) {
                                       run(set, columns, n);
                                       benchmark::ClobberMemory();
                                     }
                                   })
          ->Arg(1024)
          ->Arg(16'384);
  }
  (void)choose_kernels("avx2");
  benchmark::RegisterBenchmark("median_of_many", median_of_many)->Arg(1024)->Arg(16'384);
  benchmark::RegisterBenchmark("nth_element", nth_element)->Arg(1024)->Arg(16'384);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
