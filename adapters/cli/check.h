#pragma once

#include <string>
#include <vector>

namespace tocsin::adapters::cli {

// `check`: loads the rules and says what is wrong, where, and what to write instead; and how each rule runs.
[[nodiscard]] int check(const std::vector<std::string>& directories, bool json);
// `test`: runs the cases beside the rules through the engine.
[[nodiscard]] int test(const std::vector<std::string>& directories, const std::string& only, bool verbose);

}  // namespace tocsin::adapters::cli
