#pragma once

#include <cstdint>

namespace tocsin::dsl {

// What a pack may use while it is loaded, and while its scripted rules run.
struct Budgets {
  std::uint64_t load_instructions = 50'000'000;
  std::uint64_t instructions = 1'000'000;  // a scripted evaluation
  std::uint64_t elements = 50'000'000;
  std::uint64_t bytes = 64u << 20;  // of Lua memory
  std::uint64_t nodes = 100'000;    // of the graph
  bool all_scripted = false;        // compiled rules also run as scripts: the same outcomes, for tests and benchmarks
  friend bool operator==(const Budgets&, const Budgets&) = default;
};

}  // namespace tocsin::dsl
