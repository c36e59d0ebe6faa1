#pragma once

#include <CLI/CLI.hpp>

// Commands with their options. `status` becomes the exit status of the one that runs.
namespace tocsin::adapters::cli {

// `config check|show|reference`.
void add_config_command(CLI::App& app, int& status);
// `run` and `forward`, with those of topics and `record`.
void add_service_commands(CLI::App& app, int& status);
// `topics create|check|read`.
void add_topic_commands(CLI::App& app, int& status);
// `record` copies a part of a cluster's telemetry into a journal.
void add_record_command(CLI::App& app, int& status);
// `packs` lists the packs of a cluster, `packs use HASH` goes back to one.
void add_pack_commands(CLI::App& app, int& status);
// `help [COMMAND]`, `completions SHELL` and `man`: all three follow from the options of the commands.
void add_manual_commands(CLI::App& app, int& status);

}  // namespace tocsin::adapters::cli
