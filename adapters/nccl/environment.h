#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tocsin::adapters::nccl {

// What a command needs in its environment so that NCCL in its processes loads our plugin, which then writes into
// `directory`; and a line for the user where it cannot be so. A plugin that the user has chosen stays the one that NCCL
// loads.
struct NcclEnvironment {
  std::vector<std::pair<std::string, std::string>> variables;
  std::string note;  // empty: there is nothing to say
};
[[nodiscard]] NcclEnvironment nccl_environment(const std::filesystem::path& directory);

// The plugin: beside the program as it is installed, or where it was built; none: it is nowhere.
[[nodiscard]] std::optional<std::filesystem::path> nccl_plugin();

}  // namespace tocsin::adapters::nccl
