#pragma once

#include <filesystem>
#include <string>

namespace tocsin::adapters::cli {

struct TryOptions {
  std::filesystem::path file, config;
  std::string source;   // of the configuration; empty: its only one
  bool strict = false;  // a part that is left out is a failure
  bool quiet = false;   // no summary
};

// Prints what a source's mapping makes of a file, line by line, and a summary. 0: done; 1: done, but something was left
// out (strict); 2: could not.
[[nodiscard]] int try_mapping(const TryOptions& options);

}  // namespace tocsin::adapters::cli
