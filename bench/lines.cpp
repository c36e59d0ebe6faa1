// Log lines through all shipped patterns and parsers, against a bare Vectorscan scan of the same lines with the same
// database, in one run: by the share of lines that are progress. `wild`: the lines of logs of others, where the corpora
// are.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/counted.h"
#include "dsl/load/text_definitions.h"
#include "dsl/text/scanner.h"

using namespace tocsin;

namespace {

class Counted final : public stream::Extracted {
 public:
  void sample(stream::Time, const stream::MemberKey&, std::string_view, double value, std::string_view) override {
    sum += value;
    ++count;
  }
  void sample(stream::Time, const stream::MemberKey&, std::string_view, std::string_view, std::string_view) override {
    ++count;
  }
  void event(const stream::EventRecord&) override { ++count; }
  double sum = 0;
  std::size_t count = 0;
};

const dsl::TextDefinitions& definitions() {
  static const dsl::TextDefinitions read = [] {
    std::map<std::string, std::string> files;
    for (const char* folder : {"patterns", "progress"})
      for (const auto& entry :
           std::filesystem::directory_iterator(std::filesystem::path(TOCSIN_SOURCE_DIR) / "rules" / folder)) {
        std::ifstream in(entry.path());
        files[std::string(folder) + "/" + entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
      }
    return dsl::read_text_definitions(files);
  }();
  return read;
}

stream::Extraction& extraction_of_all() {
  static const auto opened = dsl::text::compile(definitions().definitions).extraction->open();
  return *opened;
}

// Lines as jobs print them: ordinary ones, and progress of several frameworks.
std::vector<std::string> lines(double progress) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<std::string> out;
  for (int i = 0; i < 20'000; ++i) {
    char text[512];
    const int rank = static_cast<int>(random() % 64);
    const double loss = 2 + chance(random);
    if (chance(random) < progress) {
      switch (random() % 5) {
        case 0:
          std::snprintf(text, sizeof text,
                        " [2026-02-03 04:05:06.%06d] iteration %8d/  500000 | consumed samples: %12d | elapsed time "
                        "per iteration (ms): "
                        "%.1f | learning rate: 1.250000E-04 | global batch size:  1024 | lm loss: %.6E | loss scale: "
                        "1.0 | grad norm: %.3f "
                        "| number of skipped iterations:   0 | number of nan iterations:   0 |",
                        i, i, i * 1024, 900 + 100 * loss, loss, loss / 2);
          break;
        case 1:
          std::snprintf(text, sizeof text,
                        "{'loss': %.4f, 'grad_norm': %.16f, 'learning_rate': 4.5833e-05, 'epoch': %.2f}", loss,
                        loss / 3, i / 1000.0);
          break;
        case 2:
          std::snprintf(text, sizeof text, "iter %d: loss %.4f, time %.2fms, mfu 31.66%%", i, loss, 100 + loss);
          break;
        case 3:
          std::snprintf(text, sizeof text,
                        "[rank%d]:[titan] 2026-02-03 04:05:06,338 - root - INFO - step: %d  loss: %8.5f  grad_norm: "
                        "%7.4f  memory:  "
                        "9.46GiB(64.99%%)  tps: 7,282  tflops: 0.52  mfu: 0.17%%",
                        rank, i, loss, loss / 2);
          break;
        default:
          std::snprintf(text, sizeof text,
                        "[rank %d] step %d | loss %.4f | grad_norm 1.20 | lr 3.0e-04 | step_time %.3f | compute 0.150 "
                        "| data 0.004 | comm 0.058",
                        rank, i, loss, loss / 10);
      }
    } else {
      switch (random() % 6) {
        case 0:
          std::snprintf(text, sizeof text,
                        "n%d:5776:5902 [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read", rank,
                        rank % 8, rank % 32, rank, rank % 8, rank + 1, (rank + 1) % 8);
          break;
        case 1:
          std::snprintf(text, sizeof text,
                        "[2026-02-03 04:05:06,%03d] [INFO] [utils.py:781:see_memory_usage] MA %.2f GB         Max_MA "
                        "%.2f GB         CA "
                        "%.2f GB         Max_CA 72 GB",
                        i % 1000, loss * 10, loss * 11, loss * 12);
          break;
        case 2:
          std::snprintf(text, sizeof text,
                        "time (ms) | forward-compute: %.2f | backward-compute: %.2f | backward-params-all-reduce: %.2f "
                        "| optimizer: %.2f | "
                        "batch-generator: %.2f",
                        loss * 40, loss * 80, loss, loss * 2, loss / 5);
          break;
        case 3:
          std::snprintf(text, sizeof text,
                        "2026-02-03 04:05:06 | INFO | tokenizer | worker %d read shard %06d.bin with %d documents of "
                        "which %d were too long",
                        rank, i, i * 31 % 9973, i % 17);
          break;
        case 4:
          std::snprintf(text, sizeof text, "[rank%d]: loading shard %d of 64 from /data/corpus/part-%05d.parquet", rank,
                        rank, i);
          break;
        default:
          std::snprintf(
              text, sizeof text,
              "DEBUG:filelock:Attempting to acquire lock %d on /root/.triton/autotune/Fp16Matmul_%d_kernel.pickle.lock",
              i, rank);
      }
    }
    out.emplace_back(text);
  }
  return out;
}

std::size_t bytes(const std::vector<std::string>& all) {
  std::size_t size = 0;
  for (const std::string& line : all) size += line.size();
  return size;
}

void scan(benchmark::State& state, const std::vector<std::string>& all) {
  std::vector<std::string> texts;
  for (const auto& definition : definitions().definitions)
    for (const std::string& line : definition.lines) texts.push_back(definition.scan.empty() ? line : definition.scan);
  std::vector<dsl::text::Scanner::Refusal> refused;
  const auto scanner = dsl::text::Scanner::compile(texts, refused);
  auto scratch = scanner->make_scratch();
  std::vector<std::uint32_t> found;
  std::size_t matches = 0;
  for (auto _ : state)
    for (const std::string& line : all) {
      scanner->scan(line, scratch, found);
      matches += !found.empty();
    }
  state.counters["lines/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * all.size()), benchmark::Counter::kIsRate);
  state.counters["matched %"] =
      100.0 * static_cast<double>(matches) / static_cast<double>(state.iterations() * all.size());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes(all)));
}

