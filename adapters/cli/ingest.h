#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tocsin::adapters::cli {

struct IngestOptions {
  std::vector<std::filesystem::path> files;  // JSON lines; "-": standard input
  std::filesystem::path to;
  std::filesystem::path tried;   // a file of another program's; empty: none
  std::filesystem::path config;  // whose mapping is tried on it
  std::string source;            // of the configuration; empty: its only one
  std::string job;
  std::size_t most_complaints = 20;
  bool strict = false;  // a line that is left out is a failure
  bool quiet = false;
};

// Prints what a source's mapping makes of the file `tried`, line by line, and a summary.
[[nodiscard]] int try_mapping(const IngestOptions& options);

}  // namespace tocsin::adapters::cli
