#pragma once

#include <CLI/CLI.hpp>

// Commands with their options. `status` becomes the exit status of the one that runs.
namespace tocsin::adapters::cli {

// `replay` reads a journal, or a copy of a part of a cluster's telemetry, through the engine.
void add_replay_command(CLI::App& app, int& status);
// `check` loads rules and says what is wrong, where, and what to write instead; `test` runs the cases beside them.
void add_check_commands(CLI::App& app, int& status);
// `reference` prints the language, or what directories of rules declare.
void add_reference_command(CLI::App& app, int& status);
// `lines` shows what each line of a log becomes by patterns and parsers.
void add_lines_command(CLI::App& app, int& status);
// `backtest` judges recordings by rules, and says how often each would have fired, on whom and for how long; with
// others, what differs.
void add_backtest_command(CLI::App& app, int& status);
// `config check|show|reference`.
void add_config_command(CLI::App& app, int& status);
// `explain` prints a rule's graph with the values at one member and tick: why it fired, or why it did not.
void add_explain_command(CLI::App& app, int& status);
// `status` shows how the jobs of a journal stand at the end of what is written: their figures, the alerts that fire,
// and the rules that cannot decide with the signals that they miss.
void add_status_command(CLI::App& app, int& status);
// `ingest` makes a journal of JSON lines, or tries a mapping on a file.
void add_ingest_command(CLI::App& app, int& status);
void add_wrap_command(CLI::App& app, int& status);
// `node` records the jobs of this machine that nobody wrapped.
void add_node_command(CLI::App& app, int& status);
// `notify --test` tries receivers of notifications; `--flush` sends what wrapped runs could not send.
void add_notify_command(CLI::App& app, int& status);
// `stacks` takes the stacks of running processes; `bundle` shows what was gathered at a hang, and gathers.
void add_evidence_commands(CLI::App& app, int& status);
// `trace` counts the calls of running processes.
void add_trace_command(CLI::App& app, int& status);
// `dumps` judges dumps of PyTorch's flight recorder.
void add_dumps_command(CLI::App& app, int& status);
// `run`, with those of topics, `record` and `forward`.
void add_service_commands(CLI::App& app, int& status);
// `topics create|check|read`.
void add_topic_commands(CLI::App& app, int& status);
// `record` copies a part of a cluster's telemetry into a journal.
void add_record_command(CLI::App& app, int& status);
// `forward` sends a journal to a service.
void add_forward_command(CLI::App& app, int& status);
// `packs` lists the packs of a cluster, `packs use HASH` goes back to one.
void add_pack_commands(CLI::App& app, int& status);
// `runs` lists the recordings that wrap made; `export` writes a journal as the JSON lines that ingest reads.
void add_recording_commands(CLI::App& app, int& status);
// `help [COMMAND]`, `completions SHELL` and `man`: all three follow from the options of the commands.
void add_manual_commands(CLI::App& app, int& status);

}  // namespace tocsin::adapters::cli