void bare_scan(benchmark::State& state) { scan(state, lines(static_cast<double>(state.range(0)) / 100)); }

void extraction(benchmark::State& state) {
  const auto extractor = extraction_of_all().make();
  const auto all = lines(static_cast<double>(state.range(0)) / 100);
  Counted out;
  std::int64_t now = 0;
  const auto extract = [&] {
    for (const std::string& line : all) {
      now += 1'000'000;
      const auto at = stream::at_nanoseconds(now);
      extractor->line({at, {}, false, line}, at, out);
    }
  };
  extract();  // compiles what these lines need
  out = {};
  bench::start_counting();
  for (auto _ : state) extract();
  bench::stop_counting("measured");
  benchmark::DoNotOptimize(out.sum);
  state.counters["lines/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * all.size()), benchmark::Counter::kIsRate);
  state.counters["made/line"] = static_cast<double>(out.count) / static_cast<double>(state.iterations() * all.size());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes(all)));
}

// Logs of others, each by an extractor of its own.
using Folders = std::vector<const char*>;
std::vector<std::vector<std::string>> logs_in(const Folders& folders) {
  const char* asked = std::getenv("TOCSIN_CORPORA");
  const std::filesystem::path corpora = asked ? asked : std::filesystem::path(TOCSIN_SOURCE_DIR) / "../shared/corpora";
  std::vector<std::vector<std::string>> logs;
  for (const char* folder : folders) {
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpora / folder, none)) {
      const auto extension = entry.path().extension();
      if (extension != ".log" && extension != ".txt" && extension != ".out") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      auto& log = logs.emplace_back();
      for (std::string line; std::getline(in, line);) log.push_back(std::move(line));
    }
  }
  return logs;
}

void wild(benchmark::State& state, const Folders& folders) {
  const auto logs = logs_in(folders);
  if (logs.empty()) return state.SkipWithError("no logs: name their folder in TOCSIN_CORPORA");
  Counted out;
  std::size_t lines = 0;
  const auto extract = [&] {
    for (const auto& log : logs) {
      const auto extractor = extraction_of_all().make();
      std::int64_t now = 0;
      for (const std::string& line : log) {
        now += 1'000'000;
        const auto at = stream::at_nanoseconds(now);
        extractor->line({at, {}, false, line}, at, out);
      }
      lines += log.size();
    }
  };
  extract();  // compiles what these lines need: a shard lives long, and does it once
  out = {}, lines = 0;
  bench::start_counting();
  for (auto _ : state) extract();
  bench::stop_counting("measured");
  benchmark::DoNotOptimize(out.sum);
  state.counters["lines/s"] = benchmark::Counter(static_cast<double>(lines), benchmark::Counter::kIsRate);
  state.counters["made/line"] = static_cast<double>(out.count) / static_cast<double>(lines);
}

void bare_wild(benchmark::State& state, const Folders& folders) {
  std::vector<std::string> all;
  for (const auto& log : logs_in(folders)) all.insert(all.end(), log.begin(), log.end());
  if (all.empty()) return state.SkipWithError("no logs: name their folder in TOCSIN_CORPORA");
  scan(state, all);
}

BENCHMARK_CAPTURE(bare_wild, wild, Folders{"wild", "wild2"})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare_wild, bigscience, Folders{"bigscience"})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wild, wild, Folders{"wild", "wild2"})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wild, bigscience, Folders{"bigscience"})->Unit(benchmark::kMillisecond);
BENCHMARK(bare_scan)->Arg(0)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(extraction)->Arg(0)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
