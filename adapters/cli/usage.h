#pragma once

#include <CLI/CLI.hpp>

namespace tocsin::adapters::cli {

inline constexpr int bad_usage = 2;  // exit status

// An option or argument of a command; `value`: what its help shows in the place of the value.
template <class Place>
CLI::Option* add_option(CLI::App& command, const std::string& name, Place& place, const std::string& value,
                        const std::string& meaning) {
  return command.add_option(name, place, meaning)->option_text(value);
}
// The same of one without which the command cannot run.
template <class Place>
CLI::Option* add_needed(CLI::App& command, const std::string& name, Place& place, const std::string& value,
                        const std::string& meaning) {
  return add_option(command, name, place, value.empty() ? "(required)" : value + " (required)", meaning)->required();
}

// Takes from the help of each command what is in that of the whole.
void trim_help(CLI::App& app);

// Answers what could not be parsed, or a request for help: prints it, and gives the exit status.
[[nodiscard]] int answer(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tocsin::adapters::cli
