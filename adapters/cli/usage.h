#pragma once

#include <CLI/CLI.hpp>

namespace tocsin::adapters::cli {

inline constexpr int bad_usage = 2;  // exit status

// Takes from the help of each command what is in that of the whole.
void trim_help(CLI::App& app);

// Answers what could not be parsed, or a request for help: prints it, and gives the exit status.
[[nodiscard]] int answer(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tocsin::adapters::cli
