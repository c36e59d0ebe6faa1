#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "adapters/forward/forward.h"
#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {

// The service that judges what is recorded here.
struct SendTo {
  std::string address;                        // of a service, or of brokers
  std::filesystem::path token_file, ca_file;  // for a service over HTTP
};
// The options that name it. `needed`: the command has nothing to do without.
void add_send_to(CLI::App& command, SendTo& to, bool needed);
// Sends the journals in a directory there; `follow`: until the seal.
[[nodiscard]] stream::Result<forward::Forwarded> send(const std::filesystem::path& directory, const SendTo& to,
                                                      bool follow, int stop_when_readable = -1);
// In place of the engine beside the command: sends the journal there.
[[nodiscard]] wrap::EngineEntry forwarding_engine(const SendTo& to);

}  // namespace tocsin::adapters::cli
