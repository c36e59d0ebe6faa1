#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tocsin::adapters::cli {

struct ExplainOptions {
  std::filesystem::path journal, rules;
  std::string rule;
  std::optional<std::uint32_t> rank;
  std::string node, gpu;
  std::string at;       // RFC 3339, +90s after the log's beginning, or "last"
  std::string subject;  // empty: any
  bool json = false;
};
// Prints a rule's graph with the values at one member and tick: why it fired, or why it did not.
[[nodiscard]] int explain(const ExplainOptions& options);

}  // namespace tocsin::adapters::cli
