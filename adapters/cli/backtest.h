#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tocsin::adapters::cli {

struct BacktestOptions {
  std::vector<std::filesystem::path> journals;  // or directories of journals; empty: all that `tocsin runs` lists
  std::vector<std::string> rules,
      against;  // directories that make one pack, as for check; `against` empty: nothing is compared
  bool json = false;
};

// Judges recordings by rules, and says how often each would have fired, on whom and for how long; with `against`, what
// differs from other rules. Returns the exit status: 1 where a rule failed, 2 where a recording or the rules could not
// be read.
[[nodiscard]] int backtest(const BacktestOptions& options);

}  // namespace tocsin::adapters::cli
