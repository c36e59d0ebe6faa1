#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tocsin::adapters::cli {

// `tocsin help [COMMAND]`, `tocsin completions SHELL` and `tocsin man`: all three follow from the options of the
// commands.
void add_manual_commands(CLI::App& app, int& status);

}  // namespace tocsin::adapters::cli
