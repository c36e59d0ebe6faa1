#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kafka/address.h"
#include "stream/values/result.h"

namespace tocsin::adapters::cli {

// What names a cluster: kafka://HOST:PORT…, or a configuration (FILE.yml) whose section kafka does, with its properties
// and secrets.
[[nodiscard]] CLI::Validator is_kafka_address();
// The option or argument of a command that names it.
void add_cluster(CLI::App& command, const std::string& option, std::string& address);
[[nodiscard]] stream::Result<kafka::Address> cluster_of(const std::string& text);
// Writes why a command that needs a cluster failed. The exit status: 3 where trying again helps, else 2.
[[nodiscard]] int cannot(const stream::Error& error);
// What the attempts of this run begin with, so that a job's next run does not continue it: the time and the process.
[[nodiscard]] std::string attempts_of_this_run();

}  // namespace tocsin::adapters::cli
