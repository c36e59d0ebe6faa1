// How much of real logs the shipped patterns and parsers understand: `coverage FILE…` prints each line with what came
// of it; without arguments, a table over $TOCSIN_CORPORA, where that is set. Nothing fails here: it is a report.
#include <cstdlib>
#include <set>

#include "tests/text/shipped.h"

using namespace tocsin;

namespace {

struct Tally {
  std::size_t lines = 0, alive = 0;
  std::map<std::string, std::size_t> signals;
};

Tally run(const stream::Extraction& source, const std::filesystem::path& path, bool show) {
  std::ifstream in(path, std::ios::binary);
  auto extractor = source.open()->make();
  test::Recorded out;
  Tally tally;
  std::string line;
  std::size_t before = 0;
  auto report = [&] {
    for (std::size_t i = before; i < out.all.size(); ++i) {
      const std::string& made = out.all[i];
      const std::size_t from = made.find(": ") + 2;
      ++tally.signals[made.substr(from, made.find(' ', from) - from)];
      if (show) std::printf("      -> %s\n", made.c_str());
    }
    before = out.all.size();
  };
  for (std::int64_t t = 0; std::getline(in, line); t += 1'000'000) {
    if (line.rfind("# source", 0) == 0) continue;
    ++tally.lines;
    if (show) std::printf("%.200s\n", line.c_str());
    extractor->line({stream::at_nanoseconds(t), {}, false, line}, stream::at_nanoseconds(t), out);
    tally.alive += out.all.size() > before;
    report();
  }
  extractor->finish(out);
  report();
  return tally;
}

void print(const std::filesystem::path& path, const Tally& tally) {
  std::printf("%-58s %5zu lines %5zu alive |", path.c_str(), tally.lines, tally.alive);
  for (const auto& [signal, count] : tally.signals) std::printf(" %s %zu", signal.c_str(), count);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const auto compiled = dsl::compile_text(test::shipped_files());
  for (const auto& problem : compiled.problems)
    std::printf("%s:%d: %s\n", problem.file.c_str(), problem.line, problem.message.c_str());
  if (!compiled.extraction) return 1;
  for (int i = 1; i < argc; ++i) print(argv[i], run(*compiled.extraction, argv[i], true));
  if (argc > 1) return 0;
  const char* corpora = std::getenv("TOCSIN_CORPORA");
  if (!corpora) {
    std::printf("TOCSIN_CORPORA is not set: no real logs to measure\n");
    return 0;
  }
  std::set<std::filesystem::path> paths;
  for (const char* folder : {"progress", "logs", "bigscience"}) {
    const auto root = std::filesystem::path(corpora) / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.is_regular_file() && entry.path().extension() != ".csv") paths.insert(entry.path());
  }
  for (const auto& path : paths) print(path, run(*compiled.extraction, path, false));
  return 0;
}
