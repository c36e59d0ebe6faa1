#pragma once

#include <CLI/CLI.hpp>

namespace tocsin::adapters::cli {

// The packs of a cluster: `packs` lists them, `packs use HASH` goes back to one. Sets `status`.
void add_pack_commands(CLI::App& app, int& status);

}  // namespace tocsin::adapters::cli
