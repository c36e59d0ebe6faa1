#pragma once

#include <filesystem>
#include <string>

namespace tocsin::adapters::cli {

struct StatusOptions {
  std::filesystem::path journal;
  std::filesystem::path rules;  // as for replay
  std::string job;              // empty: all
  bool json = false;
  bool temporary = false;  // the journal is a copy of a topic
};

// Shows how the jobs of a journal stand at the end of what is written: their figures, the alerts that fire, and the
// rules that cannot decide with the signals that they miss. Returns the exit status.
[[nodiscard]] int status(const StatusOptions& options);

}  // namespace tocsin::adapters::cli
