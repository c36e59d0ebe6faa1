#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tocsin::adapters::cli {

inline constexpr int bad_usage = 2;  // exit status

// What options mean that several commands have.
inline constexpr const char
    *journal_text = "The directory of a journal, as wrap or ingest made it; a name that `tocsin runs` lists; or last",
    *or_cluster_text = "; or a cluster's telemetry, kafka://HOST:PORT[/PREFIX] or FILE.yml",
    *rules_text =
        "A directory of rules, once for each of those that make one pack; shipped is the program's own (default: "
        "$TOCSIN_RULES, else shipped)",
    *several_rules_text =
        "Directories of rules that make one pack; shipped is the program's own (default: $TOCSIN_RULES, else those)",
    *replay_rules_text =
        "Judge by this directory of rules, once for each of those that make one pack; shipped is the program's own "
        "(default: those that the run was judged by)";

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

// Directories of rules: --rules shipped --rules DIR.
CLI::Option* add_rules_option(CLI::App& command, std::vector<std::string>& place, const std::string& meaning,
                              const std::string& name = "--rules");

// Takes from the help of each command what is in that of the whole.
void trim_help(CLI::App& app);

// Answers what could not be parsed, or a request for help: prints it, and gives the exit status.
[[nodiscard]] int answer(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tocsin::adapters::cli
