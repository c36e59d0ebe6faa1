#pragma once

#include <CLI/CLI.hpp>

namespace tocsin::adapters::cli {

// `tocsin config check|show|reference`; `status` becomes the exit status.
void add_config_command(CLI::App& app, int& status);

}  // namespace tocsin::adapters::cli
