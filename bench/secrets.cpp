// What masking the secrets of a text costs: the lines of the tests, which mostly have none, and texts that have one.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "dsl/text/extraction.h"

namespace {

std::vector<std::string> lines() {
  std::vector<std::string> out;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(TOCSIN_SOURCE_DIR) / "tests/text/lines")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) out.push_back(line.substr(0, 512));
  }
  return out;
}

void mask(benchmark::State& state, const std::vector<std::string>& texts) {
  for (auto _ : state)
    for (const std::string& text : texts) benchmark::DoNotOptimize(tocsin::dsl::text::mask_secrets(text));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(texts.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("lines of the tests", mask, lines());
  benchmark::RegisterBenchmark("a steady line", mask,
                               std::vector<std::string>{"step 100 | loss 2.31 | lr 3.0e-04 | 1048576 samples"});
  benchmark::RegisterBenchmark("a URL with a password", mask,
                               std::vector<std::string>{"cannot reach postgres://me:hunter2@db:5432/x"});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
