#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {

// The commands of the service: run, topics, forward. Each sets `status`.
void add_service_commands(CLI::App& app, int& status);

// Where the records of a wrapped job go; parses as kafka://….
[[nodiscard]] CLI::Validator is_kafka_address();
// What the attempts of this run begin with, so that a job's next run does not continue it: the time and the process.
[[nodiscard]] std::string attempts_of_this_run();
// In place of the engine beside the command: sends the journal to a cluster, where a service judges it.
[[nodiscard]] wrap::EngineEntry forwarding_engine(const std::string& address);

}  // namespace tocsin::adapters::cli
