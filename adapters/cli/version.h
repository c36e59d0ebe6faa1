#pragma once

#include <string>

namespace tocsin::adapters::cli {

// What `tocsin --version` prints: version, commit, and the newest form of each message and file that this program
// writes.
[[nodiscard]] std::string version();
[[nodiscard]] std::string version_number();  // 1.2.3

}  // namespace tocsin::adapters::cli
